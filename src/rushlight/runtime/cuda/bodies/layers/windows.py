"""Windows on the GPU: unfold, fold, windows along one dim put back, and max pooling whose windows follow from the output's size."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ...code.launch import Result
from ...code.sources import blocks_for, typed
from ..fills import one_launch

if TYPE_CHECKING:
    Dims = tuple[int, ...]
_PLACES = np.dtype(np.int64)


def _moved(
    name: str, x: DeviceArray, shape: Dims, size: Dims, windows: Dims, kernel: Dims, stride: Dims,
    padding: Dims, dilation: Dims,
) -> Any:  # fmt: skip
    count = prod(shape)
    if x.dtype.kind not in "fV" or not x._c_contiguous or not count or len(kernel) != 2:
        return None
    numbers = (*size, *windows, *kernel, *stride, *padding, *dilation)
    return typed("windows.cu", name, x.dtype).prepared(
        blocks_for(count), 256, (Result(1, shape, x.dtype),), count, *numbers
    )


def _windows(size: Dims, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims) -> Dims:
    sides = zip(size, kernel, stride, padding, dilation)
    return tuple([(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sides])


def _unfold(x: DeviceArray, *, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims) -> Any:
    size = x.shape[2:]
    windows = _windows(size, kernel, stride, padding, dilation)
    shape = (x.shape[0], x.shape[1] * prod(kernel), prod(windows))
    return _moved("unfold", x, shape, size, windows, kernel, stride, padding, dilation)


def _fold(x: DeviceArray, *, size: Dims, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims) -> Any:
    windows = _windows(size, kernel, stride, padding, dilation)
    shape = (x.shape[0], x.shape[1] // prod(kernel), *size)
    return _moved("fold", x, shape, tuple(size), windows, kernel, stride, padding, dilation)


def _unwind(g: DeviceArray, *, dim: int, size: int, step: int, shape: Dims) -> Any:
    count = prod(shape)
    if g.dtype.kind not in "fV" or not g._c_contiguous or not count or not g.size:
        return None
    return typed("windows.cu", "unwind", g.dtype).prepared(
        blocks_for(count), 256, (Result(1, shape, g.dtype),), count, shape[dim],
        prod(shape[dim + 1 :]), g.shape[dim], size, step,
    )  # fmt: skip


def _three(values: Any, missing: Any) -> tuple:
    return (*[missing] * (3 - len(values)), *values)


def _adaptive_max(x: DeviceArray, *, size: Dims) -> Any:
    shape = (*x.shape[:2], *size)
    count = prod(shape)
    if x.dtype.kind not in "fV" or not x._c_contiguous or not count or not x.size:
        return None
    results = (Result(1, shape, x.dtype), Result(2, shape, _PLACES))
    return typed("windows.cu", "adaptive_max", x.dtype).prepared(
        blocks_for(count), 256, results, count, *_three(x.shape[2:], 1), *_three(size, 1)
    )


def _fractional_max(x: DeviceArray, samples: DeviceArray, *, kernel: Dims, size: Dims) -> Any:
    shape, dims = (*x.shape[:2], *size), len(size)
    count = prod(shape)
    dense = x._c_contiguous and samples._c_contiguous
    if x.dtype.char not in "fd" or samples.dtype != x.dtype or not dense or not count:
        return None
    given = x.shape[2:]
    ways = [(n - k) / (m - 1) if m > 1 else 0.0 for n, m, k in zip(given, size, kernel)]
    # PyTorch draws the samples of two dims in the order (width, height), of three in (t, h, w).
    at = [dims - 1 - i if dims == 2 else i for i in range(dims)]
    results = (Result(2, shape, x.dtype), Result(3, shape, _PLACES))
    return typed("windows.cu", "fractional_max", x.dtype).prepared(
        blocks_for(count), 256, results, count, *_three(given, 1), *_three(size, 1),
        *_three(kernel, 1), *_three(at, -1), dims, *_three(ways, 0.0),
    )  # fmt: skip


kernel_for("cuda", "im2col")(one_launch(_unfold))
kernel_for("cuda", "col2im")(one_launch(_fold))
kernel_for("cuda", "unfold_grad")(one_launch(_unwind))
kernel_for("cuda", "adaptive_max_pool")(one_launch(_adaptive_max))
kernel_for("cuda", "fractional_max_pool")(one_launch(_fractional_max))
