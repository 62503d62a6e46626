"""Which parts of a model FullyShardedDataParallel wraps by themselves: policies, and the walk that asks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..modules.activation import MultiheadAttention
from ..modules.container import ModuleDict, ModuleList
from ..modules.module import Module

__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap", "lambda_auto_wrap_policy",
    "size_based_auto_wrap_policy", "transformer_auto_wrap_policy", "wrap",
]  # fmt: skip


class _Policy:
    """Says of every module whether it is wrapped, and with which other arguments."""

    def chosen(self, module: Module) -> bool | dict[str, Any]:
        raise NotImplementedError


class ModuleWrapPolicy(_Policy):
    """Wrap modules of some classes.

    Args:
        module_classes: the classes.

    Example:
        >>> from rushlight.distributed.fsdp.wrap import ModuleWrapPolicy
        >>> policy = ModuleWrapPolicy({nn.Linear})
        >>> policy(nn.Linear(1, 1), False, nonwrapped_numel=0)
        True
    """

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def chosen(self, module: Module) -> bool:
        return isinstance(module, tuple(self._module_classes))

    def __call__(self, module: Module, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        """Answer as a policy that is a function."""
        return recurse or self.chosen(module)

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes_str})"


class CustomPolicy(_Policy):
    """Wrap modules that a function chooses.

    Args:
        lambda_fn: called with a module; True, False, or arguments that this one is wrapped with.

    Example:
        >>> from rushlight.distributed.fsdp.wrap import CustomPolicy
        >>> policy = CustomPolicy(lambda module: isinstance(module, nn.Linear))
        >>> policy.chosen(nn.ReLU())
        False
    """

    def __init__(self, lambda_fn: Callable[[Any], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def chosen(self, module: Module) -> bool | dict[str, Any]:
        """What the function says of a module."""
        found = self._lambda_fn(module)
        if not isinstance(found, (bool, dict)):
            raise ValueError(
                "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, but it "
                f"returned {found}"
            )
        return found


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """Wrap every part.

    Args:
        args, kwargs: ignored.

    Example:
        >>> from rushlight.distributed.fsdp.wrap import always_wrap_policy
        >>> always_wrap_policy()
        True
    """
    return True


def _module_wrap_policy(module: Module, recurse: bool, nonwrapped_numel: int, module_classes: set[type]) -> bool:
    return recurse or isinstance(module, tuple(module_classes))


def transformer_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type]
) -> bool:
    """Wrap the layers of a transformer; used with `functools.partial`.

    Args:
        module: the one that is asked for.
        recurse: whether its parts may be asked for.
        nonwrapped_numel: how many elements are not wrapped yet.
        transformer_layer_cls: classes of layers.

    Example:
        >>> from rushlight.distributed.fsdp.wrap import transformer_auto_wrap_policy
        >>> transformer_auto_wrap_policy(nn.Linear(1, 1), False, 2, {nn.TransformerEncoderLayer})
        False
    """
    return _module_wrap_policy(module, recurse, nonwrapped_numel, transformer_layer_cls)


def lambda_auto_wrap_policy(
    module: Module, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Any], bool]
) -> bool:
    """Wrap modules that a function chooses; used with `functools.partial`.

    Args:
        module: the one that is asked for.
        recurse: whether its parts may be asked for.
        nonwrapped_numel: how many elements are not wrapped yet.
        lambda_fn: called with a module.

    Example:
        >>> from rushlight.distributed.fsdp.wrap import lambda_auto_wrap_policy
        >>> lambda_auto_wrap_policy(nn.ReLU(), False, 0, lambda m: isinstance(m, nn.ReLU))
        True
    """
    return True if recurse else lambda_fn(module)


def _or_policy(module: Module, recurse: bool, nonwrapped_numel: int, policies: Any) -> bool:
    """Wrap what one of several policies wraps."""
    return any(policy(module=module, recurse=recurse, nonwrapped_numel=nonwrapped_numel) for policy in policies)


def size_based_auto_wrap_policy(
    module: Module,
    recurse: bool,
    nonwrapped_numel: int,
    min_num_params: int = int(1e8),
    force_leaf_modules: set[type] | None = None,
    exclude_wrap_modules: set[type] | None = None,
) -> bool:
    """Wrap modules with many elements; used with `functools.partial`.

    Args:
        module: the one that is asked for.
        recurse: whether its parts may be asked for.
        nonwrapped_numel: how many elements are not wrapped yet.
        min_num_params: how many are enough.
        force_leaf_modules: classes whose parts are not wrapped.
        exclude_wrap_modules: classes that are not wrapped themselves.

    Example:
        >>> from rushlight.distributed.fsdp.wrap import size_based_auto_wrap_policy
        >>> size_based_auto_wrap_policy(nn.Linear(10, 10), False, 110, min_num_params=100)
        True
    """
    leaves = force_leaf_modules or size_based_auto_wrap_policy.FORCE_LEAF_MODULES  # type: ignore[attr-defined]
    excluded = exclude_wrap_modules or size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES  # type: ignore[attr-defined]
    large = nonwrapped_numel >= min_num_params
    if recurse:
        return large and not isinstance(module, tuple(leaves))
    return large and not isinstance(module, tuple(excluded))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}  # type: ignore[attr-defined]
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {MultiheadAttention}  # type: ignore[attr-defined]


# -- wrapping by hand ----------------------------------------------------------------------------------


class _Enabled:
    """What `wrap` does at the moment: in no block nothing."""

    wrapper: Any = None
    options: dict[str, Any] = {}


@contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Iterator[None]:
    """Inside the block `wrap(module)` wraps; outside it returns the module.

    Args:
        wrapper_cls: such as FullyShardedDataParallel.
        wrapper_kwargs: its arguments.

    Example:
        >>> from rushlight.distributed.fsdp.wrap import enable_wrap, wrap
        >>> with enable_wrap(wrapper_cls=nn.Sequential):
        ...     type(wrap(nn.ReLU())).__name__
        'Sequential'
    """
    before = _Enabled.wrapper, _Enabled.options
    _Enabled.wrapper, _Enabled.options = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _Enabled.wrapper, _Enabled.options = before


def wrap(module: Module, **wrap_overrides: Any) -> Module:
    """Wrap a module inside `enable_wrap`.

    Args:
        wrap_overrides: arguments other than those of the block.

    Example:
        >>> from rushlight.distributed.fsdp.wrap import wrap
        >>> wrap(nn.ReLU())
        ReLU()
    """
    if _Enabled.wrapper is None:
        return module
    return _Enabled.wrapper(module, **{**_Enabled.options, **wrap_overrides})


# -- the walk ------------------------------------------------------------------------------------------


def wrap_parts(root: Module, policy: Any, make: Callable[..., Module], ignored: set[int]) -> None:
    """Replace the parts of a model that a policy chooses by wrapped ones, innermost first."""
    if isinstance(policy, _Policy):
        _by_choice(root, policy, make, ignored, set())
        return
    numel = sum(p.numel() for p in root.parameters() if id(p) not in ignored)
    if policy(module=root, recurse=True, nonwrapped_numel=numel):
        for name, child in list(root._modules.items()):
            if child is not None and id(child) not in ignored:
                made, _ = _by_size(child, policy, make, ignored)
                root._modules[name] = made


def _by_choice(module: Module, policy: _Policy, make: Any, ignored: set[int], seen: set[int]) -> None:
    for name, child in list(module._modules.items()):
        if child is None or id(child) in ignored or id(child) in seen:
            continue
        seen.add(id(child))
        _by_choice(child, policy, make, ignored, seen)
        chosen = policy.chosen(child)
        if chosen is not False and not _is_wrapped(child):
            more = chosen if isinstance(chosen, dict) else {}
            module._modules[name] = make(child, **more)


def _is_wrapped(module: Module) -> bool:
    return "_fsdp_wrapped_module" in module._modules


def _by_size(module: Any, policy: Any, make: Any, ignored: set[int]) -> tuple[Any, int]:
    """The module, wrapped or with wrapped parts; and how many of its elements are wrapped now."""
    if _is_wrapped(module):
        return module, sum(p.numel() for p in module.parameters())
    numel = sum(p.numel() for p in module.parameters() if id(p) not in ignored)
    if not policy(module=module, recurse=True, nonwrapped_numel=numel):
        return module, 0
    wrapped = 0
    for name, child in list(module._modules.items()):
        if child is not None and id(child) not in ignored:
            module._modules[name], count = _by_size(child, policy, make, ignored)
            wrapped += count
    if policy(module=module, recurse=False, nonwrapped_numel=numel - wrapped):
        return make(module), numel
    return module, wrapped
