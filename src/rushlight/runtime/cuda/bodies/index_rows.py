"""Whole rows at computed places on the GPU: `x[index]`, its gradient, writes, and `index_add`."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.config import settings
from ....base.dtypes import from_np
from ...door import kernel_for
from ..code.keyed import keyed
from ..code.launch import Result
from ..code.sources import NUMBERS, PLACES, blocks_for, computed, load
from .fills import copied, fill, one_launch, row_major
from .pointwise import cast, compute
from .sorting import argsort

ndarray = cupy.ndarray
UNITS = ((16, "bytes_16"), (8, "bytes_8"), (4, "int"), (2, "u16"), (1, "u8"))
_MANY = "qqqq"  # rows, picks, extent, width


class IndexRows(NamedTuple):
    """An array as (outer, extent, width), of which an index picks along the middle."""

    outer: int
    extent: int
    width: int
    picks: int
    before: tuple[int, ...]
    after: tuple[int, ...]


def rows_of(shape: tuple[int, ...], slots: tuple, indices: tuple) -> IndexRows | None:
    """One index of numbers along one dim; None for everything else."""
    if len(indices) != 1 or sum(slots) != 1 or indices[0].dtype.char not in PLACES:
        return None
    dim = slots.index(1)
    if dim >= len(shape) or 0 in shape or not indices[0].size:
        return None
    before, after = shape[:dim], shape[dim + 1 :]
    return IndexRows(prod(before), shape[dim], prod(after), indices[0].size, before, after)


def word(bits: int) -> tuple[int, str]:
    """The widest type, and its bytes, that addresses and sizes with these bits are whole numbers of."""
    return next((size, name) for size, name in UNITS if bits % size == 0)


def _lanes(words: int) -> int:
    """How many threads move a row together: the power of two that leaves the fewest of them idle."""
    return min(32, 1 << max(words - 1, 0).bit_length())


def take_call(x: DeviceArray, index: DeviceArray, *, dim: int) -> Any:
    """The launch that takes rows of dense arrays; None where it does not."""
    rows = rows_of(x.shape, (0,) * dim + (1,), (index,))
    if rows is None or not x._c_contiguous or not index._c_contiguous:
        return None
    shape = (*rows.before, *index.shape, *rows.after)
    row, count = rows.width * x.itemsize, rows.outer * rows.picks
    unit, name = word(row | x.data.ptr)
    words = row // unit
    lanes = _lanes(words)
    launch = load("index_rows.cu", "take", UNIT=name, LANES=lanes, X=PLACES[index.dtype.char])
    return launch.prepared(
        blocks_for(count * lanes), 256, (Result(2, shape, x.dtype),), count, rows.picks, rows.extent, words
    )


# The rows of `x` at `index` along `dim`, in the place of which the index's dims stand.
take = one_launch(take_call)


_PART = 8  # of what may be picked: below that share, strided memory is read where it lies


def take_any(x: DeviceArray, index: DeviceArray, rows: IndexRows) -> Any:
    """`take` of an array with any strides."""
    dim = len(rows.before)
    if not x._c_contiguous and rows.picks * _PART < rows.extent:
        return x[(slice(None),) * dim + (index,)]
    return take(x, index, dim=dim)


def take_dense(x: DeviceArray, index: DeviceArray, rows: IndexRows) -> Any:
    """`take` of an array with any strides, whose result lies in the order of its memory, as PyTorch's."""
    dim = len(rows.before)
    order = sorted(range(x.ndim), key=lambda d: (-x.strides[d], d))
    if x._c_contiguous or index.ndim != 1 or order[0] != dim or x.strides[order[-1]] != x.itemsize:
        return take_any(x, index, rows)
    lines: list[tuple[int, int]] = []  # how many, and how many bytes apart
    for d in order[1:]:
        n, step = x.shape[d], x.strides[d]
        lines = [*lines[:-1], (lines[-1][0] * n, step)] if lines and lines[-1][1] == n * step else [*lines, (n, step)]
    if not 0 < len(lines) <= 3 or prod(n for n, _ in lines) >= 2**31 or lines[-1][1] != x.itemsize:
        return take_any(x, index, rows)
    (a, over), (b, down) = [(1, 0)] * (3 - len(lines)) + lines[:-1]
    run, far = lines[-1][0] * x.itemsize, x.strides[dim]
    unit, name = word(run | x.data.ptr | far | over | down)
    width, count = run // unit, index.size * a * b
    lanes = _lanes(width)
    out = ndarray((index.size, *[x.shape[d] for d in order[1:]]), x.dtype)
    load("index_rows.cu", "take_lines", UNIT=name, LANES=lanes, X=PLACES[index.dtype.char])(
        blocks_for(count * lanes), 256, x, row_major(index), out, count, rows.extent, width,
        far // unit, a, b, over // unit, down // unit,
    )  # fmt: skip
    return out.transpose(sorted(range(x.ndim), key=order.__getitem__))


def apart(a: DeviceArray, written: DeviceArray) -> Any:
    """`a`, or a copy of it where it may lie in the memory that is written."""
    return copied(a) if a.data.mem is written.data.mem else a


def put(out: DeviceArray, index: DeviceArray, values: DeviceArray, rows: IndexRows) -> None:
    """`out[., index, .] = values` into contiguous `out` of their dtype; of equal places any stays."""
    index, values = row_major(apart(index, out)), _spread(apart(values, out), index, rows)
    _putting(out, index, values, rows)(values, index, out)


def _putting(out: DeviceArray, index: DeviceArray, values: DeviceArray, rows: IndexRows) -> Any:
    """The launch of (values, index, out), all dense."""
    unit, name = word(rows.width * out.itemsize | out.data.ptr | values.data.ptr)
    words, count = rows.width * out.itemsize // unit, rows.outer * rows.picks
    lanes = _lanes(words)
    launch = load("index_rows.cu", "put", UNIT=name, LANES=lanes, X=PLACES[index.dtype.char])
    return launch.fixed(blocks_for(count * lanes), 256, count, rows.picks, rows.extent, words)


def put_call(out: DeviceArray, index: DeviceArray, values: DeviceArray, rows: IndexRows) -> Any:
    """`put` of dense arrays of a kind, values of the shape of what is picked, as one launch; else None."""
    if values.dtype != out.dtype or not _are_whole(out, index, values, rows):
        return None
    return _putting(out, index, values, rows)


def _are_whole(out: DeviceArray, index: DeviceArray, values: DeviceArray, rows: IndexRows) -> bool:
    dense = out._c_contiguous and index._c_contiguous and values._c_contiguous
    return dense and values.shape == (*rows.before, *index.shape, *rows.after)


def put_strided(out: DeviceArray, index: DeviceArray, values: DeviceArray, dim: int) -> Any:
    """As `put` along `dim`, where the dims of `out` lie dense in another order, as pictures of channels_last do."""
    order = sorted(range(out.ndim), key=lambda d: (-out.strides[d], d))
    turned = out.transpose(order)
    if index.ndim != 1 or not turned._c_contiguous:
        return NotImplemented
    shape = (*out.shape[:dim], index.size, *out.shape[dim + 1 :])
    values = cupy.broadcast_to(values, shape).transpose(order)
    at = order.index(dim)
    rows = rows_of(turned.shape, (0,) * at + (1,), (index,))
    if rows is None:
        return NotImplemented
    put(turned, index, values, rows)
    return out


def add(out: DeviceArray, index: DeviceArray, g: DeviceArray, rows: IndexRows) -> bool:
    """`out[., index, .] += g` into contiguous `out` of g's dtype; False where there is no kernel."""
    if not _adds(out.dtype, g):
        return False
    if settings.deterministic:
        _add_in_order(out, index, g, rows)
    elif out.dtype == computed(out.dtype):
        _add_at_once(out, index, g, rows)
    else:  # add in float32, round once
        total = cast(out, "float32")
        _add_at_once(total, index, g, rows)
        cast(total, out=out)
    return True


def add_call(out: DeviceArray, index: DeviceArray, g: DeviceArray, rows: IndexRows) -> Any:
    """`add` of contiguous arrays of a kind, g of the shape of what is picked, as one launch; else None."""
    if not _adds(out.dtype, g) or out.dtype != computed(out.dtype):
        return None
    if not _are_whole(out, index, g, rows):
        return None
    four = out.itemsize == 4 and not (rows.width % 4 or (g.data.ptr | out.data.ptr) & 15)
    launch, blocks, numbers = _addition(out.dtype, index, rows, four)
    return launch.prepared(blocks, 256, (), *numbers)


def _addition(dtype: np.dtype, index: DeviceArray, rows: IndexRows, four: bool) -> tuple:
    """The kernel that adds in whichever order, its blocks, and what follows the addresses."""
    lanes, count = _lanes(rows.width // 4 if four else rows.width), rows.outer * rows.picks
    place = PLACES[index.dtype.char]
    launch = load("index_rows.cu", "add", dtype.char, LANES=lanes, FOUR=int(four), X=place)
    return launch, blocks_for(count * lanes), (count, rows.picks, rows.extent, rows.width)


def index_grad(g: DeviceArray, index: DeviceArray, rows: IndexRows, shape: tuple[int, ...]) -> Any:
    """The gradient of `take`; None where there is no kernel."""
    if not _adds(g.dtype, g):
        return None
    out = ndarray(shape, g.dtype if settings.deterministic else computed(g.dtype))
    fill(out, 0)
    if settings.deterministic:
        _add_in_order(out, index, g, rows)
        return out
    _add_at_once(out, index, g, rows)
    return out if out.dtype == g.dtype else cast(out, from_np(g.dtype).name)


def _adds(dtype: np.dtype, g: DeviceArray) -> bool:
    return dtype.char in NUMBERS and g.dtype == dtype


def _spread(g: DeviceArray, index: DeviceArray, rows: IndexRows) -> Any:
    """The gradient, one number for every element that was picked, in contiguous memory."""
    shape = (*rows.before, *index.shape, *rows.after)
    return row_major(g if g.shape == shape else cupy.broadcast_to(g, shape))


def _add_at_once(total: DeviceArray, index: DeviceArray, g: DeviceArray, rows: IndexRows) -> None:
    """By atomic additions, in whichever order they come."""
    g, index = _spread(g, index, rows), row_major(index)
    four = not (rows.width % 4 or g.data.ptr % (4 * g.itemsize) or total.data.ptr & 15)
    launch, blocks, numbers = _addition(g.dtype, index, rows, four)
    launch(blocks, 256, g, index, total, *numbers)


def _add_in_order(out: DeviceArray, index: DeviceArray, g: DeviceArray, rows: IndexRows) -> None:
    """The same bits every time: equal places are added in the order they come."""
    g, index = _spread(g, index, rows), row_major(index)
    # Places counted from the start, so that equal rows stand beside each other in a stable order.
    order = argsort(compute("remainder", (index.reshape(-1), rows.extent)))
    lanes, count = _lanes(rows.width), rows.outer * rows.picks
    load("index_rows.cu", "add_in_order", out.dtype.char, LANES=lanes, X=PLACES[index.dtype.char])(
        blocks_for(count * lanes), 256, g, index, order, out, count, rows.picks, rows.extent, rows.width
    )


def _index_select(x: DeviceArray, index: DeviceArray, *, dim: int) -> Any:
    rows = rows_of(x.shape, (0,) * (dim % max(x.ndim, 1)) + (1,), (index,))
    return NotImplemented if rows is None else take_any(x, index, rows)


def _index_select_call(x: DeviceArray, index: DeviceArray, *, dim: int) -> Any:
    return take_call(x, index, dim=dim % max(x.ndim, 1))


kernel_for("cuda", "index_select")(keyed(_index_select, _index_select_call))
