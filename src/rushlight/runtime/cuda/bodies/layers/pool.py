"""Pooling on the GPU: maxima, means and their derivatives over windows of one to three dims."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from .....base.bounded import Bounded
from .....base.config import settings
from ....door import kernel_for
from ...code.launch import Result
from ...code.sources import NUMBERS, blocks_for, computed, device, load
from ..fills import row_major
from . import pool_channels_last as pool_last

if TYPE_CHECKING:
    from .....base.protocols import DeviceArray
_SHARED = 40 << 10
_FLAT = 1 << 31


def _size(n: int, k: int, s: int, p: int, d: int, ceil_mode: bool) -> int:
    room = n + 2 * p - d * (k - 1) - 1
    if not ceil_mode:
        return room // s + 1
    m = -(-room // s) + 1
    return m - 1 if (m - 1) * s >= n + p else m


def _three(values: tuple, fill: int) -> tuple:
    return (fill,) * (3 - len(values)) + tuple(values)


class _Window:
    """The numbers a window kernel takes, found once per shape."""

    __slots__ = ("count", "numbers", "plain", "shape")

    def __init__(
        self,
        shape: tuple,
        kernel: tuple,
        stride: tuple,
        padding: tuple,
        dilation: tuple,
        ceil: bool,
    ) -> None:
        out = tuple(
            [
                _size(n, k, s, p, d, ceil)
                for n, k, s, p, d in zip(shape[2:], kernel, stride, padding, dilation)
            ]
        )
        self.shape = (*shape[:2], *out)
        self.count = prod(self.shape)
        groups = ((shape[2:], 1), (out, 1), (kernel, 1), (stride, 1), (padding, 0), (dilation, 1))
        self.numbers = tuple([v for values, fill in groups for v in _three(values, fill)])
        self.plain = (
            kernel == (2, 2) and stride == (2, 2) and padding == (0, 0) and dilation == (1, 1)
            and shape[2] % 2 == 0 and shape[3] % 2 == 0 and prod(shape) < _FLAT
        )  # fmt: skip


_windows: dict[tuple, _Window] = Bounded(1024)


def _window(*key: Any) -> _Window:
    found = _windows.get(key)
    if found is None:
        found = _windows[key] = _Window(*key)
    return found


class _MaxPool:
    """Max pooling of one shape and dtype, ready to launch."""

    __slots__ = ("go", "plain")

    def __init__(self, win: _Window, x: DeviceArray) -> None:
        char = x.dtype.char
        results = (Result(1, win.shape, x.dtype), Result(2, win.shape, np.int64))
        grid, block = (blocks_for(win.count), 1, 1), (256, 1, 1)
        general = load("pool.cu", "max_pool", char)
        self.go = self.plain = general.prepared(grid, block, results, win.count, *win.numbers)
        if win.plain:
            pairs = load("pool.cu", "max_pool_2x2", char)
            sizes = (win.count, x.shape[3], win.shape[3], win.shape[2])
            self.go = pairs.prepared(grid, block, results, *sizes, aligned=(0,))


_max_pools: dict[tuple, _MaxPool] = Bounded(1024)


@kernel_for("cuda", "max_pool")
def max_pool(
    x: DeviceArray,
    *,
    kernel: tuple,
    stride: tuple,
    padding: tuple,
    dilation: tuple,
    ceil_mode: bool,
) -> Any:
    if not x._c_contiguous and pool_last.takes(x):
        win = _window(x.shape, kernel, stride, padding, dilation, ceil_mode)
        return pool_last.max_pool(x, win.shape, win.numbers) if win.count else NotImplemented
    key = (x.shape, x.dtype.char, kernel, stride, padding, dilation, ceil_mode, device())
    found = _max_pools.get(key)
    if found is None:
        if x.dtype.char not in NUMBERS or not x.size:
            return NotImplemented
        win = _window(x.shape, kernel, stride, padding, dilation, ceil_mode)
        if not win.count:
            return NotImplemented
        found = _max_pools[key] = _MaxPool(win, x)
    x = row_major(x)
    pair = found.go(x)
    return found.plain(x) if pair is NotImplemented else pair


def _how(overlap: bool) -> int:
    """How gradients are added: 0: windows share no place, 1: they may, 2: they may, and always in the same order."""
    return 0 if not overlap else 2 if settings.deterministic else 1


_gathers: dict[tuple, Any] = Bounded(1024)


def _gather(gy: DeviceArray, x_shape: tuple, how: int) -> Any:
    """The launch that gathers gradients plane by plane; False when planes are too large for it."""
    size, planes = prod(x_shape[2:]), x_shape[0] * x_shape[1]
    each = size * (8 if gy.dtype.char == "d" else 4)
    if each > _SHARED:
        return False
    per_block = max(1, min(1024 // size, _SHARED // each, planes)) if size < 1024 else 1
    threads = 128 if size * per_block <= 512 else 256
    return load("pool.cu", "max_pool_grad", gy.dtype.char).prepared(
        min(-(-planes // per_block), 1 << 20), threads, (Result(2, x_shape, gy.dtype),), planes,
        size, prod(gy.shape[2:]), per_block, how, shared=each * per_block,
    )  # fmt: skip


@kernel_for("cuda", "max_pool_grad")
def max_pool_grad(gy: DeviceArray, index: DeviceArray, *, x_shape: tuple, overlap: bool) -> Any:
    if gy.dtype.char not in NUMBERS or not gy.size or 0 in x_shape:
        return NotImplemented
    how = _how(overlap)
    if not index._c_contiguous and how != 2 and pool_last.lies_last(index):
        return pool_last.max_pool_grad(gy, index, x_shape, how == 1)
    key = (gy.shape, gy.dtype.char, x_shape, how, device())
    go = _gathers.get(key)
    if go is None:
        go = _gathers[key] = _gather(gy, x_shape, how)
    gy, index = row_major(gy), row_major(index)
    if not go:
        return _large_grad(gy, index, x_shape, overlap)
    return go(gy, index)


def _large_grad(gy: DeviceArray, index: DeviceArray, x_shape: tuple, overlap: bool) -> Any:
    gx = cupy.zeros(x_shape, computed(gy.dtype))
    how = _how(overlap)
    count = x_shape[0] * x_shape[1] if how == 2 else gy.size
    load("pool.cu", "max_pool_grad_large", gy.dtype.char)(
        blocks_for(count), 256, gy, index, gx, count, prod(x_shape[2:]), prod(gy.shape[2:]), how
    )
    return gx.astype(gy.dtype, copy=False)


@kernel_for("cuda", "pool_take")
def pool_take(x: DeviceArray, index: DeviceArray) -> Any:
    if x.dtype.char not in NUMBERS or not index.size:
        return NotImplemented
    x, index = row_major(x), row_major(index)
    y = cupy.ndarray(index.shape, x.dtype)
    load("pool.cu", "pool_take", x.dtype.char)(
        blocks_for(y.size), 256, x, index, y, y.size, prod(x.shape[2:]), prod(index.shape[2:])
    )
    return y


@kernel_for("cuda", "avg_pool")
def avg_pool(
    x: DeviceArray, *, kernel: tuple, stride: tuple, padding: tuple, ceil_mode: bool, include_pad: bool,
    divisor: int | None,
) -> Any:  # fmt: skip
    if x.dtype.char not in NUMBERS or not x.size:
        return NotImplemented
    win = _window(x.shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    if not win.count:
        return NotImplemented
    if not x._c_contiguous and pool_last.takes(x):
        return pool_last.avg_pool(x, win.shape, win.numbers, int(include_pad), divisor or 0)
    x = row_major(x)
    y = cupy.ndarray(win.shape, x.dtype)
    load("pool.cu", "avg_pool", x.dtype.char)(
        blocks_for(win.count), 256, x, y, win.count, *win.numbers, int(include_pad), divisor or 0
    )
    return y


@kernel_for("cuda", "avg_pool_grad")
def avg_pool_grad(
    gy: DeviceArray, *, x_shape: tuple, kernel: tuple, stride: tuple, padding: tuple, ceil_mode: bool,
    include_pad: bool, divisor: int | None,
) -> Any:  # fmt: skip
    count = prod(x_shape)
    if gy.dtype.char not in NUMBERS or not gy.size or not count:
        return NotImplemented
    win = _window(x_shape, kernel, stride, padding, (1,) * len(kernel), ceil_mode)
    if not gy._c_contiguous and pool_last.takes(gy):
        return pool_last.avg_pool_grad(gy, x_shape, win.numbers, int(include_pad), divisor or 0)
    gy = row_major(gy)
    gx = cupy.ndarray(x_shape, gy.dtype)
    load("pool.cu", "avg_pool_grad", gy.dtype.char)(
        blocks_for(count), 256, gy, gx, count, *win.numbers, int(include_pad), divisor or 0
    )
    return gx
