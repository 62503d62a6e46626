"""Running sums and products along one dim on the GPU."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ...door import kernel_for
from ..code.compile import Launch
from ..code.keyed import keyed
from ..code.launch import Result
from ..code.sources import blocks_for, load
from ..processors import multiprocessors
from .fills import copied, row_major

_PER = 9  # elements of a thread, as in scan.cu
_EACH = 8  # blocks for a multiprocessor
_STORED = {"f": "float", "d": "double", "e": "half_t", "E": "bf16_t", "?": "u8", "b": "signed char", "B": "u8",
           "h": "short", "H": "u16", "i": "int", "I": "unsigned", "l": "i64", "q": "i64"}  # fmt: skip


def _is_turned(x: DeviceArray, dim: int) -> bool:
    """Whether there are few threads along other dims, and long ways for each."""
    n = x.shape[dim]
    return prod(x.shape[dim + 1 :]) > 1 and x.size // n < 64 * multiprocessors() and n > 64


def _scan(x: DeviceArray, dim: int, reverse: bool, product: bool) -> Any:
    if x.dtype.char not in _STORED or not x.ndim or not x.size:
        return NotImplemented
    dim %= x.ndim
    if _is_turned(x, dim):
        turned = copied(cupy.moveaxis(x, dim, -1))
        return copied(cupy.moveaxis(_scan(turned, x.ndim - 1, reverse, product), -1, dim))
    dense = row_major(x)
    return _call(dense, dim, reverse, product)(dense)


def _call(x: DeviceArray, dim: int, reverse: bool, product: bool) -> Any:
    """The launches for arrays of a kind; None where these take more."""
    stored = _STORED.get(x.dtype.char)
    if stored is None or not x.ndim or not x.size or not x._c_contiguous:
        return None
    dim %= x.ndim
    if _is_turned(x, dim):
        return None
    whole = x.dtype.kind in "biu"
    dtype = np.dtype(np.int64) if whole else x.dtype
    wide = "i64" if whole else "double"

    def launch(name: str) -> Launch:
        return load("scan.cu", name, STORED=stored, WIDE=wide, RESULT="i64" if whole else stored, PRODUCT=int(product))

    n, inner, result = x.shape[dim], prod(x.shape[dim + 1 :]), Result(1, x.shape, dtype)
    if inner > 1:
        columns = x.size // n
        return launch("scan_columns").prepared(
            blocks_for(columns, 128), 128, (result,), columns, n, inner, int(reverse)
        )
    rows = x.size // n
    threads = 32
    while threads < 256 and threads * _PER < n:
        threads *= 2
    tile = threads * _PER
    parts = min(-(-n // tile), max(1, _EACH * multiprocessors() // rows))
    chunk = -(-n // (parts * tile)) * tile
    parts = -(-n // chunk)
    grid, block, sizes = (rows * parts, 1, 1), (threads, 1, 1), (n, chunk, parts, int(reverse))
    scan = launch("scan_rows")
    if parts == 1:
        return scan.prepared(grid, block, (result,), *sizes, absent=(2,))
    held = Result(1, (rows * parts,), np.dtype(wide.replace("i64", "int64")))
    sums = launch("part_sums").prepared(grid, block, (held,), *sizes)
    last = scan.prepared(grid, block, (result,), *sizes)
    return lambda a: last(a, sums(a))


def _running(name: str, product: bool) -> None:
    """Register a scan."""

    def body(x: DeviceArray, *, dim: int, reverse: bool) -> Any:
        return _scan(x, dim, reverse, product)

    def prepare(x: DeviceArray, *, dim: int, reverse: bool) -> Any:
        return _call(x, dim, reverse, product)

    kernel_for("cuda", name)(keyed(body, prepare))


_running("cumsum", False)
_running("cumprod", True)
