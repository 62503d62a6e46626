"""`torch.utils._python_dispatch`: modes that see every operator before it computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .._aten.seen import Seer
from ..core.tensor import Tensor
from ..runtime import door
from ..runtime.thread import here

__all__ = [
    "BaseTorchDispatchMode", "TorchDispatchMode", "is_in_any_mode_without_ignore_compile_internals",
    "is_in_torch_dispatch_mode", "is_traceable_wrapper_subclass",
]  # fmt: skip


class TorchDispatchMode:
    """A block in which this object's `__torch_dispatch__` is asked for every inner operator, forward and backward.

    Derive from it and write `__torch_dispatch__(self, func, types, args, kwargs)`: `func` is an operator such as
    `torch.ops.aten.addmm.default`, and `func(*args, **kwargs)` computes it. It is asked below autograd: its
    answer gets the gradient of the operator that came. The tensors it sees are new objects over the same memory.
    What rushlight computes in one go, and PyTorch in several operators, is one operator of the namespace
    `torch.ops.rushlight` where PyTorch has no name for it.

    Example:
        >>> from rushlight.utils._python_dispatch import TorchDispatchMode
        >>> class Names(TorchDispatchMode):
        ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        ...         print(func)
        ...         return func(*args, **(kwargs or {}))
        >>> x = torch.ones(2, 2)
        >>> with Names():
        ...     _ = torch.relu(x @ x + 1)
        aten.mm.default
        aten.add.Tensor
        aten.relu.default
    """

    def __init__(self, _dispatch_key: Any = None) -> None:
        self._listeners: list[Seer] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Any:
        if here.tracer is not None:
            here.tracer.interrupt("somebody listens")
        seer = Seer(self)
        self.__dict__.setdefault("_listeners", []).append(seer)  # subclasses may skip our __init__
        door.add_listener(seer)
        return self

    def __exit__(self, *exc: Any) -> None:
        door.remove_listener(self._listeners.pop())

    @classmethod
    def push(cls, *args: Any, **kwargs: Any) -> Any:
        """An object of this class; `with Mode():` does the same."""
        return cls(*args, **kwargs)


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing.

    Example:
        >>> from rushlight.utils._python_dispatch import BaseTorchDispatchMode
        >>> with BaseTorchDispatchMode():
        ...     torch.ones(2) + 1
        tensor([2., 2.])
    """

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode_stack() -> list[Any]:
    """The modes at work in this thread, the innermost last."""
    return [one.mode for one in here.listeners if isinstance(one, Seer)]


def _get_current_dispatch_mode() -> Any:
    """The innermost mode, or None."""
    return next(iter(reversed(_get_current_dispatch_mode_stack())), None)


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode is at work in this thread.

    Example:
        >>> from rushlight.utils._python_dispatch import is_in_torch_dispatch_mode
        >>> is_in_torch_dispatch_mode()
        False
    """
    return _get_current_dispatch_mode() is not None


def is_in_any_mode_without_ignore_compile_internals() -> bool:
    """Whether a mode is at work that compiled functions have to look at: any of them here.

    Example:
        >>> from rushlight.utils._python_dispatch import is_in_any_mode_without_ignore_compile_internals
        >>> is_in_any_mode_without_ignore_compile_internals()
        False
    """
    return is_in_torch_dispatch_mode()


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """A block in which no mode is asked."""
    listeners, modes = here.listeners, _get_current_dispatch_mode_stack()
    door._listen(tuple([one for one in listeners if not isinstance(one, Seer)]))
    try:
        yield modes
    finally:
        door._listen(listeners)


def is_traceable_wrapper_subclass(t: Any) -> bool:
    """Whether a tensor is made of others that a tracer can reach: it says so by two methods.

    Args:
        t: anything.

    Example:
        >>> from rushlight.utils._python_dispatch import is_traceable_wrapper_subclass
        >>> is_traceable_wrapper_subclass(torch.ones(2))
        False
    """
    own = type(t) is not Tensor and isinstance(t, Tensor)
    return own and hasattr(t, "__tensor_flatten__") and hasattr(t, "__tensor_unflatten__")
