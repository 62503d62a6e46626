"""Adaptive pooling: windows that follow from the wanted output size."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from ...base.arrays import Array, ArrayModule, Shaped
from ...core.op import Op
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..image.resample_kernels import mean_windows
from ..made_of.constants import table
from ..made_of.guards import check_kind, only_for
from .conv_kernels import Dims
from .pool_kernels import avg_pool, max_pool, max_pool_grad


def averaged(x: Tensor, size: Dims) -> Tensor:
    """The adaptive mean of x (N, C, *n); equal windows are ordinary average pooling."""
    check_kind(x, "fV", "adaptive_avg_pool2d")
    given = x._a.shape[2:]
    if given == size:
        return x.clone()
    if 0 not in size and all(n % m == 0 for n, m in zip(given, size)):
        if prod(size) == 1:
            return x.mean(tuple(range(2, x._a.ndim)), keepdim=True)
        kernel = tuple([n // m for n, m in zip(given, size)])
        return avg_pool(
            x, kernel=kernel, stride=kernel, padding=(0,) * len(size), ceil_mode=False, include_pad=True, divisor=None
        )
    for i, m in enumerate(size):  # a mean over a box is a mean of means along its sides
        x = mean_windows(x, 2 + i, m)
    return x


def last_of_nans(xp: ArrayModule, seen: Array, best: Array) -> Any:
    """The places of maxima along the last axis: of several NaNs the last, where argmax takes the first."""
    if xp is np:
        values = xp.take_along_axis(seen, best[..., None], axis=-1)
        if not xp.isnan(values).any():
            return best
    nans = xp.isnan(seen)
    last = seen.shape[-1] - 1 - nans[..., ::-1].argmax(axis=-1)
    return xp.where(nans.any(axis=-1), last, best)


def _windows(n: int, m: int) -> np.ndarray:
    """The positions in each of m windows over n, (m, longest); short ones repeat their last."""
    i = np.arange(m)
    start, end = i * n // max(m, 1), -(-(i + 1) * n // max(m, 1))
    deep = int((end - start).max(initial=1))
    return np.minimum(start[:, None] + np.arange(deep), np.maximum(end[:, None] - 1, 0))


@only_for("fV", "adaptive_max_pool2d")
def _adaptive_max(xp: ArrayModule, x: Array, *, size: Dims) -> Any:
    """The maximum over adaptive windows of x (N, C, *n), and its flat position."""
    given, dims = x.shape[2:], len(size)
    if 0 in size:
        empty = (*x.shape[:2], *size)
        return xp.zeros(empty, x.dtype), xp.zeros(empty, np.int64)
    windows = [_windows(n, m) for n, m in zip(given, size)]
    flat = np.zeros((1,) * (2 * dims), np.int64)
    for i, window in enumerate(windows):  # axes: the windows, then the places in a window
        shape = [1] * (2 * dims)
        shape[i], shape[dims + i] = window.shape
        flat = flat * given[i] + window.reshape(shape)
    places = table(xp, flat.reshape(*size, -1))
    seen = x.reshape(*x.shape[:2], prod(given))[:, :, places]
    best = last_of_nans(xp, seen, seen.argmax(axis=-1))[..., None]
    index = xp.take_along_axis(xp.broadcast_to(places, seen.shape), best, axis=-1)[..., 0]
    return xp.take_along_axis(seen, best, axis=-1)[..., 0], index


def _adaptive_max_meta(x: Shaped, *, size: Dims) -> list:
    shape = (*x.shape[:2], *size)
    return [(shape, x.dtype), (shape, np.dtype(np.int64))]


_adaptive_max_op = Op(
    _adaptive_max, "adaptive_max_pool", grad_name=lambda attrs: f"AdaptiveMaxPool{len(attrs['size'])}DBackward0",
    meta=_adaptive_max_meta, facts=Facts(vmap="more_rows", onnx="adaptive_max_pool"),
)  # fmt: skip


@_adaptive_max_op.backward
def _adaptive_max_backward(g: Any, out1: Tensor, x_shape: Dims) -> tuple:
    if g is None:
        return (None,)
    return (max_pool_grad(g, out1.detach(), x_shape=x_shape, overlap=True),)


def adaptive_max(x: Tensor, size: Dims) -> tuple[Tensor, Tensor]:
    """Values and positions; equal windows are ordinary max pooling."""
    given = x._a.shape[2:]
    if 0 not in size and 0 not in given and all(n % m == 0 for n, m in zip(given, size)):
        kernel = tuple([n // m for n, m in zip(given, size)])
        ones, zeros = (1,) * len(size), (0,) * len(size)
        return max_pool(x, kernel=kernel, stride=kernel, padding=zeros, dilation=ones, ceil_mode=False)
    return _adaptive_max_op(x, size=size)
