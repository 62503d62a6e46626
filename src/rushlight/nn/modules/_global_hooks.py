"""Hooks that every module of the process calls, and the handle that takes a hook away again."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...core.gradients.tape import RemovableHandle


class HookHandle(RemovableHandle):
    """A handle that also removes its hook from other tables that mention it."""

    def __init__(self, hooks: Any, fn: Any, companions: tuple[dict, ...] = (), prepend: bool = False) -> None:
        super().__init__(hooks, fn)
        self.companions = companions
        if prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        super().remove()
        for table in self.companions:
            table.pop(self.id, None)


class GlobalHooks:
    """Hooks of the whole process. `calls` has all that run around calls, so that a call tests one table."""

    __slots__ = (
        "backward", "backward_pre", "calls", "forward", "forward_always", "forward_pre",
        "forward_with_kwargs", "is_full_backward", "registration",
    )  # fmt: skip

    def __init__(self) -> None:
        self.calls: dict[int, Callable] = {}
        self.forward_pre: OrderedDict[int, Callable] = OrderedDict()
        self.forward: OrderedDict[int, Callable] = OrderedDict()
        self.forward_with_kwargs: dict[int, bool] = {}
        self.forward_always: dict[int, bool] = {}
        self.backward_pre: OrderedDict[int, Callable] = OrderedDict()
        self.backward: OrderedDict[int, Callable] = OrderedDict()
        self.is_full_backward: bool | None = None
        self.registration: dict[str, OrderedDict[int, Callable]] = {
            "buffer": OrderedDict(),
            "module": OrderedDict(),
            "parameter": OrderedDict(),
        }


GLOBAL = GlobalHooks()


def _around_calls(table: dict[int, Callable], hook: Callable, flags: tuple[dict, ...] = ()) -> HookHandle:
    """Register a hook that runs around calls."""
    handle = HookHandle(table, hook, (GLOBAL.calls, *flags))
    GLOBAL.calls[handle.id] = hook
    return handle


def on_registration(kind: str, owner: Any, name: str, value: Any) -> Any:
    """Show the registration hooks what is registered; return it, or what they put in its place."""
    for hook in GLOBAL.registration[kind].values():
        replaced = hook(owner, name, value)
        if replaced is not None:
            value = replaced
    return value


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` whenever a module registers a buffer; it may replace it.

    Returns:
        A handle; its `remove()` takes the hook away.

    Example:
        >>> said = lambda module, name, buffer: print(name)
        >>> handle = nn.modules.module.register_module_buffer_registration_hook(said)
        >>> _ = nn.BatchNorm1d(2)
        running_mean
        running_var
        num_batches_tracked
        >>> handle.remove()
    """
    return HookHandle(GLOBAL.registration["buffer"], hook)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `register_module_buffer_registration_hook`: `hook(module, name, submodule)` for children."""
    return HookHandle(GLOBAL.registration["module"], hook)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `register_module_buffer_registration_hook`: `hook(module, name, param)` for parameters."""
    return HookHandle(GLOBAL.registration["parameter"], hook)


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `register_module_forward_hook`: `hook(module, args)` before it, which may change args."""
    return _around_calls(GLOBAL.forward_pre, hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module of the process.

    Args:
        hook: what it returns, if not None, replaces the output.
        with_kwargs: call it as `hook(module, args, kwargs, output)`.
        always_call: run it even when `forward` raised an error.

    Returns:
        A handle; its `remove()` takes the hook away.

    Example:
        >>> said = lambda module, args, output: print(type(module).__name__, tuple(output.shape))
        >>> handle = nn.modules.module.register_module_forward_hook(said)
        >>> _ = nn.Flatten()(torch.zeros(1, 2, 3))
        Flatten (1, 6)
        >>> handle.remove()
    """
    flags = (GLOBAL.forward_with_kwargs, GLOBAL.forward_always)
    handle = _around_calls(GLOBAL.forward, hook, flags)
    if with_kwargs:
        GLOBAL.forward_with_kwargs[handle.id] = True
    if always_call:
        GLOBAL.forward_always[handle.id] = True
    return handle


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `nn.modules.module.register_module_full_backward_hook`, for the last operation only; deprecated.

    The hook gets the gradients of the last operation of every module, which need not be those of
    the module's inputs.
    """
    if GLOBAL.is_full_backward is True:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    GLOBAL.is_full_backward = False
    return _around_calls(GLOBAL.backward, hook)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """As `register_module_full_backward_hook`: `hook(module, grad_output)` before it."""
    return _around_calls(GLOBAL.backward_pre, hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` when the gradients of any module are known.

    Returns:
        A handle; its `remove()` takes the hook away.

    Example:
        >>> said = lambda module, gi, go: print(type(module).__name__, gi[0])
        >>> handle = nn.modules.module.register_module_full_backward_hook(said)
        >>> nn.ReLU()(torch.ones(1, requires_grad=True)).sum().backward()
        ReLU tensor([1.])
        >>> handle.remove()
    """
    if GLOBAL.is_full_backward is False:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module "
            "hook. Please use only one of them."
        )
    GLOBAL.is_full_backward = True
    return _around_calls(GLOBAL.backward, hook)
