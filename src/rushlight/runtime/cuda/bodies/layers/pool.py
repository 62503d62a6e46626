"""Pooling on the GPU: maxima, means and their derivatives over windows of one to three dims."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from .....base.arrays import DeviceArray
from .....base.config import settings
from ....door import kernel_for
from ...code.launch import Result, empty
from ...code.sources import NUMBERS, blocks_for, computed, load
from ..fills import copy_to, into_zeros, one_launch

_SHARED = 40 << 10
_FLAT = 1 << 31
_PLACES = np.dtype(np.int64)
_SETTING = ((settings, "deterministic"),)


def _size(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    room = n + 2 * p - d * (k - 1) - 1
    if not ceil_mode:
        return room // s + 1
    m = -(-room // s) + 1
    return m - 1 if (m - 1) * s >= n + p else m


def _three(values: tuple, fill: int) -> tuple:
    return (fill,) * (3 - len(values)) + tuple(values)


def _window(
    shape: tuple, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil: bool
) -> tuple[tuple, tuple]:
    """The shape of results, and the numbers that a window kernel takes."""
    sides = zip(shape[2:], kernel, stride, padding, dilation)
    out = tuple([_size(n, k, s, p, d, ceil) for n, k, s, p, d in sides])
    groups = ((shape[2:], 1), (out, 1), (kernel, 1), (stride, 1), (padding, 0), (dilation, 1))
    return (*shape[:2], *out), tuple([v for values, fill in groups for v in _three(values, fill)])


def _lies_last(a: DeviceArray) -> bool:
    """Whether channels lie innermost, in memory without gaps: results then stay in that order, as PyTorch's do."""
    if a._c_contiguous or a.ndim < 4:
        return False
    return bool(a.transpose((0, *range(2, a.ndim), 1))._c_contiguous)


def _strides(shape: tuple, itemsize: int) -> tuple[int, ...]:
    """Those of a dense array with its channels innermost."""
    steps, step = [itemsize], itemsize * shape[1]
    inner: list[int] = []
    for n in reversed(shape[2:]):
        inner.append(step)
        step *= n
    return (step, *steps, *reversed(inner))


def _as_last(a: DeviceArray) -> Any:
    """`a` with its channels innermost, copied where they are not."""
    if _lies_last(a):
        return a
    out = empty(a.shape, a.dtype, _strides(a.shape, a.itemsize))
    copy_to(out, a)
    return out


def _over_places(name: str, x: DeviceArray, shape: tuple, dtypes: tuple[np.dtype, ...], numbers: tuple) -> Any:
    """The launch whose results have a shape and lie as x does; of channels innermost a thread takes several."""
    last, width = _lies_last(x), 1
    if not last and not x._c_contiguous:
        return None
    if last:
        widest = 1 if x.data.ptr & 15 else 16 // x.itemsize
        width = next(v for v in (widest, 4, 2, 1) if v <= widest and x.shape[1] % v == 0)
    results = tuple([
        Result(1 + i, shape, dtype, _strides(shape, dtype.itemsize) if last else None)
        for i, dtype in enumerate(dtypes)
    ])  # fmt: skip
    count = prod(shape) // width
    launch = load("pool.cu", name, x.dtype.char, LAST=int(last), VW=width)
    return launch.prepared(blocks_for(count), 256, results, count, x.shape[1], *numbers)


def _max_pool(x: DeviceArray, *, kernel: tuple, stride: tuple, padding: tuple, dilation: tuple, ceil_mode: bool) -> Any:
    if x.dtype.char not in NUMBERS or not x.size:
        return None
    shape, numbers = _window(x.shape, kernel, stride, padding, dilation, ceil_mode)
    count = prod(shape)
    if not count:
        return None
    pairs = kernel == (2, 2) and stride == (2, 2) and padding == (0, 0) and dilation == (1, 1)
    even = pairs and not (x.shape[2] % 2 or x.shape[3] % 2 or x.size >= _FLAT or x.data.ptr & 15)
    if not even or not x._c_contiguous:
        return _over_places("max_pool", x, shape, (x.dtype, _PLACES), numbers)
    results = (Result(1, shape, x.dtype), Result(2, shape, _PLACES))
    return load("pool.cu", "max_pool_2x2", x.dtype.char).prepared(
        blocks_for(count), 256, results, count, x.shape[3], shape[3], shape[2]
    )


max_pool = kernel_for("cuda", "max_pool")(one_launch(_max_pool))


def _max_pool_grad(gy: DeviceArray, index: DeviceArray, *, x_shape: tuple, overlap: bool) -> Any:
    char = gy.dtype.char
    if char not in NUMBERS or not gy.size or 0 in x_shape:
        return None
    # How gradients are added: 0: windows share no place, 1: they may, 2: they may, and always in the same order.
    how = 0 if not overlap else 2 if settings.deterministic else 1
    places, size = prod(gy.shape[2:]), prod(x_shape[2:])
    if how != 2 and _lies_last(index):
        wide = computed(gy.dtype) if how else gy.dtype
        name = "max_pool_grad_last_meeting" if how else "max_pool_grad_last"
        last = load("pool.cu", name, char, LAST=1, VW=1).fixed(
            blocks_for(gy.size), 256, gy.size, x_shape[1], size, places
        )
        return into_zeros(
            lambda gx, gy, index: last(_as_last(gy), index, gx), x_shape, gy.dtype, wide,
            _strides(x_shape, wide.itemsize),
        )  # fmt: skip
    if not gy._c_contiguous or not index._c_contiguous:
        return None
    planes, each = x_shape[0] * x_shape[1], size * (8 if char == "d" else 4)
    if each > _SHARED:
        count = planes if how == 2 else gy.size
        large = load("pool.cu", "max_pool_grad_large", char).fixed(blocks_for(count), 256, count, size, places, how)
        return into_zeros(lambda gx, gy, index: large(gy, index, gx), x_shape, gy.dtype)
    # Gathered plane by plane.
    per_block = max(1, min(1024 // size, _SHARED // each, planes)) if size < 1024 else 1
    threads = 128 if size * per_block <= 512 else 256
    return load("pool.cu", "max_pool_grad", char).prepared(
        min(-(-planes // per_block), 1 << 20), threads, (Result(2, x_shape, gy.dtype),), planes,
        size, places, per_block, how, shared=each * per_block,
    )  # fmt: skip


max_pool_grad = kernel_for("cuda", "max_pool_grad")(one_launch(_max_pool_grad, _SETTING))


def _pool_take(x: DeviceArray, index: DeviceArray) -> Any:
    if x.dtype.char not in NUMBERS or not index.size:
        return None
    if not x._c_contiguous or not index._c_contiguous:
        return None
    return load("pool.cu", "pool_take", x.dtype.char).prepared(
        blocks_for(index.size), 256, (Result(2, index.shape, x.dtype),), index.size,
        prod(x.shape[2:]), prod(index.shape[2:]),
    )  # fmt: skip


kernel_for("cuda", "pool_take")(one_launch(_pool_take))


def _means(name: str, x: DeviceArray, result: tuple, numbers: tuple, include: bool, divisor: int | None) -> Any:
    """Means of windows, or what comes back from them."""
    more = (*numbers, int(include), divisor or 0)
    return _over_places(name, x, result, (x.dtype,), more)


def _avg_pool(
    x: DeviceArray, *, kernel: tuple, stride: tuple, padding: tuple, ceil_mode: bool, include_pad: bool,
    divisor: int | None,
) -> Any:  # fmt: skip
    if x.dtype.char not in NUMBERS or not x.size:
        return None
    shape, numbers = _window(x.shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    return _means("avg_pool", x, shape, numbers, include_pad, divisor) if prod(shape) else None


def _avg_pool_grad(
    gy: DeviceArray, *, x_shape: tuple, kernel: tuple, stride: tuple, padding: tuple, ceil_mode: bool,
    include_pad: bool, divisor: int | None,
) -> Any:  # fmt: skip
    if gy.dtype.char not in NUMBERS or not gy.size or 0 in x_shape:
        return None
    _, numbers = _window(x_shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    return _means("avg_pool_grad", gy, x_shape, numbers, include_pad, divisor)


kernel_for("cuda", "avg_pool")(one_launch(_avg_pool))
kernel_for("cuda", "avg_pool_grad")(one_launch(_avg_pool_grad))
