"""Functions of Variables: mathematics, shapes, sums and extremes; some are methods of Variable, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import rushlight as rl

from . import cuda, utils
from ._arrays import common, compute, floating, later, tensor
from ._bare import aside
from .core import Function, Variable, as_variable, own_constant

if TYPE_CHECKING:
    from ..base.protocols import Array
    from .core import Operand

# -- sin, cos, tanh, exp, log ---------------------------------------------------------------------


class Sin(Function):
    """See `sin`: the Function that it calls."""

    def _forward(self, x: Array) -> Any:
        return later(rl.sin, floating(x))

    def backward(self, gy: Variable) -> Any:
        return gy * cos(self.inputs[0])


class Cos(Function):
    """See `cos`: the Function that it calls."""

    def _forward(self, x: Array) -> Any:
        return later(rl.cos, floating(x))

    def backward(self, gy: Variable) -> Any:
        return gy * -sin(self.inputs[0])


class Tanh(Function):
    """See `tanh`: the Function that it calls."""

    def _forward(self, x: Array) -> Any:
        return later(rl.tanh, floating(x))

    def backward(self, gy: Variable) -> Any:
        y = self.outputs[0]()
        return gy * (1 - y * y)


class Exp(Function):
    """See `exp`: the Function that it calls."""

    def _forward(self, x: Array) -> Any:
        return later(rl.exp, floating(x))

    def backward(self, gy: Variable) -> Any:
        return gy * self.outputs[0]()


class Log(Function):
    """See `log`: the Function that it calls."""

    def _forward(self, x: Array) -> Any:
        return later(rl.log, floating(x))

    def backward(self, gy: Variable) -> Any:
        return gy / self.inputs[0]


def sin(x: Operand) -> Variable:
    """The sine.

    Args:
        x: an array or a Variable.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.sin(np.array([0.0, np.pi / 2]))
        variable([0. 1.])
    """
    return Sin()(x)


def cos(x: Operand) -> Variable:
    """The cosine.

    Args:
        x: an array or a Variable.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.cos(np.array([0.0, np.pi]))
        variable([ 1. -1.])
    """
    return Cos()(x)


def tanh(x: Operand) -> Variable:
    """The hyperbolic tangent.

    Args:
        x: an array or a Variable.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.tanh(np.array(0.0))
        variable(0.0)
    """
    return Tanh()(x)


def exp(x: Operand) -> Variable:
    """e to the power of x.

    Args:
        x: an array or a Variable.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.exp(np.array(0.0))
        variable(1.0)
    """
    return Exp()(x)


def log(x: Operand) -> Variable:
    """The natural logarithm.

    Args:
        x: an array or a Variable.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.log(np.array(1.0))
        variable(0.0)
    """
    return Log()(x)


# -- reshape, transpose, indexing -----------------------------------------------------------------


class Reshape(Function):
    """See `reshape`: the Function that it calls."""

    def __init__(self, shape: int | tuple[int, ...]) -> None:
        self.shape = shape

    def _forward(self, x: Array) -> Any:
        return aside(lambda a: later(rl.reshape, a, self.shape), x)

    def backward(self, gy: Variable) -> Any:
        return reshape(gy, self.inputs[0].shape)


def reshape(x: Operand, shape: int | tuple[int, ...]) -> Variable:
    """The same elements in another shape; -1 stands for what is left.

    Args:
        x: an array or a Variable.
        shape: a tuple.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.reshape(np.arange(4), (2, 2))
        variable([[0 1]
                  [2 3]])
    """
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    return as_variable(x) if x.shape == shape else Reshape(shape)(x)


class Transpose(Function):
    """See `transpose`: the Function that it calls."""

    def __init__(self, axes: tuple[int, ...] | None = None) -> None:
        self.axes = axes

    def _forward(self, x: Array) -> Any:
        axes = range(x.ndim)[::-1] if self.axes is None else self.axes
        return aside(lambda a: later(rl.permute, a, tuple(axes)), x)

    def backward(self, gy: Variable) -> Any:
        if self.axes is None:
            return transpose(gy)
        axes = [a % len(self.axes) for a in self.axes]
        return transpose(gy, tuple([axes.index(i) for i in range(len(axes))]))


def transpose(x: Operand, axes: tuple[int, ...] | None = None) -> Variable:
    """The axes in another order; reversed when none is given.

    Args:
        x: an array or a Variable.
        axes: their new order.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.transpose(np.array([[1, 2], [3, 4]]))
        variable([[1 3]
                  [2 4]])
    """
    return Transpose(axes)(x)


class GetItem(Function):
    """See `get_item`: the Function that it calls."""

    def __init__(self, slices: Any) -> None:
        self.slices = _plain(slices)

    def forward(self, x: Array) -> Any:
        return x[_beside(x, self.slices)]

    def backward(self, gy: Variable) -> Any:
        return GetItemGrad(self.slices, self.inputs[0].shape)(gy)


class GetItemGrad(Function):
    """See `get_item`: the Function of its gradient."""

    def __init__(self, slices: Any, in_shape: tuple[int, ...]) -> None:
        self.slices = _plain(slices)
        self.in_shape = in_shape

    def forward(self, gy: Array) -> Any:
        gx = tensor(gy).new_zeros(self.in_shape)
        slices = _beside(gy, self.slices)
        if _is_basic(slices):
            gx._a[slices] = gy
            return gx._a
        # An element may have been taken several times: find where each came from, and add.
        taken = rl.arange(gx.numel(), device=gx.device).reshape(self.in_shape)._a[slices]
        return compute(
            rl.index_add, gx._a.reshape(-1), 0, taken.reshape(-1), gy.reshape(-1)
        ).reshape(self.in_shape)

    def backward(self, ggx: Variable) -> Any:
        return get_item(ggx, self.slices)


def _plain(slices: Any) -> Any:
    """An index of arrays, without Variables in it."""
    if isinstance(slices, tuple):
        return tuple([_plain(s) for s in slices])
    return slices.data if isinstance(slices, Variable) else slices


def _beside(x: Any, slices: Any) -> Any:
    """An index with its arrays on the device of `x`, since CuPy takes no NumPy arrays."""
    if isinstance(slices, tuple):
        return tuple([_beside(x, s) for s in slices])
    if isinstance(slices, np.ndarray) and cuda.get_array_module(x) is not np:
        return cuda.as_cupy(slices)
    return slices


def _is_basic(slices: Any) -> bool:
    """Whether an index takes no element twice: numbers, slices, None and `...`."""
    parts = slices if isinstance(slices, tuple) else (slices,)
    return all(p is None or p is ... or type(p) in (slice, int) for p in parts)


def get_item(x: Operand, slices: Any) -> Variable:
    """`x[slices]`.

    Args:
        x: an array or a Variable.
        slices: an index, as NumPy takes it.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.get_item(np.array([[1, 2], [3, 4]]), 1)
        variable([3 4])
    """
    return GetItem(slices)(x)


def expand_dims(x: Operand, axis: int) -> Variable:
    """`x` with an axis of length one inserted at `axis`.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.expand_dims(np.array([1, 2]), 0).shape
        (1, 2)
    """
    shape = list(x.shape)
    shape.insert(axis % (len(shape) + 1), 1)
    return reshape(x, tuple(shape))


def flatten(x: Operand) -> Variable:
    """Everything but the first axis in one axis.

    Args:
        x: an array or a Variable.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.flatten(np.zeros((2, 3, 4))).shape
        (2, 12)
    """
    return reshape(x, (x.shape[0], -1))


class Concat(Function):
    """See `concat`: the Function that it calls."""

    def __init__(self, axis: int) -> None:
        self.axis = axis

    def _forward(self, *xs: Array) -> Any:
        return later(_cat, *common(*xs), axis=self.axis)

    def backward(self, gy: Variable) -> Any:
        gxs, begin = [], 0
        for x in self.inputs:
            end = begin + x.shape[self.axis]
            gxs.append(get_item(gy, (slice(None),) * (self.axis % gy.ndim) + (slice(begin, end),)))
            begin = end
        return tuple(gxs)


def _cat(*xs: Any, axis: int) -> Any:
    return rl.cat(xs, axis)


def concat(xs: Any, axis: int = 1) -> Variable:
    """Several Variables one after the other along `axis`; the original DeZero has none.

    Args:
        xs: a list of arrays or Variables.
        axis: a number.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.concat([np.array([[1]]), np.array([[2]])])
        variable([[1 2]])
    """
    return Concat(axis)(*xs)


# -- sums and broadcasting ------------------------------------------------------------------------


class Sum(Function):
    """See `sum`: the Function that it calls."""

    def __init__(self, axis: int | tuple[int, ...] | None, keepdims: bool) -> None:
        self.axis = axis
        self.keepdims = keepdims

    def _forward(self, x: Array) -> Any:
        return later(rl.sum, x, self.axis, self.keepdims)

    def backward(self, gy: Variable) -> Any:
        shape = self.inputs[0].shape
        return broadcast_to(utils.reshape_sum_backward(gy, shape, self.axis, self.keepdims), shape)


def sum(x: Operand, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Variable:
    """The sum over `axis` (a number or a tuple), or over everything.

    Args:
        x: an array or a Variable.
        axis: which axes; all if not given.
        keepdims: keep them with length 1.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.sum(np.array([[1, 2], [3, 4]]), axis=0)
        variable([4 6])
    """
    return Sum(axis, keepdims)(x)


class SumTo(Function):
    """See `sum_to`: the Function that it calls."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape = shape

    def _forward(self, x: Array) -> Any:
        return later(utils.adding_to(x.shape, self.shape), x)

    def backward(self, gy: Variable) -> Any:
        return broadcast_to(gy, self.inputs[0].shape)


def sum_to(x: Operand, shape: tuple[int, ...]) -> Variable:
    """The elements added up until the shape is `shape`: the reverse of broadcasting.

    Args:
        x: an array or a Variable.
        shape: a tuple.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.sum_to(np.ones((2, 3)), (1, 3))
        variable([[2. 2. 2.]])
    """
    return as_variable(x) if x.shape == tuple(shape) else SumTo(tuple(shape))(x)


class BroadcastTo(Function):
    """See `broadcast_to`: the Function that it calls."""

    def __init__(self, shape: int | tuple[int, ...]) -> None:
        self.shape = shape

    def _forward(self, x: Array) -> Any:
        return aside(lambda a: later(rl.broadcast_to, a, self.shape), x)

    def backward(self, gy: Variable) -> Any:
        return sum_to(gy, self.inputs[0].shape)


def broadcast_to(x: Operand, shape: tuple[int, ...]) -> Variable:
    """The elements repeated until the shape is `shape`.

    Args:
        x: an array or a Variable.
        shape: a tuple.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.broadcast_to(np.array([1, 2]), (2, 2))
        variable([[1 2]
                  [1 2]])
    """
    return as_variable(x) if x.shape == tuple(shape) else BroadcastTo(tuple(shape))(x)


def average(
    x: Operand, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Variable:
    """The mean over `axis`, or over everything.

    Args:
        x: an array or a Variable.
        axis: which axes; all if not given.
        keepdims: keep them with length 1.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.average(np.array([1.0, 3.0]))
        variable(2.0)
    """
    x = as_variable(x)
    y = sum(x, axis, keepdims)
    return y * (y.size / x.size)


mean = average


# -- matmul ---------------------------------------------------------------------------------------


class MatMul(Function):
    """See `matmul`: the Function that it calls."""

    def _forward(self, x: Array, W: Array) -> Any:
        x, W = common(x, W)
        return later(rl.matmul, x, W)

    def backward(self, gy: Variable) -> Any:
        x, W = self.inputs
        rows = x.reshape(-1, x.shape[-1])
        columns = W if W.ndim > 1 else W.reshape(-1, 1)
        g = gy.reshape(rows.shape[0], columns.shape[-1])
        gx = matmul(g, columns.T).reshape(x.shape) if self._wants(0) else None
        return gx, matmul(rows.T, g).reshape(W.shape) if self._wants(1) else None


def matmul(x: Operand, W: Operand) -> Variable:
    """The matrix product; vectors are rows on the left and columns on the right.

    Args:
        x, W: arrays or Variables.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.matmul(np.array([[1, 2]]), np.array([[3], [4]]))
        variable([[11]])
    """
    return MatMul()(x, W)


# -- extremes -------------------------------------------------------------------------------------


class Max(Function):
    """See `max`: the Function that it calls."""

    def __init__(self, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> None:
        self.axis = axis
        self.keepdims = keepdims

    def _forward(self, x: Array) -> Any:
        return later(rl.amax, x, self._axes(), self.keepdims)

    def _axes(self) -> Any:
        return () if self.axis is None else self.axis

    def backward(self, gy: Variable) -> Any:
        """Every element that is the extreme gets the gradient, ties included."""
        x = self.inputs[0]
        shape = utils.max_backward_shape(x, self.axis)
        y = self.outputs[0]()._data
        reached = later(lambda x, y: x == y.reshape(shape), x._data, y)
        return broadcast_to(reshape(gy, tuple(shape)), x.shape) * own_constant(reached)


class Min(Max):
    """See `min`: the Function that it calls."""

    def _forward(self, x: Array) -> Any:
        return later(rl.amin, x, self._axes(), self.keepdims)


def max(x: Operand, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Variable:
    """The largest element over `axis`, or of all.

    Args:
        x: an array or a Variable.
        axis: which axes; all if not given.
        keepdims: keep them with length 1.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.max(np.array([[1, 2], [3, 4]]), axis=1)
        variable([2 4])
    """
    return Max(axis, keepdims)(x)


def min(x: Operand, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Variable:
    """The smallest element over `axis`, or of all.

    Args:
        x: an array or a Variable.
        axis: which axes; all if not given.
        keepdims: keep them with length 1.

    Example:
        >>> from rushlight.dezero import functions as F
        >>> F.min(np.array([[1, 2], [3, 4]]), axis=1)
        variable([1 3])
    """
    return Min(axis, keepdims)(x)


# -- methods of Variable --------------------------------------------------------------------------


def _reshape(self: Variable, *shape: Any) -> Variable:
    """The same elements in another shape, given as a tuple or as numbers."""
    if len(shape) == 1 and isinstance(shape[0], (tuple, list)):
        shape = tuple(shape[0])
    return reshape(self, shape)


def _transpose(self: Variable, *axes: tuple[int, ...] | None) -> Variable:
    """The axes in another order; without arguments, reversed."""
    order: Any = axes or None
    if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))):
        order = axes[0]
    return transpose(self, order)


def _setup_variable() -> None:
    """Give Variable the methods that are Functions."""
    cls: Any = Variable
    cls.reshape, cls.transpose = _reshape, _transpose
    cls.T = property(transpose, doc="The axes reversed.")
    cls.sum, cls._sum_to = sum, sum_to
    cls.__getitem__ = get_item
    cls.matmul = cls.dot = matmul
    cls.max, cls.min = max, min


_setup_variable()
