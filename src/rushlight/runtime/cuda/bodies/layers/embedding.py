"""Embeddings on the GPU: rows of a table by number, and where their gradients go."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy
import numpy as np

from .....base.arrays import DeviceArray
from .....base.dtypes import from_np
from ....door import kernel_for
from ...code.launch import Result
from ...code.sources import NUMBERS, PLACES, block_room, blocks_for, computed, load
from ...processors import multiprocessors
from ..fills import fill, one_launch, row_major
from ..pointwise import add_into, cast


def _rows(weight: DeviceArray, indices: DeviceArray, *beside: DeviceArray) -> Any:
    """What the kernels that take rows by number are launched with; None where they do not."""
    label, shape = PLACES.get(indices.dtype.char), indices.shape + weight.shape[1:]
    if weight.dtype.char not in NUMBERS or label is None or not prod(shape):
        return None
    if not all(a._c_contiguous for a in (weight, indices, *beside)):
        return None
    count, name = prod(shape), "embedding_add" if beside else "embedding"
    more = [a.size for a in beside]
    return load(name + ".cu", name, weight.dtype.char, LABEL=label).prepared(
        blocks_for(count), 256, (Result(2 + len(beside), shape, weight.dtype),), count,
        prod(weight.shape[1:]), weight.shape[0], *more,
    )  # fmt: skip


def embedding(weight: DeviceArray, indices: DeviceArray, *, padding_idx: int, scale_by_freq: bool) -> Any:
    return _rows(weight, indices) if weight.size else None


kernel_for("cuda", "embedding")(one_launch(embedding))


def embedding_add(
    weight: DeviceArray, indices: DeviceArray, other: DeviceArray, *, padding_idx: int, scale_by_freq: bool
) -> Any:
    """Rows of a table, with `other` added to them; its shape is the end of the result's."""
    if other.dtype != weight.dtype or not other.size or not weight.size:
        return None
    return _rows(weight, indices, other)


kernel_for("cuda", "embedding_add")(one_launch(embedding_add))


_FEW, _WARPS = 64, 16  # of embedding.cu
_SMALL = 160 << 10  # bytes of shared memory for the tables of a block
_LEAST = 8  # warps that each have one
_OFTEN = 16  # places for each row on average from which on that pays


@kernel_for("cuda", "embedding_grad")
def embedding_grad(gy: DeviceArray, indices: DeviceArray, *, rows: int, padding_idx: int, scale_by_freq: bool) -> Any:
    """Sums in an order that the shapes decide: the same bits every time, without a sort."""
    return _grad(gy, indices, None, rows, padding_idx, scale_by_freq)


@kernel_for("cuda", "embedding_grad_add")
def embedding_grad_add(
    gy: DeviceArray, indices: DeviceArray, base: DeviceArray, *, rows: int, padding_idx: int, scale_by_freq: bool
) -> Any:
    """The same with another gradient of the table added, which may be one of halves."""
    char = base.dtype.char
    if base.dtype != gy.dtype and (gy.dtype.char != "f" or char not in ("e", "E")):
        return NotImplemented
    return _grad(gy, indices, row_major(base), rows, padding_idx, scale_by_freq)


def _grad(
    gy: DeviceArray, indices: DeviceArray, base: DeviceArray | None, rows: int, padding_idx: int, scale_by_freq: bool
) -> Any:
    char, label = gy.dtype.char, PLACES.get(indices.dtype.char)
    places = indices.size
    if char not in NUMBERS or label is None or not gy.size or not rows or places >= 2**31:
        return NotImplemented
    gy, indices = row_major(gy), row_major(indices)
    shape = (rows, *gy.shape[indices.ndim :])
    table = 32 * rows * (8 if char == "d" else 4)  # a warp's
    if _LEAST * table <= min(_SMALL, block_room() - 2048) and places >= _OFTEN * rows:
        out = _of_a_small_table(gy, indices, shape, padding_idx, scale_by_freq, table)
        if base is None:
            return out
        if base.dtype != out.dtype:
            base = cast(base, from_np(out.dtype).name)
        return add_into(out, base, out)
    width, most = prod(shape[1:]), places // (_FEW + 1)  # rows that may have many places
    room = cupy.ndarray((2 * rows + most + 2 + places,), np.int32)
    fill(room[: rows + 2], 0)
    counts = room.data.ptr
    used = counts + 4 * rows
    many = used + 4
    ends = many + 4 * (most + 1)
    places_of = ends + 4 * rows
    g, index, by_count = gy.data.ptr, indices.data.ptr, int(scale_by_freq)
    out = cupy.ndarray(shape, gy.dtype)
    blocks, names = blocks_for(places), {"LABEL": label}
    load("embedding.cu", "embedding_counts", char, **names)(blocks, 256, index, counts, places, rows, padding_idx)
    load("embedding.cu", "embedding_starts", char, **names)(blocks_for(rows), 256, counts, ends, many, used, rows)
    load("embedding.cu", "embedding_lists", char, **names)(
        blocks, 256, index, ends, places_of, places, rows, padding_idx
    )
    pack, more = 16 // gy.itemsize, 0 if base is None else base.data.ptr
    vector = pack if width % pack == 0 and not (g | out.data.ptr | more) & 15 else 1
    names["NB"] = NUMBERS[(gy if base is None else base).dtype.char][0]
    load("embedding.cu", "embedding_few", char, **names, VW=vector)(
        blocks_for(32 * rows), 256, g, counts, ends, places_of, more, out, width, rows, by_count
    )
    if most:
        load("embedding.cu", "embedding_many", char, **names)(
            (min(most, 1024), -(-width // 32), 1), 32 * _WARPS, g, counts, ends, places_of, many,
            more, out, places, width, by_count,
        )  # fmt: skip
    return out


def _of_a_small_table(
    gy: DeviceArray, indices: DeviceArray, shape: tuple[int, ...], padding: int, by_count: bool, table: int
) -> Any:
    """The gradient of a table whose columns have room in shared memory, once for each warp of a block."""
    char, rows, places = gy.dtype.char, shape[0], indices.size
    width = prod(shape[1:])
    warps = min(_WARPS, _SMALL // table)
    columns = -(-width // 32)
    resident = max(1, min(_SMALL // (warps * table), 2048 // (32 * warps)))
    splits = max(1, min(resident * multiprocessors() // columns, places // (8 * warps)))
    parts, counts = cupy.ndarray((splits, rows, width), computed(gy.dtype)), None
    if by_count:
        counts = cupy.ndarray((rows,), np.int32)
        fill(counts, 0)
    names = {"LABEL": PLACES[indices.dtype.char]}
    launch = load("embedding.cu", "embedding_small", char, **names)
    launch.allow(warps * table)
    launch.fixed((columns, splits, 1), 32 * warps, places, width, rows, padding, shared=warps * table)(
        gy, indices, parts, counts
    )
    out = cupy.ndarray(shape, gy.dtype)
    load("embedding.cu", "embedding_small_sum", char, **names)(
        blocks_for(out.size), 256, parts, counts, out, splits, out.size, width
    )
    return out


# -- bags -----------------------------------------------------------------------------------------


def _bag_sums(weight: DeviceArray, indices: DeviceArray, starts: DeviceArray, *, mean: bool, by_freq: bool) -> Any:
    label, start = PLACES.get(indices.dtype.char), PLACES.get(starts.dtype.char)
    if weight.dtype.char not in NUMBERS or label is None or start is None or not weight.size:
        return None
    if not starts.size or not all(a._c_contiguous for a in (weight, indices, starts)):
        return None
    shape, width = (starts.size, *weight.shape[1:]), prod(weight.shape[1:])
    return load("bags.cu", "bag_sums", weight.dtype.char, LABEL=label, START=start).prepared(
        blocks_for(prod(shape)), 256, (Result(3, shape, weight.dtype),), starts.size, indices.size,
        width, weight.shape[0], int(mean),
    )  # fmt: skip


def _bag_rows(g: DeviceArray, starts: DeviceArray, *, total: int, mean: bool) -> Any:
    start = PLACES.get(starts.dtype.char)
    if g.dtype.char not in NUMBERS or start is None or not g.size or not total:
        return None
    if not g._c_contiguous or not starts._c_contiguous:
        return None
    shape = (total, *g.shape[1:])
    return load("bags.cu", "bag_rows", g.dtype.char, START=start).prepared(
        blocks_for(prod(shape)), 256, (Result(2, shape, g.dtype),), starts.size, total, prod(g.shape[1:]), int(mean)
    )


kernel_for("cuda", "embedding_bag")(one_launch(_bag_sums))
kernel_for("cuda", "embedding_bag_rows")(one_launch(_bag_rows))
