"""The function of linear layers, by which convolutions written as one product go, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rushlight as rl

from ..base.arrays import Array
from ..runtime.thread import GRAD, TAPE, here
from ._arrays import common, later
from ._usual import linear_back, usual
from .core import Function, Variable, over

if TYPE_CHECKING:
    from ..core.tensor import Tensor
    from .core import Operand


class Linear(Function):
    """See `linear`: the Function that it calls."""

    def _forward(self, x: Array, W: Array, b: Array | None = None) -> Any:
        return later(_linear, *common(x, W, b))

    def backward(self, gy: Variable) -> Any:
        x, W, b = self.inputs
        gx = gW = gb = None
        if here.state & TAPE != GRAD and self._fits(gy._data, x._data, W._data, b._data):
            wants = [not x._constant, not W._constant, not b._constant and b._data is not None]
            found = linear_back(gy._data, x._data, W, wants)
            return [None if g is None else over(g) for g in found]
        if self._wants(0):
            gx = gy.matmul(W.T)
        if self._wants(1):
            rows, g = (x, gy) if x.ndim == 2 else (_rows(x), _rows(gy))
            gW = rows.T.matmul(g)
        if b._data is not None and self._wants(2):
            gb = gy._sum_to(b.shape)
        return gx, gW, gb

    @staticmethod
    def _fits(gy: Any, x: Any, W: Any, b: Any) -> bool:
        """Whether nothing has to be cast, summed to another shape or brought to another device."""
        if not x.dtype == W.dtype == gy.dtype or not x.__class__ is W.__class__ is gy.__class__:
            return False
        if x.ndim != 2 or W.ndim != 2 or gy.shape != (x.shape[0], W.shape[1]):
            return False
        return x.dtype.char in "fd" and (b is None or b.shape == W.shape[1:])


def _linear(x: Tensor, w: Tensor, b: Tensor | None) -> Tensor:
    return rl.nn.functional.linear(x, w.t(), b)  # rushlight's weight is (out, in)


def _rows(x: Variable) -> Any:
    return x.reshape(-1, x.shape[-1])


def linear(x: Operand, W: Operand, b: Operand | None = None) -> Variable:
    """`x W + b`, where W is (in, out).

    Args:
        x: (N, in).
        W: (in, out).
        b: (out,), or None.

    Example:
        >>> F.linear(np.ones((1, 2)), np.ones((2, 3)), np.zeros(3))
        variable([[2. 2. 2.]])
    """
    y = usual.call(Linear, x, W, b)
    return Linear()(x, W, b) if y is None else y
