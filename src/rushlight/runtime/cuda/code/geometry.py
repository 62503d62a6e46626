"""Shapes and strides of operands, reduced to the fewest dims a kernel has to walk."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded

_collapsed: dict[tuple, tuple] = Bounded(4096)
_FITS = 2**31 - 1


def collapse(shape: tuple[int, ...], out: DeviceArray, arrays: list[Any]) -> tuple[list, list, bool]:
    """Sizes, the strides of all operands in elements (`out` first), and whether 32 bits hold them.

    Arrays broadcast to `shape`. Dims of size 1 fall away; neighbours that every operand walks as
    one become one. The dims are put in the order of `out`'s memory, slowest first.
    """
    key = (shape, out.strides, out.itemsize, *[(a.shape, a.strides, a.itemsize) for a in arrays])
    found = _collapsed.get(key)
    if found is None:
        found = _collapsed[key] = _collapse(shape, out, arrays)
    return found


def _element_strides(a: DeviceArray, shape: tuple[int, ...]) -> list[int]:
    item, lead = a.itemsize, len(shape) - a.ndim
    steps = [0] * lead
    for n, s, whole in zip(a.shape, a.strides, shape[lead:]):
        steps.append(0 if n == 1 and whole != 1 else s // item)
    return steps


def _collapse(shape: tuple[int, ...], out: DeviceArray, arrays: list[Any]) -> tuple[list, list, bool]:
    rows = [_element_strides(a, shape) for a in (out, *arrays)]
    order = [d for d in range(len(shape)) if shape[d] != 1]
    order.sort(key=lambda d: (-abs(rows[0][d]), d))
    sizes: list[int] = []
    steps: list[list[int]] = [[] for _ in rows]
    for d in order:
        n = shape[d]
        if sizes and all(s[-1] == row[d] * n for s, row in zip(steps, rows)):
            sizes[-1] *= n
            for s, row in zip(steps, rows):
                s[-1] = row[d]
        else:
            sizes.append(n)
            for s, row in zip(steps, rows):
                s.append(row[d])
    if not sizes:
        sizes, steps = [1], [[0] for _ in rows]
    reach = max(sum((n - 1) * abs(s) for n, s in zip(sizes, row)) for row in steps)
    flat = [s for row in steps for s in row]
    return sizes, flat, reach < _FITS


def layout_like(arrays: list[Any], shape: tuple[int, ...]) -> tuple[int, ...] | None:
    """The order of dims in memory, slowest first, of a result; None for row-major.

    As NumPy's "K" order: that of the first operand with the result's shape. Expanded dims have none, so
    then the next operand decides.
    """
    for a in arrays:
        if a.shape == shape:
            if any(s == 0 and n > 1 for s, n in zip(a.strides, shape)):
                continue
            if a._c_contiguous:
                return None
            order = sorted(range(len(shape)), key=lambda i: (-abs(a.strides[i]), i))
            return None if order == list(range(len(shape))) else tuple(order)
    return None


_places: dict[tuple, tuple[int, tuple[int, ...]]] = Bounded(4096)


def allocate(shape: tuple[int, ...], dtype: np.dtype, order: tuple[int, ...] | None) -> Any:
    """New memory with its dims in the given order."""
    if order is None:
        return cupy.ndarray(shape, dtype)
    size = dtype.itemsize
    found = _places.get((shape, order, size))
    if found is None:
        strides = [0] * len(shape)
        step = size
        for axis in reversed(order):
            strides[axis] = step
            step *= shape[axis]
        found = _places[shape, order, size] = (step, tuple(strides))
    # Not a transposed view: an array that owns its memory may become a `.grad` without a copy.
    return cupy.ndarray(shape, dtype, cupy.cuda.alloc(found[0]), found[1])


def dense_like(arrays: list[Any], shape: tuple[int, ...], dtype: np.dtype) -> Any:
    """New memory for a result, its dims in memory in the order of the first whole operand."""
    return allocate(shape, dtype, layout_like(arrays, shape))
