"""Lists of arrays on the GPU: all of them scaled, cleared or measured by one or two launches."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import cupy
import numpy as np

from ...door import kernel_for
from ..code.sources import NUMBERS, load
from .casts import _is_gapless

_MOST = 128  # arrays of a launch: their addresses and sizes must fit into 4 KiB of arguments


def _one_kind(arrays: Sequence[Any]) -> str | None:
    """The dtype of a list that one launch can take, or None."""
    char = arrays[0].dtype.char
    alike = char in NUMBERS and all(a.dtype.char == char and _is_gapless(a) for a in arrays)
    return char if alike else None


def _across(arrays: Sequence[Any]) -> int:
    """Blocks for each array: enough for the largest, few where there are many."""
    widest = max([a.size for a in arrays])
    return max(1, min(-(-widest // 2048), max(16, 2048 // len(arrays))))


def _launch(name: str, formats: tuple, char: str, arrays: Sequence[Any], across: int, *values: Any,
            **constants: Any) -> None:  # fmt: skip
    room = 16 if len(arrays) <= 16 else _MOST
    fill = [0] * (room - len(arrays))
    addresses = [*[a.data.ptr for a in arrays], *fill, *[a.size for a in arrays], *fill]
    launch = load("foreach.cu", name, (f"{2 * room}Q", *formats), char, MAXT=room, **constants)
    launch.on_grid((across, len(arrays), 1), (256, 1, 1), 0, *addresses, *values)


def _scale(by: Any, arrays: Sequence[Any], limit: float) -> Any:
    char = _one_kind([by, *arrays])
    if char is None:
        return NotImplemented
    for first in range(0, len(arrays), _MOST):
        some = arrays[first : first + _MOST]
        _launch("list_scale", ("P", "d"), char, some, _across(some), by.data.ptr, limit)
    return ()


@kernel_for("cuda", "foreach_multiply")
def multiply(factor: Any, *arrays: Any) -> Any:
    return _scale(factor, arrays, -1.0)


@kernel_for("cuda", "foreach_clip")
def clip(total: Any, *arrays: Any, limit: float) -> Any:
    return _scale(total, arrays, limit) if limit >= 0 else NotImplemented


@kernel_for("cuda", "foreach_zero")
def zero(*arrays: Any) -> Any:
    char = _one_kind(arrays)
    if char is None:
        return NotImplemented
    for first in range(0, len(arrays), _MOST):
        some = arrays[first : first + _MOST]
        _launch("list_zero", (), char, some, _across(some))
    return ()


def _norm(arrays: Sequence[Any], order: float, whole: bool) -> Any:
    """The norms of all arrays, or the one of all together: a launch over parts, one that joins them."""
    char = _one_kind(arrays)
    if char is None or not (order in (1.0, 2.0) or (math.isinf(order) and order > 0)):
        return NotImplemented
    kind = 0 if math.isinf(order) else int(order)
    computed = np.dtype("d" if char == "d" else "f")
    across = _across(arrays)
    parts = cupy.ndarray((len(arrays) * across,), computed)
    for first in range(0, len(arrays), _MOST):
        some = arrays[first : first + _MOST]
        at = parts.data.ptr + first * across * computed.itemsize
        _launch("list_parts", ("P",), char, some, across, at, ORDER=kind)
    out = cupy.ndarray(() if whole else (len(arrays),), computed)
    join = load("foreach.cu", "list_norm", ("P", "P", "q"), char, MAXT=16, ORDER=kind)
    count = len(parts) if whole else across
    join.on_grid(
        (1 if whole else len(arrays), 1, 1), (256, 1, 1), 0, parts.data.ptr, out.data.ptr, count
    )
    return out


@kernel_for("cuda", "foreach_norms")
def norms(*arrays: Any, order: float) -> Any:
    return _norm(arrays, order, False)


@kernel_for("cuda", "foreach_total_norm")
def total_norm(*arrays: Any, order: float) -> Any:
    return _norm(arrays, order, True)
