"""Convolution and pooling of pictures, shaped (batch, channels, height, width)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rushlight as rl

from ..base.arrays import Array
from ..operators.layers.conv_kernels import conv_grad_input, conv_grad_weight
from ..operators.layers.pool_kernels import max_pool_grad, pool_take
from ._arrays import common, compute, floating, later
from ._derived import Derived, real
from ._linear import linear
from .core import Function, Variable, as_variable
from .utils import get_conv_outsize, get_deconv_outsize, pair

if TYPE_CHECKING:
    from typing import TypeAlias

    from ..core.tensor import Tensor
    from .core import Operand

    Pair: TypeAlias = int | tuple[int, int]  # a number, or (height, width)

nn = rl.nn.functional


def _how(stride: Pair, pad: Pair) -> dict[str, Any]:
    return {"stride": pair(stride), "padding": pair(pad), "dilation": (1, 1), "groups": 1}


# -- convolution ----------------------------------------------------------------------------------
# Three Functions, each the derivative of the others, as rushlight's own three ops are.


class Conv2d(Function):
    """See `conv2d`: the Function that it calls."""

    def __init__(self, stride: Pair = 1, pad: Pair = 0) -> None:
        self.stride = pair(stride)
        self.pad = pair(pad)

    def _forward(self, x: Array, W: Array, b: Array | None) -> Any:
        x, W, b = common(floating(x), W, b)
        return later(nn.conv2d, x, W, b, self.stride, self.pad)

    def backward(self, gy: Variable) -> Any:
        x, W, b = self.inputs
        gx = gW = gb = None
        if self._wants(0):
            gx = deconv2d(gy, W, None, self.stride, self.pad, outsize=x.shape[2:])
        if self._wants(1):
            gW = Conv2DGradW(self)(x, gy)
        if b._data is not None and self._wants(2):
            gb = gy.sum(axis=(0, 2, 3))
        return gx, gW, gb


def conv2d(x: Operand, W: Operand, b: Operand | None = None, stride: Pair = 1, pad: Pair = 0) -> Variable:
    """The cross-correlation of x with W (out, in, height, width).

    Args:
        x: (N, in, height, width).
        W: (out, in, height, width).
        b: (out,), or None.
        stride, pad: numbers, or pairs (height, width).

    Example:
        >>> F.conv2d(np.ones((1, 1, 3, 3)), np.ones((1, 1, 2, 2))).data
        array([[[[4., 4.],
                 [4., 4.]]]])
    """
    return Conv2d(stride, pad)(x, W, b)


class Deconv2d(Function):
    """See `deconv2d`: the Function that it calls."""

    def __init__(self, stride: Pair = 1, pad: Pair = 0, outsize: tuple[int, int] | None = None) -> None:
        self.stride = pair(stride)
        self.pad = pair(pad)
        self.outsize = outsize

    def _forward(self, x: Array, W: Array, b: Array | None) -> Any:
        x, W, b = common(floating(x), W, b)
        size: Any = self.outsize
        if size is None:
            size = [
                get_deconv_outsize(n, k, s, p) for n, k, s, p in zip(x.shape[2:], W.shape[2:], self.stride, self.pad)
            ]
        shape = (x.shape[0], W.shape[1], *pair(tuple(size)))
        y = later(conv_grad_input, x, W, x_shape=shape, **_how(self.stride, self.pad))
        return y if b is None else later(lambda y, b: y + b.reshape(1, -1, 1, 1), y, b)

    def backward(self, gy: Variable) -> Any:
        x, W, b = self.inputs
        gx = gW = gb = None
        if self._wants(0):
            gx = conv2d(gy, W, None, self.stride, self.pad)
        if self._wants(1):
            gW = Conv2DGradW(self)(gy, x)
        if b._data is not None and self._wants(2):
            gb = gy.sum(axis=(0, 2, 3))
        return gx, gW, gb


def deconv2d(
    x: Operand,
    W: Operand,
    b: Operand | None = None,
    stride: Pair = 1,
    pad: Pair = 0,
    outsize: tuple[int, int] | None = None,
) -> Variable:
    """The transposed convolution of x with W (in, out, height, width).

    Args:
        x: (N, in, height, width).
        W: (in, out, height, width).
        b: (out,), or None.
        stride, pad: numbers, or pairs (height, width).
        outsize: the size of the result, where several are possible.

    Example:
        >>> F.deconv2d(np.ones((1, 1, 2, 2)), np.ones((1, 1, 2, 2))).data
        array([[[[1., 2., 1.],
                 [2., 4., 2.],
                 [1., 2., 1.]]]])
    """
    return Deconv2d(stride, pad, outsize)(x, W, b)


class Conv2DGradW(Function):
    """See `conv2d`: the Function of the gradient of W."""

    def __init__(self, conv2d: Conv2d | Deconv2d) -> None:
        self.w_shape = conv2d.inputs[1].shape
        self.stride = conv2d.stride
        self.pad = conv2d.pad

    def _forward(self, x: Array, gy: Array) -> Any:
        x, gy = common(x, gy)
        how = _how(self.stride, self.pad)
        return later(conv_grad_weight, gy, x, w_shape=self.w_shape, **how)

    def backward(self, ggW: Variable) -> Any:
        x, gy = self.inputs
        gx = ggy = None
        if self._wants(0):
            gx = deconv2d(gy, ggW, None, self.stride, self.pad, outsize=x.shape[2:])
        if self._wants(1):
            ggy = conv2d(x, ggW, None, self.stride, self.pad)
        return gx, ggy


def conv2d_simple(x: Any, W: Any, b: Operand | None = None, stride: Any = 1, pad: Any = 0) -> Variable:
    """As `conv2d`, by one matrix product of the windows."""
    x, W = as_variable(x), as_variable(W)
    n, oc = x.shape[0], W.shape[0]
    oh, ow = _out(x.shape[2:], W.shape[2:], pair(stride), pair(pad))
    col = im2col(x, W.shape[2:], stride, pad, to_matrix=True)
    y = linear(col, W.reshape(oc, -1).transpose(), b)
    return y.reshape(n, oh, ow, oc).transpose(0, 3, 1, 2)


def _out(size: Any, kernel: Any, stride: Any, pad: Any) -> list[int]:
    return [get_conv_outsize(*numbers) for numbers in zip(size, kernel, stride, pad)]


# -- pooling --------------------------------------------------------------------------------------


def _padded(x: Tensor, pad: Any) -> Any:
    """A tensor with zeros around the pictures: DeZero lets them take part in the maximum."""
    ph, pw = pad
    return nn.pad(x, (pw, pw, ph, ph)) if ph or pw else x


class Pooling(Function):
    """See `pooling`: the Function that it calls."""

    def __init__(self, kernel_size: Pair, stride: Pair = 1, pad: Pair = 0) -> None:
        self.kernel_size = pair(kernel_size)
        self.stride = pair(stride)
        self.pad = pair(pad)

    def forward(self, x: Array) -> Any:
        self.input_shape = x.shape
        self.dtype = x.dtype
        y, self.indexes = compute(self._pool, floating(x))
        return y

    def _pool(self, x: Any) -> Any:
        return nn.max_pool2d(_padded(x, self.pad), self.kernel_size, self.stride, return_indices=True)

    def padded_shape(self) -> tuple[int, ...]:
        """The shape of the picture that `indexes` count in."""
        n, c, h, w = self.input_shape
        return n, c, h + 2 * self.pad[0], w + 2 * self.pad[1]

    def backward(self, gy: Variable) -> Any:
        return Pooling2DGrad(self)(gy)


class Pooling2DGrad(Function):
    """See `pooling`: the Function of its gradient."""

    def __init__(self, mpool2d: Pooling) -> None:
        self.mpool2d = mpool2d

    def forward(self, gy: Array) -> Any:
        pool = self.mpool2d
        overlap = any(s < k for s, k in zip(pool.stride, pool.kernel_size))
        shape = pool.padded_shape()
        gx = compute(max_pool_grad, gy, pool.indexes, x_shape=shape, overlap=overlap)
        (ph, pw), (_, _, h, w) = pool.pad, pool.input_shape
        return gx[:, :, ph : ph + h, pw : pw + w] if ph or pw else gx

    def backward(self, ggx: Variable) -> Any:
        return Pooling2DWithIndexes(self.mpool2d)(ggx)


class Pooling2DWithIndexes(Function):
    """See `pooling`: the Function of the gradient's gradient."""

    def __init__(self, mpool2d: Pooling) -> None:
        self.mpool2d = mpool2d

    def forward(self, x: Array) -> Any:
        pool = self.mpool2d
        return compute(lambda t, i: pool_take(_padded(t, pool.pad), i), x, pool.indexes)

    def backward(self, ggy: Variable) -> Any:
        return Pooling2DGrad(self.mpool2d)(ggy)


def pooling(x: Operand, kernel_size: Pair, stride: Pair = 1, pad: Pair = 0) -> Variable:
    """The largest element of every window.

    Args:
        x: (N, channels, height, width).
        kernel_size: a number, or a pair (height, width).
        stride: the same.
        pad: zeros around the pictures, the same.

    Example:
        >>> F.pooling(np.arange(16.0).reshape(1, 1, 4, 4), 2, 2).data
        array([[[[ 5.,  7.],
                 [13., 15.]]]])
    """
    return Pooling(kernel_size, stride, pad)(x)


def pooling_simple(x: Operand, kernel_size: Pair, stride: Pair = 1, pad: Pair = 0) -> Variable:
    """As `pooling`, by the maximum over the windows laid out in rows."""
    x = as_variable(x)
    n, c = x.shape[:2]
    kh, kw = pair(kernel_size)
    oh, ow = _out(x.shape[2:], (kh, kw), pair(stride), pair(pad))
    col = im2col(x, kernel_size, stride, pad, to_matrix=True).reshape(-1, kh * kw)
    return col.max(axis=1).reshape(n, oh, ow, c).transpose(0, 3, 1, 2)


class AveragePooling(Derived):
    """See `average_pooling`: the Function that it calls."""

    def __init__(self, kernel_size: Pair, stride: Pair = 1, pad: Pair = 0) -> None:
        self.kernel_size = pair(kernel_size)
        self.stride = pair(stride)
        self.pad = pair(pad)

    def compute(self, x: Tensor) -> Any:
        return nn.avg_pool2d(_padded(real(x), self.pad), self.kernel_size, self.stride)


def average_pooling(x: Operand, kernel_size: Pair, stride: Pair = 1, pad: Pair = 0) -> Variable:
    """As `pooling`: the mean of every window, zeros of the padding included."""
    return AveragePooling(kernel_size, stride, pad)(x)


# -- windows --------------------------------------------------------------------------------------


def im2col_array(img: Array, kernel_size: Pair, stride: Pair, pad: Pair, to_matrix: bool = True) -> Any:
    """The windows of pictures (N, C, H, W) as (N, C, KH, KW, OH, OW), or one window in each row."""
    kernel, step, border = pair(kernel_size), pair(stride), pair(pad)
    n, c = img.shape[:2]
    oh, ow = _out(img.shape[2:], kernel, step, border)
    col = compute(nn.unfold, img, kernel, padding=border, stride=step)
    col = col.reshape(n, c, *kernel, oh, ow)
    return col.transpose(0, 4, 5, 1, 2, 3).reshape(n * oh * ow, -1) if to_matrix else col


def col2im_array(
    col: Array, img_shape: tuple[int, ...], kernel_size: Pair, stride: Pair, pad: Pair, to_matrix: bool = True
) -> Any:
    """Windows added up where they came from: the adjoint of `im2col_array`."""
    kernel, step, border = pair(kernel_size), pair(stride), pair(pad)
    n, c, h, w = img_shape
    oh, ow = _out((h, w), kernel, step, border)
    if to_matrix:
        col = col.reshape(n, oh, ow, c, *kernel).transpose(0, 3, 4, 5, 1, 2)
    col = col.reshape(n, c * kernel[0] * kernel[1], oh * ow)
    return compute(nn.fold, col, (h, w), kernel, padding=border, stride=step)


class Im2col(Function):
    """See `im2col`: the Function that it calls."""

    def __init__(self, kernel_size: Pair, stride: Pair, pad: Pair, to_matrix: bool) -> None:
        self.kernel_size = kernel_size
        self.stride = stride
        self.pad = pad
        self.to_matrix = to_matrix

    def forward(self, x: Array) -> Any:
        return im2col_array(x, self.kernel_size, self.stride, self.pad, self.to_matrix)

    def backward(self, gy: Variable) -> Any:
        shape = self.inputs[0].shape
        return col2im(gy, shape, self.kernel_size, self.stride, self.pad, self.to_matrix)


class Col2im(Function):
    """See `col2im`: the Function that it calls."""

    def __init__(
        self, input_shape: tuple[int, ...], kernel_size: Pair, stride: Pair, pad: Pair, to_matrix: bool
    ) -> None:
        self.input_shape = input_shape
        self.kernel_size = kernel_size
        self.stride = stride
        self.pad = pad
        self.to_matrix = to_matrix

    def forward(self, x: Array) -> Any:
        shape = self.input_shape
        return col2im_array(x, shape, self.kernel_size, self.stride, self.pad, self.to_matrix)

    def backward(self, gy: Variable) -> Any:
        return im2col(gy, self.kernel_size, self.stride, self.pad, self.to_matrix)


def im2col(x: Operand, kernel_size: Pair, stride: Pair = 1, pad: Pair = 0, to_matrix: bool = True) -> Variable:
    """The windows of x, one in each row, or as (N, C, KH, KW, OH, OW).

    Args:
        x: (N, channels, height, width).
        kernel_size: a number, or a pair (height, width).
        stride: the same.
        pad: zeros around the pictures, the same.
        to_matrix: one window in each row.

    Example:
        >>> F.im2col(np.arange(9.0).reshape(1, 1, 3, 3), 2).data
        array([[0., 1., 3., 4.],
               [1., 2., 4., 5.],
               [3., 4., 6., 7.],
               [4., 5., 7., 8.]])
    """
    return Im2col(kernel_size, stride, pad, to_matrix)(x)


def col2im(
    x: Operand, input_shape: tuple[int, ...], kernel_size: Pair, stride: Pair = 1, pad: Pair = 0, to_matrix: bool = True
) -> Variable:
    """Windows added up into pictures of `input_shape`.

    Args:
        x: windows, as `im2col` gives them.
        input_shape: (N, channels, height, width).
        kernel_size: a number, or a pair (height, width).
        stride: the same.
        pad: zeros around the pictures, the same.
        to_matrix: one window in each row.

    Example:
        >>> F.col2im(np.ones((4, 4)), (1, 1, 3, 3), 2).data
        array([[[[1., 2., 1.],
                 [2., 4., 2.],
                 [1., 2., 1.]]]])
    """
    return Col2im(input_shape, kernel_size, stride, pad, to_matrix)(x)
