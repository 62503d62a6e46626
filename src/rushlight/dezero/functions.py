"""DeZero's functions of Variables; those of pictures are in `functions_conv`, and some are methods of Variable, too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import rushlight as rl

from ..base.arrays import Array
from ..runtime.door import KERNELS
from ..runtime.thread import GRAD, TAPE, here
from . import cuda, utils
from ._arrays import common, compute, floating, later, tensor
from ._bare import aside, outside
from ._derived import Derived, match, real
from ._linear import Linear, linear
from ._usual import MEAN, gradient, one, usual
from .core import (  # noqa: A004 - the names are DeZero's
    Config,
    Function,
    Variable,
    add,
    as_array,
    as_variable,
    div,
    mul,
    neg,
    over,
    own_constant,
    pow,
    rsub,
    sub,
)
from .functions_conv import average_pooling, col2im, conv2d, conv2d_simple, deconv2d, im2col, pooling, pooling_simple

if TYPE_CHECKING:
    from ..core.tensor import Tensor
    from .core import Operand

nn = rl.nn.functional

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
    """As `torch.sin`, of an array or a Variable."""
    return Sin()(x)


def cos(x: Operand) -> Variable:
    """As `torch.cos`, of an array or a Variable."""
    return Cos()(x)


def tanh(x: Operand) -> Variable:
    """As `torch.tanh`, of an array or a Variable."""
    return Tanh()(x)


def exp(x: Operand) -> Variable:
    """As `torch.exp`, of an array or a Variable."""
    return Exp()(x)


def log(x: Operand) -> Variable:
    """As `torch.log`, of an array or a Variable."""
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
    """As `torch.reshape`, of an array or a Variable."""
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
        return compute(rl.index_add, gx._a.reshape(-1), 0, taken.reshape(-1), gy.reshape(-1)).reshape(self.in_shape)

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
        >>> F.get_item(np.array([[1, 2], [3, 4]]), 1)
        variable([3 4])
    """
    return GetItem(slices)(x)


def expand_dims(x: Operand, axis: int) -> Variable:
    """`x` with an axis of length one inserted at `axis`.

    Example:
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
    """As `torch.broadcast_to`, of an array or a Variable."""
    return as_variable(x) if x.shape == tuple(shape) else BroadcastTo(tuple(shape))(x)


def average(x: Operand, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Variable:
    """As `sum`: the mean over `axis`, or over everything."""
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
    """As `torch.matmul`, of an array or a Variable."""
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
    """As `sum`: the largest element over `axis`, or of all."""
    return Max(axis, keepdims)(x)


def min(x: Operand, axis: int | tuple[int, ...] | None = None, keepdims: bool = False) -> Variable:
    """As `max`: the smallest element over `axis`, or of all."""
    return Min(axis, keepdims)(x)


# -- activations, and the linear layer of two Functions ---------------------------------------------


def linear_simple(x: Operand, W: Operand, b: Operand | None = None) -> Variable:
    """As `linear`, of two Functions."""
    t = matmul(x, W)
    return t if b is None else t + b


class _OneKernel(Derived):
    """A Function whose usual calls are made in C, which keeps what the kernel of its gradient reads."""

    _kernel: Any  # of the gradient
    _attrs: dict[str, Any] = {}
    _kept: Any = None

    def backward(self, *gys: Any) -> Any:
        if self._kept is not None and here.state & TAPE != GRAD:
            gx = gradient(self._kernel, gys[0]._data, self._kept, self._attrs)
            if gx is not None:
                return over(gx), *[None] * (len(self.inputs) - 1)
        return super().backward(*gys)

    _written = backward


class Sigmoid(_OneKernel):
    """See `sigmoid`: the Function that it calls."""

    _kernel = KERNELS["sigmoid_backward"]

    def compute(self, x: Tensor) -> Any:
        return rl.sigmoid(real(x))


class ReLU(_OneKernel):
    """See `relu`: the Function that it calls."""

    _kernel = KERNELS["relu_grad"]

    def compute(self, x: Tensor) -> Any:
        return rl.relu(real(x))


class LeakyReLU(Derived):
    """See `leaky_relu`: the Function that it calls."""

    def __init__(self, slope: float) -> None:
        self.slope = slope

    def compute(self, x: Tensor) -> Any:
        return nn.leaky_relu(real(x), self.slope)


class Softmax(Derived):
    """See `softmax`: the Function that it calls."""

    def __init__(self, axis: int = 1) -> None:
        self.axis = axis

    def compute(self, x: Tensor) -> Any:
        return rl.softmax(real(x), self.axis)


class LogSoftmax(Derived):
    """See `log_softmax`: the Function that it calls."""

    def __init__(self, axis: int = 1) -> None:
        self.axis = axis

    def compute(self, x: Tensor) -> Any:
        return rl.log_softmax(real(x), self.axis)


class Clip(Derived):
    """See `clip`: the Function that it calls."""

    def __init__(self, x_min: float, x_max: float) -> None:
        self.x_min = x_min
        self.x_max = x_max

    def compute(self, x: Tensor) -> Any:
        return rl.clamp(x, self.x_min, self.x_max)


def sigmoid(x: Operand) -> Variable:
    """As `torch.sigmoid`, of an array or a Variable."""
    y = usual.call(Sigmoid, x)
    return Sigmoid()(x) if y is None else y


def sigmoid_simple(x: Operand) -> Variable:
    """As `sigmoid`, written out."""
    return 1 / (1 + exp(-as_variable(x)))


def relu(x: Operand) -> Variable:
    """As `torch.relu`, of an array or a Variable."""
    y = usual.call(ReLU, x)
    return ReLU()(x) if y is None else y


def leaky_relu(x: Operand, slope: float = 0.2) -> Variable:
    """As `nn.functional.leaky_relu`, of an array or a Variable; `slope` is that of negative x."""
    return LeakyReLU(slope)(x)


def softmax(x: Operand, axis: int = 1) -> Variable:
    """exp(x), scaled to sum to 1 along `axis`.

    Args:
        x: an array or a Variable.
        axis: a number.

    Example:
        >>> F.softmax(np.array([[0.0, 0.0]]))
        variable([[0.5 0.5]])
    """
    return Softmax(axis)(x)


def softmax_simple(x: Operand, axis: int = 1) -> Variable:
    """As `softmax`, written out."""
    y = exp(x)
    return y / sum(y, axis=axis, keepdims=True)


def log_softmax(x: Operand, axis: int = 1) -> Variable:
    """As `softmax`: its logarithm."""
    return LogSoftmax(axis)(x)


def clip(x: Operand, x_min: float, x_max: float) -> Variable:
    """x, brought into [x_min, x_max].

    Args:
        x: an array or a Variable.
        x_min, x_max: numbers.

    Example:
        >>> F.clip(np.array([-3.0, 0.5]), -1, 1)
        variable([-1.   0.5])
    """
    return Clip(x_min, x_max)(x)


# -- losses ---------------------------------------------------------------------------------------


class MeanSquaredError(Derived):
    """See `mean_squared_error`: the Function that it calls."""

    def compute(self, x0: Tensor, x1: Tensor) -> Any:
        x0, x1 = match(x0, x1)
        difference = x0 - x1
        return (difference * difference).sum() / len(difference)


class SoftmaxCrossEntropy(_OneKernel):
    """See `softmax_cross_entropy`: the Function that it calls."""

    _kernel, _attrs = KERNELS["cross_entropy_grad"], MEAN

    def _seed(self, output: Variable) -> Variable:
        # One for all passes: `backward` only reads it, and nobody else gets it.
        if self._kept is None or not self._only_reads():
            return super()._seed(output)
        return over(one(output._data))

    def compute(self, x: Tensor, t: Tensor) -> Any:
        labels = t._a
        if labels.ndim != 1 or labels.dtype != np.int64:
            t = t.long().reshape(-1)
        return nn.cross_entropy(real(x), t)


def mean_squared_error(x0: Operand, x1: Operand) -> Variable:
    """The sum of squared differences over the number of rows.

    Args:
        x0, x1: arrays or Variables of one shape.

    Example:
        >>> F.mean_squared_error(np.array([1.0, 2.0]), np.array([1.0, 4.0]))
        variable(2.0)
    """
    return MeanSquaredError()(x0, x1)


def mean_squared_error_simple(x0: Operand, x1: Operand) -> Variable:
    """As `mean_squared_error`, written out."""
    difference = as_variable(x0) - x1
    return sum(difference**2) / len(difference)


def softmax_cross_entropy(x: Operand, t: Operand) -> Variable:
    """The mean over the rows of -log softmax(x) at the class numbers `t`.

    Args:
        x: (N, classes).
        t: (N,), integers.

    Example:
        >>> F.softmax_cross_entropy(np.array([[0.0, 0.0]]), np.array([1]))
        variable(0.6931471805599453)
    """
    loss = usual.call(SoftmaxCrossEntropy, x, t)
    return SoftmaxCrossEntropy()(x, t) if loss is None else loss


def softmax_cross_entropy_simple(x: Operand, t: Operand) -> Variable:
    """As `softmax_cross_entropy`, written out."""
    x, t = as_variable(x), as_variable(t)
    n = x.shape[0]
    p = clip(softmax(x), 1e-15, 1.0)  # log(0) is -inf
    rows = cuda.get_array_module(t.data).arange(n)
    return -1 * sum(log(p)[rows, t.data]) / n


class SigmoidCrossEntropy(Derived):
    """See `sigmoid_cross_entropy`: the Function that it calls."""

    def compute(self, x: Tensor, t: Tensor) -> Any:
        x, t = match(x, t)
        return nn.binary_cross_entropy_with_logits(x, t, reduction="sum") / len(x)


def sigmoid_cross_entropy(x: Operand, t: Operand) -> Variable:
    """The binary cross entropy of sigmoid(x) with 0s and 1s, over the number of rows.

    Args:
        x: an array or a Variable.
        t: 0s and 1s of the shape of `x`.

    Example:
        >>> F.sigmoid_cross_entropy(np.array([[0.0]]), np.array([[1]]))
        variable(0.6931471805599453)
    """
    return SigmoidCrossEntropy()(x, t if x.ndim == t.ndim else reshape(t, x.shape))


def binary_cross_entropy(p: Operand, t: Operand) -> Variable:
    """The cross entropy of probabilities with 0s and 1s, over the number of rows.

    Args:
        p: probabilities.
        t: 0s and 1s of the shape of `p`.

    Example:
        >>> F.binary_cross_entropy(np.array([[0.5]]), np.array([[1]]))
        variable(0.6931471805599453)
    """
    if p.ndim != t.ndim:
        t = reshape(t, p.shape)
    t = as_variable(t)
    p = clip(p, 1e-15, 0.999)  # as the book: log(1 - p) stays finite in float32
    return -1 * sum(t * log(p) + (1 - t) * log(1 - p)) / len(t)


def accuracy(y: Operand, t: Operand) -> Variable:
    """The part of the rows whose largest entry is at the class `t`; not differentiable.

    Args:
        y: (N, classes).
        t: (N,), integers.

    Example:
        >>> F.accuracy(np.array([[0.1, 0.9], [0.8, 0.2]]), np.array([1, 1]))
        variable(0.5)
    """
    y, t = as_variable(y), as_variable(t)
    return over(outside(_accuracy, y._data, t._data))


def _accuracy(y: Any, t: Any) -> Any:
    return as_array((y.argmax(axis=1).reshape(t.shape) == t).mean())


# -- dropout, normalisation, embedding ------------------------------------------------------------


def dropout(x: Operand, dropout_ratio: float = 0.5) -> Variable:
    """In training, zero for a random part of the elements and the others scaled up to make up for it.

    Args:
        x: an array or a Variable.
        dropout_ratio: which part.

    Example:
        >>> with dezero.test_mode():
        ...     F.dropout(np.array([1.0, 2.0]))
        variable([1. 2.])
    """
    x = as_variable(x)
    if not Config.train:
        return x
    xp = cuda.get_array_module(x)
    kept = xp.random.rand(*x.shape) > dropout_ratio
    dtype = np.dtype(np.float64) if x.dtype.kind in "iub" else x.dtype
    return x * own_constant(as_array(kept / (1.0 - dropout_ratio)).astype(dtype))


class BatchNorm(Derived):
    """The Function of `batch_norm`; `mean` and `var` are changed in place by training.

    Args:
        mean, var: the running statistics.
        decay: which part of them is kept.
        eps: added to the variance.

    Example:
        >>> norm = F.BatchNorm(np.zeros(1), np.ones(1), 0.9, 0.0)
        >>> norm(np.array([[0.0], [2.0]]), np.ones(1), np.zeros(1))
        variable([[-1.]
                  [ 1.]])
    """

    _waits = False  # it changes arrays that belong to whoever calls it

    def __init__(self, mean: Array, var: Array, decay: float, eps: float) -> None:
        self.avg_mean = mean.data if isinstance(mean, Variable) else mean
        self.avg_var = var.data if isinstance(var, Variable) else var
        self.decay = decay
        self.eps = eps

    def compute(self, x: Tensor, gamma: Tensor, beta: Tensor) -> Any:
        x = real(x)
        # A single row is its own mean; taken twice, it is a batch that rushlight normalises.
        rows = rl.cat([x, x]) if Config.train and x.numel() == gamma.numel() else x
        averages = tensor(self.avg_mean), tensor(self.avg_var)
        mean, var = alike = [t.to(x.dtype) for t in averages]  # the same tensors where they are
        y = rl.batch_norm(  # takes eps=0 in training, too, as the book's does
            rows, gamma.to(x.dtype), beta.to(x.dtype), mean, var, Config.train, 1 - self.decay, self.eps, True
        )
        for t, learnt in zip(averages, alike):
            if learnt is not t and Config.train:
                t.copy_(learnt)
        return y if rows is x else y[: len(x)]


def batch_norm(
    x: Operand, gamma: Operand, beta: Operand, mean: Array, var: Array, decay: float = 0.9, eps: float = 2e-5
) -> Variable:
    """Each channel (axis 1) brought to mean 0 and variance 1, then scaled by gamma, shifted by beta.

    Args:
        x: (N, channels, ...).
        gamma, beta: (channels,).
        mean, var: the running statistics, (channels,); changed in place by training.
        decay: which part of them is kept.
        eps: added to the variance.

    Example:
        >>> F.batch_norm(np.array([[0.0], [2.0]]), np.ones(1), np.zeros(1), np.zeros(1), np.ones(1), eps=0.0)
        variable([[-1.]
                  [ 1.]])
    """
    return BatchNorm(mean, var, decay, eps)(x, gamma, beta)


batch_nrom = batch_norm  # the book's spelling


def embed_id(x: Operand, W: Operand) -> Variable:
    """The rows of W at the numbers `x`.

    Args:
        x: integers.
        W: (numbers, size).

    Example:
        >>> F.embed_id(np.array([1]), np.array([[1.0, 2.0], [3.0, 4.0]]))
        variable([[3. 4.]])
    """
    return get_item(W, x)


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


__all__ = [
    "BatchNorm", "BroadcastTo", "Clip", "Cos", "Exp", "Function", "GetItem", "GetItemGrad",
    "LeakyReLU", "Linear", "Log", "LogSoftmax", "MatMul", "Max", "MeanSquaredError", "Min", "ReLU",
    "Reshape", "Sigmoid", "Sin", "Softmax", "SoftmaxCrossEntropy", "Sum", "SumTo", "Tanh",
    "Transpose", "Variable", "accuracy", "add", "as_array", "as_variable", "average",
    "average_pooling", "batch_norm", "batch_nrom", "binary_cross_entropy", "broadcast_to", "clip",
    "col2im", "concat", "conv2d", "conv2d_simple", "cos", "deconv2d", "div", "dropout", "embed_id", "exp",
    "expand_dims", "flatten", "get_item", "im2col", "leaky_relu", "linear", "linear_simple", "log",
    "log_softmax", "matmul", "max", "mean", "mean_squared_error", "mean_squared_error_simple", "min",
    "mul", "neg", "pooling", "pooling_simple", "pow", "relu", "reshape", "rsub", "sigmoid",
    "sigmoid_cross_entropy", "sigmoid_simple", "sin", "softmax", "softmax_cross_entropy",
    "softmax_cross_entropy_simple", "softmax_simple", "sub", "sum", "sum_to", "tanh", "transpose",
]  # fmt: skip
