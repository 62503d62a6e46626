"""Parameters and buffers of a module by their dotted names: read, set, removed and exchanged.

The inner home of what `torch.func.functional_call` is made of in PyTorch; libraries that call modules with other tensors
in place of their own import it from here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...core.tensor import Tensor
from ..modules.module import Module

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]

_NOTHING: Any = object()  # in place of a tensor: there is none, or it shall go


def _checked_name(module: Module, name: str) -> None:
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    if "." in name:
        raise KeyError('tensor name can\'t contain "."')
    if name == "":
        raise KeyError('tensor name can\'t be empty string ""')


def _checked_tensor(module: Module, name: str, tensor: Any) -> None:
    if not isinstance(tensor, Tensor) and tensor is not None:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    if tensor is None and name not in module._parameters and name not in module._buffers:
        raise TypeError(f"{tensor} is not an instance of torch.Tensor")


def set_tensor(module: Module, name: str, tensor: Any) -> None:
    """Put a tensor where a module has one of that name.

    Args:
        module: the module that has it itself, not a child of it.
        name: the name without dots.
        tensor: the new one.

    Example:
        >>> from rushlight.nn.utils._named_member_accessor import set_tensor
        >>> net = nn.Linear(2, 1, bias=False)
        >>> set_tensor(net, "weight", torch.ones(1, 2))
        >>> net(torch.ones(2))
        tensor([2.])
    """
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of another.

    Args:
        module: the module that has it itself, not a child of it.
        name: the name without dots.
        tensor: the new one.
        allow_missing: a tensor that is not there yet is added as an attribute.

    Returns:
        The tensor that was there.

    Raises:
        AttributeError: if the module has no such tensor.

    Example:
        >>> from rushlight.nn.utils._named_member_accessor import swap_tensor
        >>> net = nn.Linear(2, 1, bias=False)
        >>> own = swap_tensor(net, "weight", torch.ones(1, 2))
        >>> net(torch.ones(2)), type(own).__name__
        (tensor([2.]), 'Parameter')
    """
    _checked_name(module, name)
    if tensor is not _NOTHING:
        _checked_tensor(module, name, tensor)
    for table in (module._parameters, module._buffers):
        members: dict[str, Any] = table  # type: ignore[assignment]
        if name in members:
            before = members[name]
            if tensor is _NOTHING:
                del members[name]
            else:
                members[name] = tensor
            return before
    before = getattr(module, name, _NOTHING)
    if before is _NOTHING and not allow_missing:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    if before is not _NOTHING and not isinstance(before, Tensor):
        raise TypeError(f"attribute `{name}`: {before} is not an instance of torch.Tensor")
    if tensor is not _NOTHING:
        setattr(module, name, tensor)
    elif before is not _NOTHING:
        delattr(module, name)
    return before


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module in the place of a child.

    Args:
        module: the parent.
        name: the child's name, without dots.
        submodule: the new child.

    Returns:
        The child that was there.

    Raises:
        AttributeError: if there is no such child.

    Example:
        >>> from rushlight.nn.utils._named_member_accessor import swap_submodule
        >>> net = nn.Sequential(nn.ReLU())
        >>> swap_submodule(net, "0", nn.Tanh())
        ReLU()
    """
    _checked_name(module, name)
    if not isinstance(submodule, Module):
        raise TypeError(f"{submodule} is not an instance of torch.nn.Module")
    before = module._modules.get(name)
    if before is None:
        raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """Reads and exchanges the tensors of a module and its children by dotted names.

    Example:
        >>> from rushlight.nn.utils._named_member_accessor import NamedMemberAccessor
        >>> members = NamedMemberAccessor(nn.Sequential(nn.Linear(2, 1)))
        >>> own = members.swap_tensor("0.bias", torch.zeros(1))
        >>> members.get_tensor("0.bias")
        tensor([0.])
    """

    def __init__(self, module: Module) -> None:
        self.module = module
        self.memo: dict[str, Module] = {}

    def get_submodule(self, name: str) -> Module:
        """The child of that dotted name; looked up once."""
        if name not in self.memo:
            self.memo[name] = self.module.get_submodule(name)
        return self.memo[name]

    def _owner(self, path: str) -> tuple[Module, str]:
        above, _, name = path.rpartition(".")
        return self.get_submodule(above), name

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Put another module in the place of a child; returns the one that was there."""
        owner, name = self._owner(path)
        return swap_submodule(owner, name, value)

    def get_tensor(self, name: str) -> Any:
        """The parameter, buffer or plain tensor of that dotted name."""
        owner, attribute = self._owner(name)
        try:
            tensor = getattr(owner, attribute)
        except AttributeError as error:
            raise AttributeError(f"{owner._get_name()} has no attribute `{name}`") from error
        if not isinstance(tensor, Tensor) and tensor is not None:
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
        return tensor

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Put a tensor under that dotted name."""
        owner, attribute = self._owner(name)
        set_tensor(owner, attribute, value)

    def del_tensor(self, name: str) -> None:
        """Remove the tensor of that dotted name."""
        owner, attribute = self._owner(name)
        swap_tensor(owner, attribute, _NOTHING)

    def swap_tensor(self, name: str, value: Tensor, allow_missing: bool = False) -> Any:
        """Put a tensor under that dotted name; returns the one that was there."""
        owner, attribute = self._owner(name)
        return swap_tensor(owner, attribute, value, allow_missing=allow_missing)

    def get_tensors(self, names: Iterable[str]) -> list[Tensor]:
        """The tensors of these dotted names."""
        return [self.get_tensor(name) for name in names]

    def set_tensors(self, names: Iterable[str], values: Iterable[Tensor]) -> None:
        """Put a tensor under each of these names."""
        for name, value in zip(*_same_length(names, values), strict=True):
            self.set_tensor(name, value)

    def set_tensors_dict(self, named_tensors: Mapping[str, Tensor]) -> None:
        """Put tensors under the names of a dict."""
        for name, value in named_tensors.items():
            self.set_tensor(name, value)

    def del_tensors(self, names: Iterable[str]) -> None:
        """Remove the tensors of these names."""
        for name in names:
            self.del_tensor(name)

    def swap_tensors(self, names: Iterable[str], values: Iterable[Tensor], allow_missing: bool = False) -> list[Any]:
        """Put a tensor under each of these names; returns those that were there."""
        pairs = zip(*_same_length(names, values), strict=True)
        return [self.swap_tensor(name, value, allow_missing) for name, value in pairs]

    def swap_tensors_dict(
        self, named_tensors: Mapping[str, Tensor], allow_missing: bool = False
    ) -> tuple[dict[str, Any], list[str]]:
        """Put tensors under the names of a dict; returns those that were there and the names that were not.

        Where a name is missing and may not be, what has been exchanged is put back.
        """
        before: dict[str, Any] = {}
        missing: list[str] = []
        try:
            for name, value in named_tensors.items():
                before[name] = self.swap_tensor(name, value, allow_missing=True)
                if before[name] is _NOTHING:
                    missing.append(name)
                    if not allow_missing:
                        raise RuntimeError(f"Missing key(s): {name!r}.")
        except Exception as error:
            for name, value in reversed(before.items()):
                self.swap_tensor(name, value, allow_missing=True)
            if missing and not allow_missing:
                raise RuntimeError(f"Missing key(s): {missing[0]!r}.") from error
            raise
        return before, missing

    def check_keys(self, keys: Iterable[str]) -> tuple[list[str], list[str]]:
        """The names of tensors that are not among these, and those of these that the module does not have."""
        asked = set(keys)
        has = {name for name, _ in self.named_tensors(remove_duplicate=False)}
        return sorted(has - asked), sorted(asked - has)

    def named_parameters(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Names and parameters of the module."""
        yield from self.module.named_parameters(remove_duplicate=remove_duplicate)

    def named_buffers(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Names and buffers of the module."""
        yield from self.module.named_buffers(remove_duplicate=remove_duplicate)

    def named_tensors(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Tensor]]:
        """Names and tensors: the parameters, then the buffers."""
        yield from self.named_parameters(remove_duplicate)
        yield from self.named_buffers(remove_duplicate)

    def named_modules(self, remove_duplicate: bool = True) -> Iterator[tuple[str, Module]]:
        """Names and modules: the module itself and everything below."""
        yield from self.module.named_modules(remove_duplicate=remove_duplicate)


def _same_length(names: Any, values: Any) -> tuple[list[str], list[Any]]:
    names, values = list(names), list(values)
    if len(names) != len(values):
        raise AssertionError(f"names and values must have the same length: {len(names)} and {len(values)}")
    return names, values
