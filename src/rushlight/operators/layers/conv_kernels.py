"""The three n-d convolution ops, each the derivative of the others, as products of patches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product as offsets
from math import prod
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule
from ...base.shapes import window_count
from ...core.op import Op
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.precision import rounds
from ..pointwise.arithmetic import conj

# Patches are built for a few images at a time: larger buffers fall out of the caches and, at batch
# 128, would take hundreds of megabytes.
_PATCH_BYTES = 1 << 25

Dims = tuple[int, ...]


# -- patches ------------------------------------------------------------------------------------


def pad_zeros(xp: ArrayModule, x: Array, padding: Dims) -> Any:
    """`x` with zeros around its spatial dims."""
    if not any(padding):
        return x
    shape = x.shape[:2] + tuple([n + 2 * p for n, p in zip(x.shape[2:], padding)])
    out = xp.zeros(shape, x.dtype)
    out[_inside(x.shape[2:], padding)] = x
    return out


def _inside(size: Dims, padding: Dims) -> tuple:
    return (slice(None), slice(None), *[slice(p, p + n) for n, p in zip(size, padding)])


def windows(xp: ArrayModule, x: Array, kernel: Dims, stride: Dims, dilation: Dims) -> Any:
    """A view of padded `x` (N, C, *size) as (C, *kernel, N, *out)."""
    size = window_count(x.shape[2:], kernel, stride, (0,) * len(kernel), dilation)
    steps = x.strides[2:]
    return xp.lib.stride_tricks.as_strided(
        x,
        (x.shape[1], *kernel, x.shape[0], *size),
        (
            x.strides[1],
            *[t * d for t, d in zip(steps, dilation)],
            x.strides[0],
            *[t * s for t, s in zip(steps, stride)],
        ),
    )


@lru_cache(maxsize=1024)
def places(kernel: Dims, out: Dims, stride: Dims, dilation: Dims) -> tuple:
    """For every offset of a kernel, the slices of a padded input that it touches for `out` outputs."""
    found = []
    for offset in offsets(*map(range, kernel)):
        slices = [slice(o * d, o * d + s * (n - 1) + 1, s) for o, n, s, d in zip(offset, out, stride, dilation)]
        found.append((offset, (slice(None), slice(None), *slices)))
    return tuple(found)


def _chunks(images: int, bytes_each: int) -> Iterator[slice]:
    step = max(1, _PATCH_BYTES // max(1, bytes_each))
    for start in range(0, images, step):
        yield slice(start, min(start + step, images))


def _wide(x: Array) -> Any:
    """Half precision as float32, in which it is computed."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and x.dtype.kind in "fV" else x


def _is_pointwise(kernel: Dims, stride: Dims, padding: Dims) -> bool:
    return prod(kernel) == 1 and prod(stride) == 1 and not any(padding)


# -- conv ---------------------------------------------------------------------------------------


@rounds("0")
def _conv(
    xp: ArrayModule, x: Array, w: Array, b: Array | None, *, stride: Dims, padding: Dims, dilation: Dims, groups: int
) -> Any:
    """Cross-correlation of x (N, C, *size) with w (O, C / groups, *kernel)."""
    dtype = x.dtype
    x, w = _wide(x), _wide(w)
    kernel = w.shape[2:]
    size = window_count(x.shape[2:], kernel, stride, padding, dilation)
    shape = (x.shape[0], w.shape[0], *size)
    if 0 in shape or 0 in w.shape:
        out = xp.zeros(shape, x.dtype)
    elif groups == 1 and _is_pointwise(kernel, stride, padding):
        flat = x.reshape(x.shape[0], x.shape[1], -1)
        out = xp.matmul(w.reshape(w.shape[0], -1), flat).reshape(shape)
    elif w.shape[1] == 1 and groups > 1:
        out = _depthwise(xp, pad_zeros(xp, x, padding), w, size, stride, dilation)
    else:
        out = _conv_by_patches(xp, pad_zeros(xp, x, padding), w, size, stride, dilation, groups)
    if b is not None:
        out += b.astype(out.dtype, copy=False).reshape((1, -1) + (1,) * len(kernel))
    return out.astype(dtype, copy=False)


def _conv_by_patches(xp: ArrayModule, x: Array, w: Array, size: Dims, stride: Dims, dilation: Dims, groups: int) -> Any:
    n, o, kernel = x.shape[0], w.shape[0], w.shape[2:]
    out = xp.empty((n, o, *size), x.dtype)
    rows = w.reshape(groups, o // groups, -1)
    for part in _chunks(n, x.shape[1] * prod(kernel) * prod(size) * x.itemsize):
        patches = windows(xp, x[part], kernel, stride, dilation).reshape(groups, rows.shape[2], -1)
        result = xp.matmul(rows, patches).reshape(o, -1, *size)
        out[part] = result.swapaxes(0, 1)
    return out


def _depthwise(xp: ArrayModule, x: Array, w: Array, size: Dims, stride: Dims, dilation: Dims) -> Any:
    """One input channel per group: a multiply-add per kernel offset is quicker than tiny products."""
    o, kernel = w.shape[0], w.shape[2:]
    if o != x.shape[1]:
        x = xp.repeat(x, o // x.shape[1], axis=1)
    out = xp.zeros((x.shape[0], o, *size), x.dtype)
    for offset, place in places(kernel, size, stride, dilation):
        column = w[(slice(None), 0, *offset)].reshape((o,) + (1,) * len(kernel))
        out += x[place] * column
    return out


conv_op = Op(
    _conv,
    "conv",
    grad_name="ConvolutionBackward0",
    meta=lambda x, w, b, *, stride, padding, dilation, groups: (
        (x.shape[0], w.shape[0], *window_count(x.shape[2:], w.shape[2:], stride, padding, dilation)),
        x.dtype,
    ),
    facts=Facts(
        vmap="conv",
        layout="of_either",
        autocast="low",
        aten="convolution conv",
        onnx="conv",
        family="convolution",
        images=(2, 1),
    ),
)


# -- the gradient of the input ------------------------------------------------------------------


@rounds("0")
def _conv_grad_input(
    xp: ArrayModule, gy: Array, w: Array, *, x_shape: Dims, stride: Dims, padding: Dims, dilation: Dims, groups: int
) -> Any:
    """The gradient of x, of shape `x_shape`; also the transposed convolution."""
    dtype = gy.dtype
    gy, w = _wide(gy), _wide(w)
    kernel, size = w.shape[2:], gy.shape[2:]
    if 0 in gy.shape or 0 in w.shape or 0 in x_shape:
        return xp.zeros(x_shape, dtype)
    if groups == 1 and _is_pointwise(kernel, stride, padding) and size == tuple(x_shape[2:]):
        flat = gy.reshape(gy.shape[0], gy.shape[1], -1)
        return xp.matmul(w.reshape(w.shape[0], -1).T, flat).reshape(x_shape).astype(dtype, copy=False)
    padded = x_shape[:2] + tuple([n + 2 * p for n, p in zip(x_shape[2:], padding)])
    gx = xp.zeros(padded, gy.dtype)
    columns = w.reshape(groups, w.shape[0] // groups, -1).swapaxes(1, 2)
    where = places(kernel, size, stride, dilation)
    for part in _chunks(gy.shape[0], x_shape[1] * prod(kernel) * prod(size) * gy.itemsize):
        flat = gy[part].swapaxes(0, 1).reshape(groups, w.shape[0] // groups, -1)
        patches = xp.matmul(columns, flat).reshape(x_shape[1], *kernel, -1, *size)
        target = gx[part]
        for offset, place in where:
            target[place] += patches[(slice(None), *offset)].swapaxes(0, 1)
    if any(padding):
        gx = xp.ascontiguousarray(gx[_inside(x_shape[2:], padding)])
    return gx.astype(dtype, copy=False)


conv_grad_input = Op(
    _conv_grad_input,
    "conv_grad_input",
    grad_name="ConvolutionBackward0",
    meta=lambda gy, w, *, x_shape, **attrs: (x_shape, gy.dtype),
    facts=Facts(
        vmap="conv_grad_input",
        layout="of_either",
        autocast="low",
        aten="convolution_backward transposed_or_grad",
        onnx="conv_transpose",
        family="convolution",
        images=(2, 1),
    ),
)


# -- the gradient of the weight -----------------------------------------------------------------


@rounds("0")
def _conv_grad_weight(
    xp: ArrayModule, gy: Array, x: Array, *, w_shape: Dims, stride: Dims, padding: Dims, dilation: Dims, groups: int
) -> Any:
    """The gradient of w, of shape `w_shape`."""
    dtype = gy.dtype
    gy, x = _wide(gy), _wide(x)
    kernel, size, o = w_shape[2:], gy.shape[2:], w_shape[0]
    if 0 in gy.shape or 0 in w_shape:
        return xp.zeros(w_shape, dtype)
    x = pad_zeros(xp, x, padding)
    if w_shape[1] == 1 and groups > 1:
        return _depthwise_weight(xp, gy, x, w_shape, stride, dilation).astype(dtype, copy=False)
    gw: Any = None
    for part in _chunks(gy.shape[0], x.shape[1] * prod(kernel) * prod(size) * gy.itemsize):
        patches = _exact_windows(xp, x[part], kernel, size, stride, dilation)
        patches = patches.reshape(groups, w_shape[1] * prod(kernel), -1)
        flat = gy[part].swapaxes(0, 1).reshape(groups, o // groups, -1)
        term = xp.matmul(flat, patches.swapaxes(1, 2))
        gw = term if gw is None else gw + term
    return gw.reshape(w_shape).astype(dtype, copy=False)


def _exact_windows(xp: ArrayModule, x: Array, kernel: Dims, size: Dims, stride: Dims, dilation: Dims) -> Any:
    """As `windows`, cut to the number of outputs there are gradients for."""
    view = windows(xp, x, kernel, stride, dilation)
    return view[(..., slice(None), *[slice(n) for n in size])]


def _depthwise_weight(xp: ArrayModule, gy: Array, x: Array, w_shape: Dims, stride: Dims, dilation: Dims) -> Any:
    o, kernel, size = w_shape[0], w_shape[2:], gy.shape[2:]
    if o != x.shape[1]:
        x = xp.repeat(x, o // x.shape[1], axis=1)
    gw = xp.empty(w_shape, gy.dtype)
    axes = (0, *range(2, gy.ndim))
    for offset, place in places(kernel, size, stride, dilation):
        gw[(slice(None), 0, *offset)] = (gy * x[place]).sum(axis=axes)
    return gw


conv_grad_weight = Op(
    _conv_grad_weight,
    "conv_grad_weight",
    grad_name="ConvolutionBackward0",
    meta=lambda gy, x, *, w_shape, **attrs: (w_shape, gy.dtype),
    facts=Facts(
        vmap="conv_grad_weight",
        autocast="low",
        aten="convolution_backward conv_grad weight",
        family="convolution",
        images=(2, 1),
    ),
)


# -- the gradients of the weight and the bias together ------------------------------------------


def _conv_grads(xp: ArrayModule, gy: Any, x: Any, *, w_shape: Dims, **how: Any) -> tuple:
    """The gradients of w and bias, for devices that compute both in one pass over gy."""
    sums = _wide(gy).sum(axis=(0, *range(2, gy.ndim)))
    return _conv_grad_weight(xp, gy, x, w_shape=w_shape, **how), sums.astype(gy.dtype, copy=False)


conv_grads = Op(
    _conv_grads,
    "conv_grads",
    grad_name="ConvolutionBackward0",
    meta=lambda gy, x, *, w_shape, **how: [(w_shape, gy.dtype), (w_shape[:1], gy.dtype)],
    facts=Facts(vmap="conv_grad_weight", aten="convolution_backward conv_grad weight bias", family="convolution"),
)


# -- how they are each other's derivatives --------------------------------------------------------


def _cut(y: Tensor, shape: Dims) -> Tensor:
    """Cut the outputs that exist only because `output_padding` is larger than the stride."""
    if y._a.shape == shape:
        return y
    return y[tuple([slice(n) for n in shape])]


def _how(stride: Dims, padding: Dims, dilation: Dims, groups: int) -> dict[str, Any]:
    return {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}


conv_op.derivative(
    x=lambda g, w, x_shape, stride, padding, dilation, groups: conv_grad_input(
        g, conj(w), x_shape=x_shape, **_how(stride, padding, dilation, groups)
    ),
    w=lambda g, x, w_shape, stride, padding, dilation, groups: conv_grad_weight(
        g, conj(x), w_shape=w_shape, **_how(stride, padding, dilation, groups)
    ),
    b=lambda g: g.sum((0, *range(2, g._a.ndim))),
)
conv_grad_input.derivative(
    gy=lambda g, w, gy_shape, stride, padding, dilation, groups: _cut(
        conv_op(g, conj(w), None, **_how(stride, padding, dilation, groups)), gy_shape
    ),
    w=lambda g, gy, w_shape, stride, padding, dilation, groups: conv_grad_weight(
        conj(gy), g, w_shape=w_shape, **_how(stride, padding, dilation, groups)
    ),
)
conv_grad_weight.derivative(
    gy=lambda g, x, gy_shape, stride, padding, dilation, groups: _cut(
        conv_op(conj(x), g, None, **_how(stride, padding, dilation, groups)), gy_shape
    ),
    x=lambda g, gy, x_shape, stride, padding, dilation, groups: conv_grad_input(
        conj(gy), g, x_shape=x_shape, **_how(stride, padding, dilation, groups)
    ),
)


@conv_op.together("w", "b")
def _conv_dw_db(g: Tensor, x: Tensor, w_shape: Dims, stride: Dims, padding: Dims, dilation: Dims, groups: int) -> tuple:
    how = _how(stride, padding, dilation, groups)
    if conv_grads.joins(x):
        return conv_grads(g, conj(x), w_shape=w_shape, **how)
    return conv_grad_weight(g, conj(x), w_shape=w_shape, **how), g.sum((0, *range(2, g._a.ndim)))


@conv_grads.backward
def _conv_grads_backward(
    gs: list, gy: Tensor, x: Tensor, needs: list, stride: Dims, padding: Dims, dilation: Dims, groups: int
) -> tuple:
    how = _how(stride, padding, dilation, groups)
    shape = gy._a.shape
    to_gy = to_x = None
    if gs[0] is not None:
        if needs[0]:
            to_gy = _cut(conv_op(conj(x), gs[0], gs[1], **how), shape)
        if needs[1]:
            to_x = conv_grad_input(conj(gy), gs[0], x_shape=x._a.shape, **how)
    elif gs[1] is not None and needs[0]:
        to_gy = gs[1].reshape((1, -1) + (1,) * (len(shape) - 2)).expand(shape)
    return to_gy, to_x
