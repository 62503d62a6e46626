"""Lists of arrays on the GPU: all of them scaled, cleared or measured by one or two launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ...door import kernel_for
from ..code.launch import gathered
from ..code.sources import NUMBERS, load
from ..processors import multiprocessors

_MOST = 128  # arrays of a launch: their addresses and sizes must fit into 4 KiB of arguments
_LEAST = 4096  # numbers of a block at least
_BLOCKS = 16  # blocks for each multiprocessor at most


class _Group(NamedTuple):
    """Up to _MOST arrays of one kind."""

    addresses: list[int]
    sizes: list[int]
    cut: _Blocks


class _Blocks(NamedTuple):
    """How many numbers a block takes, and the number of each array's first block: all blocks have the same work."""

    length: int
    first: list[int]


def _groups(arrays: Sequence[Any]) -> tuple[str, list[_Group]] | None:
    """The dtype of a list and its parts, each for a launch; None for a list that launches cannot take."""
    found = gathered(arrays)
    if found is None or found[0].char not in NUMBERS:
        return None
    dtype, addresses, sizes = found
    made = []
    for i in range(0, len(sizes), _MOST):
        some = sizes[i : i + _MOST]
        made.append(_Group(addresses[i : i + _MOST], some, _cut(tuple(some), multiprocessors())))
    return dtype.char, made


@lru_cache(256)
def _cut(sizes: tuple[int, ...], processors: int) -> _Blocks:
    length = max(_LEAST, -(-sum(sizes) // (processors * _BLOCKS)))
    length = -(-length // _LEAST) * _LEAST
    return _Blocks(length, [0, *accumulate([-(-n // length) for n in sizes])])


def _launch(name: str, char: str, group: _Group, *values: Any, **constants: Any) -> None:
    """One launch over a group."""
    addresses, sizes, (length, first) = group
    if not first[-1]:  # nothing but empty arrays
        return
    room = 16 if len(sizes) <= 16 else _MOST
    fill = [0] * (room - len(sizes))
    starts = [*first, *[first[-1]] * len(fill)]
    launch = load("foreach.cu", name, char, MAXT=room, **constants)
    launch(first[-1], 256, *addresses, *fill, *sizes, *fill, *starts, length, *values)


def _scale(by: DeviceArray, arrays: Sequence[Any], limit: float) -> Any:
    found = _groups(arrays)
    if found is None or by.dtype.char != found[0]:
        return NotImplemented
    char, groups = found
    for group in groups:
        _launch("list_scale", char, group, by, limit)
    return ()


@kernel_for("cuda", "foreach_multiply")
def multiply(factor: DeviceArray, *arrays: DeviceArray) -> Any:
    return _scale(factor, arrays, -1.0)


@kernel_for("cuda", "foreach_clip")
def clip(total: DeviceArray, *arrays: DeviceArray, limit: float) -> Any:
    return _scale(total, arrays, limit) if limit >= 0 else NotImplemented


def _on_all(name: str, arrays: Sequence[Any], *values: float) -> Any:
    found = _groups(arrays)
    if found is None:
        return NotImplemented
    for group in found[1]:
        _launch(name, found[0], group, *values)
    return ()


@kernel_for("cuda", "foreach_zero")
def zero(*arrays: DeviceArray) -> Any:
    return _on_all("list_zero", arrays)


@kernel_for("cuda", "foreach_limit")
def limited(*arrays: DeviceArray, limit: float) -> Any:
    return _on_all("list_limit", arrays, limit) if limit >= 0 else NotImplemented


def _norm(arrays: Sequence[Any], order: float, whole: bool) -> Any:
    """The norms of all arrays, or the one of all together: a launch over parts, one that joins them."""
    found = _groups(arrays)
    if found is None or not (order in (1.0, 2.0) or (math.isinf(order) and order > 0)):
        return NotImplemented
    char, groups = found
    kind = 0 if math.isinf(order) else int(order)
    computed = np.dtype("d" if char == "d" else "f")
    parts = cupy.ndarray((sum([group.cut.first[-1] for group in groups]),), computed)
    at, starts = 0, []
    for group in groups:
        first, place = group.cut.first, parts.data.ptr + at * computed.itemsize
        _launch("list_parts", char, group, place, ORDER=kind)
        if not whole:
            starts += [at + block for block in first[:-1]]
        at += first[-1]
    if whole:
        out = cupy.ndarray((), computed)
        join = load("foreach.cu", "list_norm", char, MAXT=16, ORDER=kind)
        join(1, 1024, parts, out, at)
        return out
    out = cupy.ndarray((len(arrays),), computed)
    starts.append(at)
    for i in range(0, len(arrays), _MOST):
        some = starts[i : i + _MOST + 1]
        join = load("foreach.cu", "list_norms", char, MAXT=_MOST, ORDER=kind)
        fill = [0] * (_MOST + 1 - len(some))
        place = out.data.ptr + i * computed.itemsize
        join(len(some) - 1, 256, *some, *fill, parts, place)
    return out


@kernel_for("cuda", "foreach_norms")
def norms(*arrays: DeviceArray, order: float) -> Any:
    return _norm(arrays, order, False)


@kernel_for("cuda", "foreach_total_norm")
def total_norm(*arrays: DeviceArray, order: float) -> Any:
    return _norm(arrays, order, True)
