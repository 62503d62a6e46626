"""Optimiser steps on the GPU: one launch changes all parameters of a group.

Addresses, sizes and the group's numbers travel as kernel arguments, so an eager step uploads nothing. A CUDA
graph keeps its arguments for ever; while a stream is capturing, the numbers are therefore read from a small
device array, and `each_replay` is given a function that refreshes it: whoever captures collects these hooks and calls
them, in the stream of the replay, before each launch of the graph. The same array serves parameters whose
numbers differ, because some were stepped less often: a row of it for each.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple
from weakref import ref

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ....base.errors import AcceleratorError
from ... import devices
from ...door import each_replay, kernel_for, replay_hooks
from ..code.compile import Launch, kernel, source
from ..code.launch import are_again, is_gapless
from ..code.sources import NUMBERS, device, options
from ..library.cublaslt import is_capturing
from ..memory.lost import insist
from ..memory.pool import allocate
from ..memory.streams import current
from .fills import copy_to
from .update_sources import RULES, with_rule

_MOST = 64  # parameters of a launch: their addresses must fit into 4 KiB of arguments
_HELD = 8
_BLOCKS = 8192  # of a launch at most: several for each that can run at once, so that all end at about the same time


def text(name: str) -> str:
    """The CUDA source of an optimiser's kernel."""
    return source("common.cu") + with_rule(name, source("update.cu"))


_kernels: dict[tuple, Launch] = Bounded(1024)


def _launch(name: str, char: str, arrays: int, room: int, flags: tuple) -> Launch:
    key = (name, char, arrays, room, flags, device())
    found = _kernels.get(key)
    if found is None:
        constants = {flag.upper(): int(value) for flag, value in flags}
        found = _kernels[key] = kernel(text(name), "update", options(char, ARRAYS=arrays, MAXT=room, **constants))
    return found


def _alike(a: DeviceArray, p: DeviceArray) -> bool:
    """Whether `a` lies in memory as the parameter `p` does."""
    if a._c_contiguous and p._c_contiguous:
        return True
    return all(n == 1 or s == t for n, s, t in zip(p.shape, a.strides, p.strides))


def _can_lay_out(arrays: list[Any], n: int) -> bool:
    """Whether one kernel can walk over all: one dtype, states as their parameters lie, gradients as they may."""
    char = arrays[0].dtype.char
    if char not in NUMBERS:
        return False
    for i, a in enumerate(arrays):
        p = arrays[i % n]
        if a.dtype.char != char or a.shape != p.shape:
            return False
        if a is p:
            if not is_gapless(a):
                return False
        elif not n <= i < 2 * n and not _alike(a, p):
            return False
    return True


def _laid_out(arrays: list[Any], n: int) -> list[Any] | None:
    """The arrays, gradients brought into their parameter's order; None when that is not possible."""
    if not _can_lay_out(arrays, n):
        return None
    for i in range(n, 2 * n):
        a, p = arrays[i], arrays[i - n]
        if not _alike(a, p):
            arrays[i] = _copied(a, p)
    return arrays


def _brought_together(arrays: list[Any], n: int) -> tuple[list[Any], list[tuple[Any, Any]]] | None:
    """The arrays, copies of those that lie otherwise than one kernel can walk, and (array, copy) to be written back."""
    if _can_lay_out(arrays, n):
        return _laid_out(arrays, n) or [], []
    char = arrays[0].dtype.char
    if char not in NUMBERS or any(a.dtype.char != char or a.shape != arrays[i % n].shape for i, a in enumerate(arrays)):
        return None
    back = []
    memory = Counter([id(a.data.mem) for a in arrays])
    for i, a in enumerate(arrays):
        p = arrays[i % n]  # by then a dense one
        if is_gapless(a) if i < n else _alike(a, p):
            continue
        if memory[id(a.data.mem)] > 1:
            return None  # one may show what another writes
        arrays[i] = _copied(a, None if i < n else p)
        if not n <= i < 2 * n:
            back.append((a, arrays[i]))
    return arrays, back


def _copied(a: DeviceArray, like: DeviceArray | None) -> Any:
    """A copy that lies as another array does, or row-major."""
    strides = None if like is None else like.strides
    made = cupy.ndarray(a.shape, a.dtype, cupy.cuda.alloc(max(a.nbytes, 1)), strides)
    copy_to(made, a)
    return made


_ready: list[Any] = []  # device arrays for the numbers of calls that were prepared


class _Live:
    """Numbers in a device array that follows the host's: one row, or a row for each parameter."""

    def __init__(self, hyper: np.ndarray) -> None:
        self.host = hyper
        self.sent = b""
        self.row = _HELD if hyper.ndim == 2 else 0
        # Not from the capture's own pool: there the block may have served an earlier kernel of the
        # graph, which would write over the numbers before they are read.
        shape = (*hyper.shape[:-1], _HELD)
        found = [a for a in _ready if a.shape == shape]
        if found and not (current.ptr and is_capturing()):
            self.device = found[0]
            _ready[:] = [a for a in _ready if a is not found[0]]
            return
        with cupy.cuda.using_allocator(allocate):
            self.device = cupy.ndarray(shape, np.float64)

    def refresh(self) -> None:
        now = self.host.tobytes()
        if now == self.sent:
            return
        # From pageable memory: the driver copies these bytes aside before the call returns.
        values = np.zeros(self.device.shape)
        values[..., : self.host.shape[-1]] = self.host
        self.device.data.copy_from_host_async(values.ctypes.data, values.nbytes, cupy.cuda.get_current_stream())
        self.sent = now  # not before: a copy that failed is made again


class _Part(NamedTuple):
    """A launch in C over some of the parameters, and where the numbers stand among its arguments."""

    call: Any
    at: int
    first: int
    stop: int


class _Again:
    """A step over the parameters and states of an earlier one: only gradients and numbers are new."""

    __slots__ = ("calls", "dtype", "numbers", "orders", "refs")

    def __init__(self, calls: list[_Part], arrays: list[Any], n: int) -> None:
        self.calls, self.dtype = calls, arrays[0].dtype
        self.numbers: list[float] = []
        self.refs = tuple([ref(a) for a in (*arrays[:n], *arrays[2 * n :])])
        self.orders = tuple([True if a._c_contiguous else a.strides for a in arrays[:n]])

    def fits(self, arrays: Sequence[Any], n: int, first: int = 0) -> bool:
        """Whether these, from the `first` on, are the same arrays still and the gradients lie as they must."""
        return are_again(arrays, first, n, self.refs, self.orders, self.dtype)

    def launch(self, hyper: np.ndarray, gradients: tuple) -> None:
        numbers = hyper.tolist()
        if numbers != self.numbers:
            packed = _NUMBERS.pack(*numbers, *(0.0,) * (_HELD - len(numbers)))
            for part in self.calls:
                part.call.put(part.at, packed)
            self.numbers = numbers
        for call, _, first, stop in self.calls:
            some = gradients[first:stop]
            try:
                call(*some)
            except AcceleratorError as error:
                insist(error, partial(call, *some))


_NUMBERS = struct.Struct(f"{_HELD}d")
_again: dict[tuple, _Again] = Bounded(256)


def _step(name: str, hyper: np.ndarray, arrays: tuple, flags: dict[str, Any]) -> Any:
    n = flags["n"]
    key = (name, len(arrays), *flags.values(), id(arrays[0]) if n else 0)
    known = _again.get(key) if hyper.ndim == 1 else None
    if known is not None and not current.ptr and known.fits(arrays, n):
        known.launch(hyper, arrays[n : 2 * n])
        return ()
    found = _brought_together(list(arrays), n) if n else None
    if found is None:
        return NotImplemented
    held, back = found
    char, states = held[0].dtype.char, len(held) // n
    live = _live_numbers(hyper)
    given = hyper.tolist() if live is None else []
    given += [0.0] * (_HELD - len(given))
    options_ = tuple([(k, v) for k, v in flags.items() if k != "n"])
    calls = []
    parts: list[_Part] = []
    for first in range(0, n, _MOST):
        count = min(_MOST, n - first)
        room = 8 if count <= 8 else 16 if count <= 16 else 32 if count <= 32 else _MOST
        fill = [0] * (room - count)
        values: list[int] = []
        for k in range(states):
            start = k * n + first
            values += [a.data.ptr for a in held[start : start + count]]
            values += fill
        sizes = [a.size for a in held[first : first + count]]
        pieces = sum([-(-size // 1024) for size in sizes])  # numbers that a block takes in one turn or in two
        across = max(1, -(-min(pieces, _BLOCKS) // count))
        launch = _launch(name, char, states, room, options_)
        at, row = (0, 0) if live is None else (live.device.data.ptr + 8 * first * live.row, live.row)
        values += [*sizes, *fill, *given, at, row]
        calls.append(partial(launch, (across, count, 1), 256, *values))
        if live is None:
            places = tuple([8 * (room + i) for i in range(count)])
            call = launch.with_places((across, count, 1), 256, places, *values)
            parts.append(_Part(call, 8 * room * (states + 1), first, first + count))
    if not back:
        _remember(key, parts, held, n)
    for call in calls:  # all are compiled: only the driver can still fail
        try:
            call()
        except AcceleratorError as error:
            insist(error, call)
    for array, copy in back:
        copy_to(array, copy)
    return ()


def _live_numbers(hyper: np.ndarray) -> _Live | None:
    """The numbers on the device, where they cannot be arguments: in a graph, or one row for each."""
    capturing = current.ptr and is_capturing()
    if not capturing and hyper.ndim == 1:
        return None
    box = _Live(hyper)
    if capturing:
        each_replay(box.refresh)  # who captures holds the box by it
    else:
        box.refresh()
    return box


def _remember(key: tuple, parts: list[_Part], arrays: list[Any], n: int) -> None:
    """Keep launches for the next step of these parameters, where the C extension made them."""
    if parts and all(part.call is not None for part in parts):
        _again[key] = _Again(parts, arrays, n)


def _register(name: str) -> None:
    @kernel_for("cuda", name)
    def run(hyper: Any, *arrays: Any, **flags: Any) -> Any:
        return _step(name, hyper, arrays, flags)


for _name in RULES:
    _register(_name)


def _prepare(name: str, arrays: list[Any], flags: dict[str, Any], several: bool) -> bool:
    """Make the arrays that a call will need; False where it would be several kernels, which could fail halfway."""
    n = flags["n"]
    if name not in RULES or not n:
        return False
    key = (name, len(arrays) - 1, *flags.values(), id(arrays[1]))
    known = _again.get(key) if arrays[0].ndim == 1 else None
    if known is not None and known.fits(arrays, n, first=1):
        return True
    if not _can_lay_out(arrays[1:], n):
        return False
    if not several:  # one launch, which makes all its arrays before it starts
        return True
    gradients = zip(arrays[n + 1 : 2 * n + 1], arrays[1 : n + 1])
    if replay_hooks() is not None and not all(_alike(g, p) for g, p in gradients):
        return False  # a recorder knows arrays by identity: they must not be exchanged for others
    arrays[1:] = _laid_out(arrays[1:], n) or ()
    if arrays[0].ndim == 2:
        _ready.append(cupy.ndarray((n, _HELD), np.float64))
        del _ready[:-_MOST]  # steps that failed left arrays here
    return True


devices.known.preparers[cupy.ndarray] = _prepare
