"""Parametrizations: a module's tensor computed from other parameters at every use."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module
from ..parameter import Parameter

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization",
    "remove_parametrizations", "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]  # fmt: skip


class _Cache:
    """Values computed inside `cached()`, by module and name."""

    depth = 0
    values: dict[tuple[int, str], Tensor] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute every parametrized tensor only once inside the block.

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> with nn.utils.parametrize.cached():
        ...     layer.weight is layer.weight
        True
    """
    _Cache.depth += 1
    try:
        yield
    finally:
        _Cache.depth -= 1
        if not _Cache.depth:
            _Cache.values.clear()


def _register(module: Module, name: str, t: Tensor) -> None:
    if isinstance(t, Parameter):
        module.register_parameter(name, t)
    else:
        module.register_buffer(name, t)


class ParametrizationList(ModuleList):
    """The tensors behind one parametrized name, and the modules that compute its value from them.

    Args:
        modules: the parametrizations, in the order in which they are applied.
        original: the tensor as it was.
        unsafe: do not check shape and dtype of results.

    Attributes:
        original: the tensor; `original0`, `original1` and so on if there are several.

    Example:
        >>> layer = nn.utils.parametrizations.orthogonal(nn.Linear(2, 2))
        >>> type(layer.parametrizations.weight).__name__
        'ParametrizationList'
        >>> layer.parametrizations.weight.original.shape
        torch.Size([2, 2])
    """

    original: Tensor

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if len(modules) == 0:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        was = original.detach()
        new: Any = _inverted(self, original)
        if not isinstance(new, Tensor) and not isinstance(new, Sequence):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(new).__name__}"
            )
        self.is_tensor = isinstance(new, Tensor)
        self.ntensors = 1 if self.is_tensor else len(new)
        if isinstance(new, Tensor):
            self._keep_single(original, new)
        else:
            for i, t in enumerate(new):
                if not isinstance(t, Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                        f"tuple...). Got element {i} of the sequence with type {type(t).__name__}."
                    )
                if isinstance(original, Parameter):
                    t = Parameter(t.detach(), original.requires_grad)
                _register(self, f"original{i}", t)
        if not unsafe:
            _check_value(self(), was)

    def _keep_single(self, original: Tensor, new: Tensor) -> None:
        for what in ("dtype", "device"):
            had, has = getattr(original, what), getattr(new, what)
            if had != has:
                raise ValueError(
                    f"When `right_inverse` outputs one tensor, it may not change the {what}.\n"
                    f"original.{what}: {had}\nright_inverse(original).{what}: {has}"
                )
        if new is not original:
            with no_grad():
                original.data = new.data
        _register(self, "original", original)

    def right_inverse(self, value: Tensor) -> None:
        """Set the original tensors so that the parametrized one becomes `value`.

        Args:
            value: the wanted value.
        """
        with no_grad():
            new = _inverted_strictly(self, value)
            if self.is_tensor:
                if not isinstance(new, Tensor):
                    raise ValueError(f"`right_inverse` should return a tensor. Got {type(new).__name__}")
                self.original.data = new.detach().clone().to(self.original.dtype)
                return
            if len(new) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(new)}."
                )
            for i, t in enumerate(new):
                getattr(self, f"original{i}").data = t.detach().clone()

    def forward(self) -> Tensor:
        """Return the parametrized value."""
        if self.is_tensor:
            x = self[0](self.original)
        else:
            x = self[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for i in range(1, len(self)):
            x = self[i](x)
        return x


def _inverted(modules: ParametrizationList, value: Any) -> Any:
    """The original tensor of a value; a module without `right_inverse` does not change it."""
    with no_grad():
        for module in reversed(list(modules)):
            if hasattr(module, "right_inverse"):
                try:
                    value = module.right_inverse(value)
                except NotImplementedError:
                    pass
    return value


def _inverted_strictly(modules: ParametrizationList, value: Any) -> Any:
    for module in reversed(list(modules)):
        if not hasattr(module, "right_inverse"):
            raise RuntimeError(f"parametrization {type(module).__name__} does not implement right_inverse.")
        value = module.right_inverse(value)
    return value


def _check_value(z: Any, like: Any) -> None:
    """Refuse a result that has not the dtype and shape of what it stands for."""
    if not isinstance(z, Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(z).__name__}.")
    for what in ("dtype", "shape"):
        had, has = getattr(like, what), getattr(z, what)
        if had != has:
            raise ValueError(
                f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` "
                f"flag is enabled.\nunparametrized {what}: {had}\nparametrized {what}: {has}"
            )


def _inject_new_class(module: Module) -> None:
    """Give this one object a new class, because properties belong to classes."""
    cls = type(module)

    def default_deepcopy(self: Any, memo: dict) -> Any:
        replica = self.__new__(type(self))
        memo[id(self)] = replica
        replica.__dict__ = copy.deepcopy(self.__dict__, memo)
        return replica

    def getstate(self: Any) -> None:
        raise RuntimeError(
            "Serialization of parametrized modules is only supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    members: dict[str, Any] = {"__getstate__": getstate}
    if not hasattr(cls, "__deepcopy__"):
        members["__deepcopy__"] = default_deepcopy
    module.__class__ = type(f"Parametrized{cls.__name__}", (cls,), members)


def _inject_property(module: Module, tensor_name: str) -> None:
    def get(self: Any) -> Tensor:
        if not _Cache.depth:
            return self.parametrizations[tensor_name]()
        key = (id(self), tensor_name)
        if key not in _Cache.values:
            _Cache.values[key] = self.parametrizations[tensor_name]()
        return _Cache.values[key]

    def set_value(self: Any, value: Tensor) -> None:
        self.parametrizations[tensor_name].right_inverse(value)

    setattr(type(module), tensor_name, property(get, set_value))


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a tensor of a module by another module, from now on, at every use.

    Args:
        module: the module that has the tensor.
        tensor_name: name of the parameter or buffer.
        parametrization: a module whose `forward` gives the tensor from a free one; its
            `right_inverse`, if there is one, gives the free tensor of a value.
        unsafe: do not check that the parametrization keeps shape and dtype.

    Raises:
        ValueError: if the module has no such tensor, or the result does not fit.

    Example:
        >>> class Symmetric(nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        >>> layer = nn.Linear(3, 3)
        >>> _ = nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.T).all())
        True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        held = module.parametrizations[tensor_name]
        if not unsafe:
            _check_appended(module, tensor_name, parametrization)
        held.append(parametrization)
        held.unsafe |= unsafe
        return module
    if tensor_name not in module._buffers and tensor_name not in module._parameters:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    held = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject_new_class(module)
        module.parametrizations = ModuleDict()
    _inject_property(module, tensor_name)
    module.parametrizations[tensor_name] = held
    return module


def _check_appended(module: Module, tensor_name: str, parametrization: Module) -> None:
    y = getattr(module, tensor_name)
    x = parametrization(y)
    _check_value(x, y)
    try:
        z = parametrization.right_inverse(x) if hasattr(parametrization, "right_inverse") else y
    except NotImplementedError:
        return
    if not isinstance(z, Tensor):
        raise ValueError(f"parametrization.right_inverse must return a tensor. Got: {type(z).__name__}")
    for what in ("dtype", "shape"):
        had, has = getattr(y, what), getattr(z, what)
        if had != has:
            raise ValueError(
                f"The tensor returned by parametrization.right_inverse must have the same {what} as "
                f"module.{tensor_name}, unless the `unsafe` flag is enabled.\n"
                f"module.{tensor_name}.{what}: {had}\nreturned {what}: {has}"
            )


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Return whether a module, or one of its tensors, is parametrized.

    Args:
        tensor_name: name of the tensor; any of them if None.

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> nn.utils.parametrize.is_parametrized(layer, "weight")
        True
        >>> nn.utils.parametrize.is_parametrized(layer, "bias")
        False
    """
    parametrizations = getattr(module, "parametrizations", None)
    if parametrizations is None or not isinstance(parametrizations, ModuleDict):
        return False
    if tensor_name is None:
        return len(parametrizations) > 0
    return tensor_name in parametrizations


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor a plain one again, and return the module.

    Args:
        tensor_name: name of the tensor.
        leave_parametrized: True keeps the value it has, False goes back to the original tensor.

    Raises:
        ValueError: if the tensor is not parametrized.

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> layer = nn.utils.parametrize.remove_parametrizations(layer, "weight")
        >>> sorted(name for name, _ in layer.named_parameters())
        ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    held = module.parametrizations[tensor_name]
    if held.is_tensor:
        original = held.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach().clone()
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value.detach()) if value.requires_grad else value.detach()
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class a module had before it was parametrized.

    Args:
        module: any module.

    Example:
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> type(layer).__name__, nn.utils.parametrize.type_before_parametrizations(layer).__name__
        ('ParametrizedLinear', 'Linear')
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another, and the tensors behind them; return it.

    Args:
        from_module: where they come from.
        to_module: a module of the same kind.
        tensor_name: name of one tensor; all parametrized ones if None.

    Example:
        >>> a = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> b = nn.utils.parametrize.transfer_parametrizations_and_params(a, nn.Linear(2, 2))
        >>> bool((a.weight == b.weight).all())
        True
    """
    if not is_parametrized(from_module):
        return to_module
    names = [tensor_name] if tensor_name is not None else list(from_module.parametrizations)
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, copy.deepcopy(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, copy.deepcopy(parametrization))
        target = to_module.parametrizations[name]
        keys = ["original"] if source.is_tensor else [f"original{i}" for i in range(source.ntensors)]
        for key in keys:
            setattr(target, key, getattr(source, key))
    return to_module
