"""Embeddings on the GPU: rows of a table by number, and where their gradients go."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from ....base.config import settings
from ....base.dtypes import from_np
from ...door import kernel_for
from ..code.sources import NUMBERS, blocks_for, load
from .fills import fill, row_major
from .pointwise import compute

if TYPE_CHECKING:
    from ....base.protocols import DeviceArray

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


@kernel_for("cuda", "embedding_grad")
def embedding_grad(
    gy: DeviceArray, indices: DeviceArray, *, rows: int, padding_idx: int, scale_by_freq: bool
) -> Any:
    char, label = gy.dtype.char, _LABELS.get(indices.dtype.char)
    if char not in NUMBERS or label is None or not gy.size or not rows:
        return NotImplemented
    gy, indices = row_major(gy), row_major(indices)
    shape = (rows, *gy.shape[indices.ndim :])
    if settings.deterministic or scale_by_freq:
        return _in_order(gy, indices, shape, padding_idx, scale_by_freq, label)
    out = cupy.ndarray(shape, np.float64 if char == "d" else np.float32)
    fill(out, 0)
    formats = ("P", "P", "P", "q", "i", "q", "q")
    load("embedding.cu", "embedding_add", formats, char, LABEL=label)(
        blocks_for(gy.size), 256, gy.data.ptr, indices.data.ptr, out.data.ptr, gy.size,
        prod(shape[1:]), rows, padding_idx,
    )  # fmt: skip
    return (
        out if out.dtype == gy.dtype else compute("cast", (out,), (), None, from_np(gy.dtype).name)
    )


def _in_order(
    gy: DeviceArray,
    indices: DeviceArray,
    shape: tuple,
    padding_idx: int,
    by_count: bool,
    label: str,
) -> Any:
    """Sums in the order of the places: the same bits every time."""
    flat = indices.reshape(-1)
    order = cupy.argsort(flat)  # a radix sort, which is stable
    chosen = flat[order]
    out = cupy.zeros(shape, gy.dtype)
    formats = ("P", "P", "P", "P", "q", "i", "q", "q", "i")
    width = prod(shape[1:])
    load("embedding.cu", "embedding_sorted", formats, gy.dtype.char, LABEL=label)(
        flat.size, min(256, max(32, -(-width // 32) * 32)), gy.data.ptr, order.data.ptr,
        chosen.data.ptr, out.data.ptr, flat.size, width, shape[0], padding_idx, int(by_count),
    )  # fmt: skip
    return out
