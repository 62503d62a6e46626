"""Lists of arrays on the GPU: all of them scaled, cleared or measured by one or two launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from ...door import kernel_for
from ..code.sources import NUMBERS, load
from ..processors import multiprocessors
from .casts import _is_gapless

if TYPE_CHECKING:
    from ....base.protocols import DeviceArray

_MOST = 128  # arrays of a launch: their addresses and sizes must fit into 4 KiB of arguments
_LEAST = 4096  # numbers of a block at least
_BLOCKS = 16  # blocks for each multiprocessor at most


def _one_kind(arrays: Sequence[Any]) -> str | None:
    """The dtype of a list that one launch can take, or None."""
    char = arrays[0].dtype.char
    alike = char in NUMBERS and all(a.dtype.char == char and _is_gapless(a) for a in arrays)
    return char if alike else None


def _cut(arrays: Sequence[Any]) -> tuple[int, list[int]]:
    """How many numbers a block takes, and the number of each array's first block: all blocks have the same work."""
    total = sum([a.size for a in arrays])
    length = max(_LEAST, -(-total // (multiprocessors() * _BLOCKS)))
    length = -(-length // _LEAST) * _LEAST
    return length, [0, *accumulate([-(-a.size // length) for a in arrays])]


def _launch(name: str, formats: tuple, char: str, arrays: Sequence[Any], length: int, first: list[int],
            *values: Any, **constants: Any) -> None:  # fmt: skip
    """One launch over at most _MOST arrays."""
    if not first[-1]:  # nothing but empty arrays
        return
    room = 16 if len(arrays) <= 16 else _MOST
    fill = [0] * (room - len(arrays))
    addresses = [*[a.data.ptr for a in arrays], *fill, *[a.size for a in arrays], *fill]
    starts = [*first, *[first[-1]] * len(fill)]
    launch = load(
        "foreach.cu",
        name,
        (f"{2 * room}Q", f"{room + 1}i", "q", *formats),
        char,
        MAXT=room,
        **constants,
    )
    launch.on_grid((first[-1], 1, 1), (256, 1, 1), 0, *addresses, *starts, length, *values)


def _scale(by: DeviceArray, arrays: Sequence[Any], limit: float) -> Any:
    char = _one_kind([by, *arrays])
    if char is None:
        return NotImplemented
    for first in range(0, len(arrays), _MOST):
        some = arrays[first : first + _MOST]
        _launch("list_scale", ("P", "d"), char, some, *_cut(some), by.data.ptr, limit)
    return ()


@kernel_for("cuda", "foreach_multiply")
def multiply(factor: DeviceArray, *arrays: DeviceArray) -> Any:
    return _scale(factor, arrays, -1.0)


@kernel_for("cuda", "foreach_clip")
def clip(total: DeviceArray, *arrays: DeviceArray, limit: float) -> Any:
    return _scale(total, arrays, limit) if limit >= 0 else NotImplemented


@kernel_for("cuda", "foreach_zero")
def zero(*arrays: DeviceArray) -> Any:
    char = _one_kind(arrays)
    if char is None:
        return NotImplemented
    for first in range(0, len(arrays), _MOST):
        some = arrays[first : first + _MOST]
        _launch("list_zero", (), char, some, *_cut(some))
    return ()


def _norm(arrays: Sequence[Any], order: float, whole: bool) -> Any:
    """The norms of all arrays, or the one of all together: a launch over parts, one that joins them."""
    char = _one_kind(arrays)
    if char is None or not (order in (1.0, 2.0) or (math.isinf(order) and order > 0)):
        return NotImplemented
    kind = 0 if math.isinf(order) else int(order)
    computed = np.dtype("d" if char == "d" else "f")
    groups = [arrays[i : i + _MOST] for i in range(0, len(arrays), _MOST)]
    cuts = [_cut(some) for some in groups]
    parts = cupy.ndarray((sum([first[-1] for _, first in cuts]),), computed)
    at, starts = 0, []
    for some, (length, first) in zip(groups, cuts):
        place = parts.data.ptr + at * computed.itemsize
        _launch("list_parts", ("P",), char, some, length, first, place, ORDER=kind)
        starts += [at + block for block in first[:-1]]
        at += first[-1]
    if whole:
        out = cupy.ndarray((), computed)
        join = load("foreach.cu", "list_norm", ("P", "P", "q"), char, MAXT=16, ORDER=kind)
        join.on_grid((1, 1, 1), (1024, 1, 1), 0, parts.data.ptr, out.data.ptr, at)
        return out
    out = cupy.ndarray((len(arrays),), computed)
    starts.append(at)
    for i in range(0, len(arrays), _MOST):
        some = starts[i : i + _MOST + 1]
        formats = (f"{_MOST + 1}i", "P", "P")
        join = load("foreach.cu", "list_norms", formats, char, MAXT=_MOST, ORDER=kind)
        fill = [0] * (_MOST + 1 - len(some))
        place = out.data.ptr + i * computed.itemsize
        join.on_grid((len(some) - 1, 1, 1), (256, 1, 1), 0, *some, *fill, parts.data.ptr, place)
    return out


@kernel_for("cuda", "foreach_norms")
def norms(*arrays: DeviceArray, order: float) -> Any:
    return _norm(arrays, order, False)


@kernel_for("cuda", "foreach_total_norm")
def total_norm(*arrays: DeviceArray, order: float) -> Any:
    return _norm(arrays, order, True)
