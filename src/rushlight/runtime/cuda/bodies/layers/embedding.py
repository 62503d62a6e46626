"""Embeddings on the GPU: rows of a table by number, and where their gradients go."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from ....door import kernel_for
from ...code.sources import NUMBERS, blocks_for, load
from ..fills import fill, row_major

if TYPE_CHECKING:
    from .....base.protocols import DeviceArray

_LABELS = {"l": "i64", "q": "i64", "i": "int"}


@kernel_for("cuda", "embedding")
def embedding(
    weight: DeviceArray, indices: DeviceArray, *, padding_idx: int, scale_by_freq: bool
) -> Any:
    label = _LABELS.get(indices.dtype.char)
    if weight.dtype.char not in NUMBERS or label is None or not indices.size or not weight.size:
        return NotImplemented
    weight, indices = row_major(weight), row_major(indices)
    out = cupy.ndarray(indices.shape + weight.shape[1:], weight.dtype)
    formats = ("P", "P", "P", "q", "i", "q")
    load("embedding.cu", "embedding", formats, weight.dtype.char, LABEL=label)(
        blocks_for(out.size), 256, weight.data.ptr, indices.data.ptr, out.data.ptr, out.size,
        prod(weight.shape[1:]), weight.shape[0],
    )  # fmt: skip
    return out


@kernel_for("cuda", "embedding_add")
def embedding_add(
    weight: DeviceArray,
    indices: DeviceArray,
    other: DeviceArray,
    *,
    padding_idx: int,
    scale_by_freq: bool,
) -> Any:
    """Rows of a table, with `other` added to them; its shape is the end of the result's."""
    char, label = weight.dtype.char, _LABELS.get(indices.dtype.char)
    if char not in NUMBERS or label is None or not indices.size or not weight.size:
        return NotImplemented
    if other.dtype != weight.dtype or not other.size:
        return NotImplemented
    weight, indices, other = row_major(weight), row_major(indices), row_major(other)
    out = cupy.ndarray(indices.shape + weight.shape[1:], weight.dtype)
    formats = ("P", "P", "P", "P", "q", "i", "q", "q")
    load("embedding_add.cu", "embedding_add", formats, char, LABEL=label)(
        blocks_for(out.size), 256, weight.data.ptr, indices.data.ptr, other.data.ptr, out.data.ptr,
        out.size, prod(weight.shape[1:]), weight.shape[0], other.size,
    )  # fmt: skip
    return out


_FEW, _WARPS = 64, 16  # of embedding.cu


@kernel_for("cuda", "embedding_grad")
def embedding_grad(
    gy: DeviceArray, indices: DeviceArray, *, rows: int, padding_idx: int, scale_by_freq: bool
) -> Any:
    """Sums in the order of the places: the same bits every time, without a sort."""
    char, label = gy.dtype.char, _LABELS.get(indices.dtype.char)
    places = indices.size
    if char not in NUMBERS or label is None or not gy.size or not rows or places >= 2**31:
        return NotImplemented
    gy, indices = row_major(gy), row_major(indices)
    shape = (rows, *gy.shape[indices.ndim :])
    width, most = prod(shape[1:]), places // (_FEW + 1)  # rows that may have many places
    room = cupy.ndarray((2 * rows + most + 1 + places,), np.int32)
    fill(room[: rows + 1], 0)
    counts = room.data.ptr
    many = counts + 4 * rows
    ends = many + 4 * (most + 1)
    places_of = ends + 4 * rows
    g, index, by_count = gy.data.ptr, indices.data.ptr, int(scale_by_freq)
    out = cupy.ndarray(shape, gy.dtype)
    blocks, names = blocks_for(places), {"LABEL": label}
    load("embedding.cu", "embedding_counts", ("P", "P", "q", "q", "q"), char, **names)(
        blocks, 256, index, counts, places, rows, padding_idx
    )
    load("embedding.cu", "embedding_starts", ("P", "P", "P", "q"), char, **names)(
        1, 1024, counts, ends, many, rows
    )
    load("embedding.cu", "embedding_lists", ("P", "P", "P", "q", "q", "q"), char, **names)(
        blocks, 256, index, ends, places_of, places, rows, padding_idx
    )
    formats: tuple[str, ...] = ("P", "P", "P", "P", "P", "i", "q", "i")
    load("embedding.cu", "embedding_few", formats, char, **names)(
        min(rows, 2**20), min(256, -(-width // 32) * 32), g, counts, ends, places_of, out.data.ptr,
        width, rows, by_count,
    )  # fmt: skip
    if most:
        formats = ("P", "P", "P", "P", "P", "P", "q", "i", "i")
        load("embedding.cu", "embedding_many", formats, char, **names).on_grid(
            (min(most, 1024), -(-width // 32), 1), (32 * _WARPS, 1, 1), 0, g, counts, ends, places_of,
            many, out.data.ptr, places, width, by_count,
        )  # fmt: skip
    return out
