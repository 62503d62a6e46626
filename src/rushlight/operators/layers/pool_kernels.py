"""Pooling over windows: the n-d ops for maxima and means with their derivatives."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...core.op import Op
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..made_of.constants import table
from ..made_of.precision import rounds
from .conv_kernels import Dims, places


def pool_size(size: Dims, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims, ceil_mode: bool) -> Dims:
    """The spatial size of a pooling's result; ceil mode drops windows that start in the padding."""
    out = []
    for n, k, s, p, d in zip(size, kernel, stride, padding, dilation):
        room = n + 2 * p - d * (k - 1) - 1
        if ceil_mode:
            m = -(-room // s) + 1
            if (m - 1) * s >= n + p:
                m -= 1
        else:
            m = room // s + 1
        out.append(m)
    return tuple(out)


def _padded(
    xp: ArrayModule, x: Array, fill: Any, out: Dims, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims
) -> Any:
    """`x` surrounded by `fill` so that every window of `out` lies inside."""
    tails = [
        max(0, (m - 1) * s + d * (k - 1) + 1 - n - p)
        for m, s, d, k, n, p in zip(out, stride, dilation, kernel, x.shape[2:], padding)
    ]
    if not any(padding) and not any(tails):
        return x
    size = [p + n + t for p, n, t in zip(padding, x.shape[2:], tails)]
    big = xp.full((*x.shape[:2], *size), fill, x.dtype)
    big[(..., *[slice(p, p + n) for p, n in zip(padding, x.shape[2:])])] = x
    return big


# -- max ----------------------------------------------------------------------------------------


def _lowest(dtype: Any) -> Any:
    return -np.inf if dtype.kind in "fV" else np.iinfo(dtype).min


@rounds("0-")
def _max_pool(
    xp: ArrayModule, x: Array, *, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims, ceil_mode: bool
) -> Any:
    """The maximum of every window of x (N, C, *size), and its flat position in its own image."""
    size = x.shape[2:]
    out = pool_size(size, kernel, stride, padding, dilation, ceil_mode)
    big = _padded(xp, x, _lowest(x.dtype), out, kernel, stride, padding, dilation)
    starts, first, steps = _positions(size, out, kernel, stride, padding, dilation)
    starts = table(xp, starts)
    best: Any = None
    index: Any = None
    for (_, place), step in zip(places(kernel, out, stride, dilation), steps):
        seen = big[place]
        if best is None:
            best = seen
            index = xp.broadcast_to(table(xp, first), seen.shape)
            continue
        # NaN counts as the largest, and of several the last is taken, as in PyTorch.
        better = seen > best
        if x.dtype.kind in "fV":
            better |= seen != seen
        index = xp.where(better, starts + np.int32(step), index)
        # where() and maximum() are three times as quick as masked copies.
        best = xp.maximum(best, seen)
    if best.base is not None:
        best = best.copy()
    return best, index.astype(np.int64)


@lru_cache(maxsize=256)
def _positions(
    size: Dims, out: Dims, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims
) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Flat positions: of the windows' corners, of their first elements inside, and the steps."""
    starts = first = np.zeros((), np.int64)
    steps = np.zeros((), np.int64)
    for n, m, k, s, p, d in zip(size, out, kernel, stride, padding, dilation):
        at = np.arange(m) * s - p
        inside = np.where(at < 0, at % d, at)
        starts = starts[..., None] * n + at
        first = first[..., None] * n + inside
        steps = steps[..., None] * n + np.arange(k) * d
    return starts.astype(np.int32), first.astype(np.int32), tuple(steps.ravel().tolist())


def _max_pool_meta(x: Shaped, *, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims, ceil_mode: bool) -> list:
    out = pool_size(x.shape[2:], kernel, stride, padding, dilation, ceil_mode)
    shape = (*x.shape[:2], *out)
    return [(shape, x.dtype), (shape, np.dtype(np.int64))]


max_pool = Op(
    _max_pool,
    "max_pool",
    grad_name=lambda attrs: f"MaxPool{len(attrs['kernel'])}DWithIndicesBackward0",
    meta=_max_pool_meta,
    facts=Facts(
        vmap="more_rows",
        layout="image",
        aten="max_pool2d_with_indices pooled",
        onnx="max_pool",
        family="pool",
        images=(1, 2),
    ),
)


def _rows(xp: ArrayModule, index: Array, length: int) -> Any:
    """Positions in each image as positions in the whole flattened array."""
    flat = index.reshape(index.shape[0] * index.shape[1], -1)
    return (flat + xp.arange(flat.shape[0])[:, None] * length).reshape(-1)


def _max_pool_grad(xp: ArrayModule, gy: Array, index: Array, *, x_shape: Dims, overlap: bool) -> Any:
    """Send every gradient to the place its maximum came from."""
    gx = xp.zeros(prod(x_shape), gy.dtype)
    if gy.size:
        where = _rows(xp, index, prod(x_shape[2:]))
        if overlap:
            xp.add.at(gx, where, gy.reshape(-1))
        else:
            gx[where] = gy.reshape(-1)
    return gx.reshape(x_shape)


def _pool_take(xp: ArrayModule, x: Array, index: Array) -> Any:
    """The elements of x (N, C, *size) at the flat positions of `index` (N, C, *out)."""
    if not index.size:
        return xp.zeros(index.shape, x.dtype)
    return x.reshape(-1)[_rows(xp, index, prod(x.shape[2:]))].reshape(index.shape)


max_pool_grad = Op(
    _max_pool_grad, "max_pool_grad", moves_only=True,
    meta=lambda gy, index, *, x_shape, overlap: (x_shape, gy.dtype), facts=Facts(refuses="checked", vmap="pool_grad", aten="max_pool2d_with_indices_backward", family="pool", images=(2, 1)),
)  # fmt: skip
pool_take = Op(
    _pool_take,
    "pool_take",
    moves_only=True,
    meta=lambda x, index: (index.shape, x.dtype),
    facts=Facts(refuses="checked", vmap="more_rows"),
)
max_pool_grad.derivative(gy=lambda g, index: pool_take(g, index))
pool_take.derivative(x=lambda g, index, x_shape: max_pool_grad(g, index, x_shape=x_shape, overlap=True))


@max_pool.backward
def _max_pool_backward(g: Any, out1: Tensor, x_shape: Dims, kernel: Dims, stride: Dims, dilation: Dims) -> tuple:
    if g is None:
        return (None,)
    overlap = _overlaps(kernel, stride, dilation)
    return (max_pool_grad(g, out1, x_shape=x_shape, overlap=overlap),)


@lru_cache(maxsize=256)
def _overlaps(kernel: Dims, stride: Dims, dilation: Dims) -> bool:
    return any(s < d * (k - 1) + 1 for s, d, k in zip(stride, dilation, kernel))


# -- mean ---------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _counts(size: Dims, out: Dims, kernel: Dims, stride: Dims, padding: Dims, include_pad: bool) -> Any:
    """What each window's sum is divided by: an array, or an int if it is the same for all."""
    total: Any = np.ones((), np.int64)
    for n, m, k, s, p in zip(size, out, kernel, stride, padding):
        start = np.arange(m) * s - p
        end = np.minimum(start + k, n + p)
        if not include_pad:
            start, end = np.maximum(start, 0), np.minimum(end, n)
        total = total[..., None] * (end - start)
    same = total.size and (total == total.flat[0]).all()
    return int(total.flat[0]) if same else total


def _divisors(xp: ArrayModule, size: Dims, out: Dims, kernel: Dims, stride: Dims, padding: Dims,
              include_pad: bool, divisor: int | None, dtype: Any) -> Any:  # fmt: skip
    if divisor is not None:
        return divisor
    counts = _counts(tuple(size), tuple(out), kernel, stride, padding, include_pad)
    return table(xp, counts.astype(dtype)) if isinstance(counts, np.ndarray) else counts


@rounds("0")
def _avg_pool(xp: ArrayModule, x: Array, *, kernel: Dims, stride: Dims, padding: Dims, ceil_mode: bool,
              include_pad: bool, divisor: int | None) -> Any:  # fmt: skip
    """The mean of every window of x (N, C, *size)."""
    dtype = x.dtype
    if dtype.itemsize == 2:
        x = x.astype(np.float32)
    one = (1,) * len(kernel)
    out = pool_size(x.shape[2:], kernel, stride, padding, one, ceil_mode)
    big = _padded(xp, x, 0, out, kernel, stride, padding, one)
    total = None
    for _, place in places(kernel, out, stride, one):
        if total is None:
            total = big[place].copy()
        else:
            total += big[place]
    by = _divisors(xp, x.shape[2:], out, kernel, stride, padding, include_pad, divisor, x.dtype)
    if dtype.kind == "i":  # rounded towards zero, as C divides
        return xp.sign(total) * xp.sign(by) * (xp.abs(total) // xp.abs(by))
    return (total / by).astype(dtype, copy=False)


@rounds("0")
def _avg_pool_grad(xp: ArrayModule, gy: Array, *, x_shape: Dims, kernel: Dims, stride: Dims, padding: Dims,
                   ceil_mode: bool, include_pad: bool, divisor: int | None) -> Any:  # fmt: skip
    """Spread every gradient evenly over its window."""
    dtype = gy.dtype
    if dtype.itemsize == 2:
        gy = gy.astype(np.float32)
    size, out, one = x_shape[2:], gy.shape[2:], (1,) * len(kernel)
    by = _divisors(xp, size, out, kernel, stride, padding, include_pad, divisor, gy.dtype)
    share = gy / by
    reach = [max(p + n, (m - 1) * s + k) for p, n, m, s, k in zip(padding, size, out, stride, kernel)]
    gx = xp.zeros((*x_shape[:2], *reach), gy.dtype)
    for _, place in places(kernel, out, stride, one):
        gx[place] += share
    inside = gx[(..., *[slice(p, p + n) for p, n in zip(padding, size)])]
    return xp.ascontiguousarray(inside).astype(dtype, copy=False)


def _avg_pool_meta(x: Any, *, kernel: Dims, stride: Dims, padding: Dims, ceil_mode: bool, **attrs: Any) -> tuple:
    out = pool_size(x.shape[2:], kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    return (*x.shape[:2], *out), x.dtype


avg_pool = Op(
    _avg_pool,
    "avg_pool",
    grad_name=lambda attrs: f"AvgPool{len(attrs['kernel'])}DBackward0",
    meta=_avg_pool_meta,
    facts=Facts(
        vmap="more_rows", layout="image", aten="avg_pool2d averaged", onnx="avg_pool", family="pool", images=(1, 1)
    ),
)
avg_pool_grad = Op(
    _avg_pool_grad,
    "avg_pool_grad",
    meta=lambda gy, *, x_shape, **attrs: (x_shape, gy.dtype),
    facts=Facts(vmap="pool_grad", aten="avg_pool2d_backward", family="pool", images=(1, 1)),
)


@avg_pool.backward
def _avg_pool_backward(g: Tensor, x_shape: Dims, kernel: Dims, stride: Dims, padding: Dims,
                       ceil_mode: bool, include_pad: bool, divisor: Any) -> tuple:  # fmt: skip
    grad = avg_pool_grad(
        g, x_shape=x_shape, kernel=kernel, stride=stride, padding=padding, ceil_mode=ceil_mode,
        include_pad=include_pad, divisor=divisor,
    )  # fmt: skip
    return (grad,)


@avg_pool_grad.backward
def _avg_pool_grad_backward(g: Tensor, kernel: Dims, stride: Dims, padding: Dims, ceil_mode: bool,
                            include_pad: bool, divisor: Any) -> tuple:  # fmt: skip
    grad = avg_pool(
        g, kernel=kernel, stride=stride, padding=padding, ceil_mode=ceil_mode, include_pad=include_pad, divisor=divisor
    )
    return (grad,)
