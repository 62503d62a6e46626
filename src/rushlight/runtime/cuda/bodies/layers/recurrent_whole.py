"""Recurrent layers over whole sequences in one launch, whose blocks hold the weights and wait for each other."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

import cupy
import numpy as np
from cupy.cuda import runtime

from .....base.config import settings
from ....recurrent import GATES, Recurrence
from ...code.launch import Launch
from ...code.sources import block_room, device, load
from ...code.tables import kept
from ...memory.streams import current
from ...processors import multiprocessors

if TYPE_CHECKING:
    from .....base.protocols import DeviceArray

# As kernels/recurrent_whole.cu has them.
_UNITS, _ROWS, _THREADS, _WARPS = 8, 16, 256, 8
_APART = 32  # words between the counters of two teams
_CHARS = "feE"  # of dtypes
_SHORTEST = 3  # steps; fewer are a product and a launch for the gates each
_LEAST = 64  # rows of a product that a block takes at a time, if all do not fit
_TOGETHER, _ROOM, _MAJOR = (
    95,
    81,
    75,
)  # cudaDevAttr: CooperativeLaunch, MaxSharedMemoryPerMultiprocessor, ComputeCapabilityMajor


class _Cut(NamedTuple):
    """How a layer is cut into blocks."""

    launch: Launch
    blocks: int
    teams: int
    part: int  # rows of a product at a time
    shared: int
    scratch: int  # numbers, with the teams' counters in front


@lru_cache(512)
def _cut(index: int, name: str, char: str, tf32: bool, gates: int, hidden: int, batch: int) -> _Cut | None:
    """None where a GPU cannot hold all weights at once."""
    if char not in _CHARS or not runtime.deviceGetAttribute(_TOGETHER, index):
        return None
    deep, wide = -(-hidden // _UNITS) * _UNITS, _UNITS
    if name == "whole_backward":
        deep *= gates
    elif gates > 1:
        wide *= 4
    team, tiles = -(-hidden // _UNITS), -(-batch // _ROWS)
    for each in (2, 1):  # blocks of a multiprocessor: while one waits, the other computes
        teams = min(tiles, each * multiprocessors() // team)
        if not teams:
            continue
        room = min(block_room(), runtime.deviceGetAttribute(_ROOM, index) // each - 1024)
        fixed = 4 * (deep * wide + _WARPS * _ROWS * wide + 2 * _UNITS * _ROWS * -(-tiles // teams))
        part = min(deep, (room - fixed) // (4 * _ROWS) // 32 * 32)
        if part == deep or (each == 1 and part >= _LEAST):
            shared = fixed + 4 * _ROWS * part
            launch = load("recurrent_whole.cu", name, char, GATES=gates, TF32=int(tf32))
            launch.allow(shared)
            if launch.resident(_THREADS, shared) < each:
                continue
            scratch = _APART * teams + 2 * deep * tiles * _ROWS
            return _Cut(launch, teams * team, teams, part, shared, scratch)
    return None


def _by_tensor_cores(char: str) -> bool:
    """Numbers of 16 bits lose nothing by it; float32 is rounded where the user lets cuDNN do the same."""
    able = runtime.deviceGetAttribute(_MAJOR, device()) >= 8
    return able and (char != "f" or settings.cudnn_allow_tf32)


def _go(cut: _Cut, given: tuple, sizes: tuple, batch: int, hidden: int, last: tuple) -> bool:
    """Whether it was launched: a GPU that others share, or that is watched, may hold fewer blocks than it says."""
    scratch = cupy.ndarray((cut.scratch,), np.float32)
    runtime.memsetAsync(scratch.data.ptr, 0, 4 * _APART * cut.teams, current.ptr)
    exchange = scratch.data.ptr + 4 * _APART * cut.teams
    starts = None
    if sizes[-1] != sizes[0]:
        starts = kept(np.array([0, *accumulate(sizes)], np.int32))
    return cut.launch.together(
        cut.blocks, _THREADS, *given, exchange, scratch, starts, len(sizes), batch, hidden, *last,
        cut.teams, cut.part, shared=cut.shared,
    )  # fmt: skip


def fits(what: Recurrence, char: str, sizes: tuple, training: bool) -> bool:
    """Whether `forward`, and for training `backward`, take the layers of a stack."""
    if char not in _CHARS or what.projected or len(sizes) < _SHORTEST:
        return False
    fast, count = _by_tensor_cores(char), GATES[what.mode]
    names = ("whole_forward", "whole_backward")[: 1 + training]
    return all(_cut(device(), n, char, fast, count, what.hidden, sizes[0]) is not None for n in names)


def forward(
    mode: str, xw: DeviceArray, h0: DeviceArray, c0: DeviceArray | None, w_hh: DeviceArray, b_hh: DeviceArray | None, sizes: tuple,
    reverse: bool,
) -> tuple | None:  # fmt: skip
    """(gates, out, h_before, second, h, c), of which a mode leaves some out; None where it does not fit.

    All are dense; `second` is c before each step for an LSTM, the inner product of the new gate for a GRU.
    """
    batch, hidden = h0.shape
    gates, dtype, shape = GATES[mode], xw.dtype, (xw.shape[0], hidden)
    cut = _cut(device(), "whole_forward", dtype.char, _by_tensor_cores(dtype.char), gates, hidden, batch)
    if cut is None or len(sizes) < _SHORTEST:
        return None
    new = cupy.ndarray
    found = (
        new(xw.shape, dtype) if gates > 1 else None, new(shape, dtype), new(shape, dtype),
        new(shape, dtype) if gates > 1 else None, new(h0.shape, dtype),
        None if c0 is None else new(h0.shape, dtype),
    )  # fmt: skip
    begun = _go(cut, (xw, h0, c0, w_hh, b_hh, *found), sizes, batch, hidden, (reverse, mode == "relu"))
    return found if begun else None


def backward(
    mode: str, w_hh: DeviceArray, gates: DeviceArray | None, before: DeviceArray | None, y: DeviceArray | None, coming: tuple,
    sizes: tuple, reverse: bool,
) -> tuple | None:  # fmt: skip
    """(d, e, gh0, gc0) from what came for the outputs, h and c, each dense or None; e is a GRU's alone, gc0 an LSTM's."""
    count, (deep, hidden), batch = GATES[mode], w_hh.shape, sizes[0]
    fast = _by_tensor_cores(w_hh.dtype.char)
    cut = _cut(device(), "whole_backward", w_hh.dtype.char, fast, count, hidden, batch)
    if cut is None or len(sizes) < _SHORTEST:
        return None
    new, dtype, frames = cupy.ndarray, w_hh.dtype, sum(sizes)
    d = new((frames, deep), dtype)
    e = new(d.shape, dtype) if count == 3 else None
    gh0 = new((batch, hidden), dtype)
    gc0 = new(gh0.shape, dtype) if count == 4 else None
    given = (w_hh, gates, before, y, *coming, d, e, gh0, gc0)
    begun = _go(cut, given, sizes, batch, hidden, (reverse, mode == "relu"))
    return (d, e, gh0, gc0) if begun else None
