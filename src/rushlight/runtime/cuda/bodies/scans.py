"""Running sums and products along one dim on the GPU."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from ...door import kernel_for
from ..code.compile import Launch
from ..code.sources import blocks_for, load
from ..processors import multiprocessors
from .fills import copied

if TYPE_CHECKING:
    from ....base.protocols import DeviceArray

ndarray = cupy.ndarray
_PER = 9  # elements of a thread, as in scan.cu
_EACH = 8  # blocks for a multiprocessor
_STORED = {"f": "float", "d": "double", "e": "half_t", "E": "bf16_t", "?": "u8", "b": "signed char", "B": "u8",
           "h": "short", "H": "u16", "i": "int", "I": "unsigned", "l": "i64", "q": "i64"}  # fmt: skip
_ROWS = ("P", "P", "P", "q", "q", "q", "i")


def _scan(x: DeviceArray, dim: int, reverse: bool, product: bool) -> Any:
    stored = _STORED.get(x.dtype.char)
    if stored is None or not x.ndim or not x.size:
        return NotImplemented
    whole = x.dtype.kind in "biu"
    dtype = np.dtype(np.int64) if whole else x.dtype
    wide = "i64" if whole else "double"

    def launch(name: str, formats: tuple[str, ...]) -> Launch:
        return load(
            "scan.cu", name, formats, STORED=stored, WIDE=wide, RESULT="i64" if whole else stored,
            PRODUCT=int(product),
        )  # fmt: skip

    n, inner = x.shape[dim], prod(x.shape[dim + 1 :])
    if inner > 1 and (x.size // n < 64 * multiprocessors() and n > 64):  # few threads, long ways
        turned = copied(cupy.moveaxis(x, dim, -1))
        return copied(cupy.moveaxis(_scan(turned, x.ndim - 1, reverse, product), -1, dim))
    if not x._c_contiguous:
        x = copied(x)
    out = ndarray(x.shape, dtype)
    if inner > 1:
        columns = x.size // n
        launch("scan_columns", ("P", "P", "q", "q", "q", "i"))(
            blocks_for(columns, 128), 128, x.data.ptr, out.data.ptr, columns, n, inner, int(reverse)
        )
        return out
    rows = x.size // n
    threads = 32
    while threads < 256 and threads * _PER < n:
        threads *= 2
    tile = threads * _PER
    parts = min(-(-n // tile), max(1, _EACH * multiprocessors() // rows))
    chunk = -(-n // (parts * tile)) * tile
    parts = -(-n // chunk)
    sums = 0
    if parts > 1:
        held = ndarray((rows * parts,), dtype if whole else np.float64)
        sums = held.data.ptr
        launch("part_sums", ("P", "P", "q", "q", "q", "i"))(
            rows * parts, threads, x.data.ptr, sums, n, chunk, parts, int(reverse)
        )
    launch("scan_rows", _ROWS)(
        rows * parts, threads, x.data.ptr, out.data.ptr, sums, n, chunk, parts, int(reverse)
    )
    return out


@kernel_for("cuda", "cumsum")
def _cumsum(x: DeviceArray, *, dim: int, reverse: bool) -> Any:
    return _scan(x, dim % max(x.ndim, 1), reverse, False)


@kernel_for("cuda", "cumprod")
def _cumprod(x: DeviceArray, *, dim: int, reverse: bool) -> Any:
    return _scan(x, dim % max(x.ndim, 1), reverse, True)
