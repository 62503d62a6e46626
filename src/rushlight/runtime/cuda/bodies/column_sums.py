"""Pointwise ops that also add up the rows of their result: the gradient of an activation, and of the bias in front of it."""

from __future__ import annotations

from typing import Any

import cupy

from ....base.arrays import DeviceArray
from ....base.dtypes import from_np
from ..code.compile import kernel
from ..code.expressions import Expression
from ..code.generate import ARRAY, summed_source, width
from ..code.sources import NUMBERS, PARTIALS, load, partials
from ..code.variants import MANY, compute
from ..processors import multiprocessors
from .reduce import reduce

_TEAMS = 8  # rows that a block has at a time, of summed_source
_RESIDENT = 8  # blocks that a multiprocessor is given


def with_sums(name: str | Expression, operands: tuple[DeviceArray, ...]) -> Any:
    """An expression of arrays alike, and the sums of its result over all dims but the last."""
    first = operands[0]
    n = first.shape[-1] if first.ndim else 0
    if not n or not first.size:
        return NotImplemented
    parts = _parts(name, operands, n)
    if parts is None:
        out = compute(name, operands)
        if out is NotImplemented:
            return out
        return out, reduce("sum", out, tuple(range(out.ndim - 1)), False)
    out, start, splits = parts
    sums = cupy.ndarray((n,), out.dtype)
    load("column_sums.cu", "column_sums", out.dtype.char).fixed(-(-n // 32), 1024, splits, n)(start, sums.data.ptr)
    return out, sums


def _parts(name: str | Expression, operands: tuple[DeviceArray, ...], n: int) -> Any:
    """The result, where its sums over parts of the rows lie, and how many parts; None for arrays that lie otherwise."""
    first = operands[0]
    dtype, rows = first.dtype, first.size // n
    names = tuple([from_np(dtype).name] * len(operands))
    ways = (ARRAY,) * len(operands)
    if dtype.char not in NUMBERS or dtype.char == "d" or first.size >= MANY:
        return None
    vector = width(names, ways, names[0])
    for a in operands:
        if a.dtype != dtype or a.shape != first.shape or not a._c_contiguous or a.data.ptr & 15:
            return None
    columns = -(-n // (32 * vector))
    room = PARTIALS // n
    if n % vector or not room:
        return None
    splits = max(1, min(_RESIDENT * multiprocessors() // columns, -(-rows // _TEAMS), room))
    text = summed_source(name, names, ways, vector)
    launch = kernel(text, "k")
    out, start = cupy.ndarray(first.shape, dtype), partials()
    launch.fixed((columns, splits, 1), 256, rows, n)(start, out, *operands)
    return out, start, splits
