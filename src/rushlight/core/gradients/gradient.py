"""What a tensor's gradient may be: assigned by a user, kept for one that is no leaf, laid out as its leaf is."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from ...runtime.door import KERNELS, run
from ..memory import memory_order
from ..values import TensorValues

if TYPE_CHECKING:
    from ..tensor import Tensor


def check_grad(t: Tensor, g: Any) -> None:
    """Raise unless `g` can be the gradient of `t`."""
    if not isinstance(g, TensorValues):
        raise TypeError(f"assigned grad expected to be a Tensor or None but got grad of type {type(g).__name__}")
    if g is t:
        raise RuntimeError("can't assign Variable as its own grad")
    if g._a.dtype != t._a.dtype:
        raise RuntimeError(
            f"attempting to assign a gradient with dtype '{g.dtype}' to a tensor with dtype "
            f"'{t.dtype}'. Convert it first, with grad.to(tensor.dtype)"
        )
    if g._a.__class__ is not t._a.__class__ and g.device != t.device:
        raise RuntimeError(
            f"attempting to assign a gradient with device type '{g.device.type}' to a tensor with "
            f"device type '{t.device.type}'. Please ensure that the gradient and the tensor are on the "
            "same device"
        )
    if g._a.shape != t._a.shape:
        raise RuntimeError(
            f"attempting to assign a gradient of size '{list(g._a.shape)}' to a tensor of size "
            f"'{list(t._a.shape)}'. Please ensure that the gradient and the tensor are the same size"
        )


class Retainer:
    """A hook that stores the gradient on a tensor it does not keep alive."""

    goes_last = True

    def __init__(self, t: Tensor) -> None:
        self.ref = weakref.ref(t)

    def __call__(self, g: Any) -> None:
        t = self.ref()
        if t is not None:
            t._grad = g if t._grad is None else t._grad + g


def in_order_of(g: Tensor, like: Tensor) -> Any:
    """A copy of a gradient's array, laid out in memory as its leaf's is, or row-major where that has gaps."""
    order = memory_order(like)
    attrs = {"order": "C" if order is None else tuple(order)}
    return run(KERNELS["clone"], g.__class__, (g,), attrs)
