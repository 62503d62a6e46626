"""`Variable`: the old name of a tensor, still used by many scripts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core.gradients.tape import at_end
from ..core.tensor import Tensor


class _Engine:
    """What PyTorch calls its engine: the part of it that programs reach for."""

    @staticmethod
    def queue_callback(callback: Callable[[], None]) -> None:
        """Call something at the end of the backward pass that is under way."""
        at_end(callback)


class _VariableMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_VariableMeta):
    """The old name of a tensor: `Variable(data)` returns a tensor over the same memory.

    Args:
        requires_grad: whether gradients are recorded for it.
        volatile: accepted and not used; write `no_grad` instead.

    Raises:
        TypeError: if `data` is not a tensor.

    Example:
        >>> v = torch.autograd.Variable(torch.ones(2), requires_grad=True)
        >>> v.requires_grad, isinstance(v, torch.Tensor)
        (True, True)
    """

    _execution_engine = _Engine()

    def __new__(cls, data: Any, requires_grad: bool = False, volatile: bool = False) -> Any:
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        t = data.detach()
        return t.requires_grad_() if requires_grad else t
