"""Batches gathered on the GPU: which rows come next, and the rows."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ...door import kernel_for
from ..code.sources import blocks_for, load
from .index_rows import word


@kernel_for("cuda", "next_places")
def next_places(order: DeviceArray, at: DeviceArray, *, n: int) -> Any:
    out = cupy.ndarray((n,), np.int64)
    threads = min(1024, max(32, -(-n // 32) * 32))
    load("rows.cu", "next_places")(1, threads, order, at, out, n)
    return out


@kernel_for("cuda", "take_rows")
def take_rows(a: DeviceArray, places: DeviceArray) -> Any:
    if not (a._c_contiguous and places._c_contiguous) or places.dtype != np.int64:
        return NotImplemented
    out = cupy.ndarray((*places.shape, *a.shape[1:]), a.dtype)
    if not out.size:
        return out
    row = a.nbytes // a.shape[0]
    unit, name = word(row | a.data.ptr)
    count = out.nbytes // unit
    load("rows.cu", "take_rows", UNIT=name)(blocks_for(count), 256, a, places, out, count, row // unit, a.shape[0])
    return out
