"""Which of cuDNN's algorithms runs a stack of recurrent layers: tried on its shapes, once."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from time import perf_counter
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from ....base.config import settings
from ...recurrent import Recurrence, Way
from .cublaslt import is_capturing
from .cudnn_rnn import (
    KEPT,
    PERSIST_SMALL,
    PERSIST_STATIC,
    STANDARD,
    TYPES,
    CudnnRefused,
    RnnCall,
    call_of,
    library,
)
from .measuring import stopwatch

_RUNS = 3  # calls of each algorithm when they are compared
_AHEAD = 0.85  # of the standard algorithm's time, to be taken in its place: the same one is chosen in every run


def way(what: Recurrence, char: str, sizes: tuple[int, ...], training: bool) -> Way | None:
    """How cuDNN runs a stack; None where it is switched off, absent, or refuses.

    Algorithms are compared once per kind of stack and powers of two of batch and steps, so that batches and
    lengths which change from call to call cost nothing. One that refuses sizes near those it was compared on
    gives way to the standard one.
    """
    if not settings.cudnn_enabled or char not in TYPES or library() is None:
        return None
    device, tf32 = runtime.getDevice(), settings.cudnn_allow_tf32
    chosen = _choose(
        device, what, char, tf32, sizes[0].bit_length(), len(sizes).bit_length(), sizes[-1] != sizes[0],
        training, settings.deterministic, _CallLengths(sizes),
    )  # fmt: skip
    for algorithm in () if chosen is None else (chosen, STANDARD):
        try:
            return call_of(device, what, char, tf32, algorithm, sizes, training).stack.way
        except CudnnRefused:
            continue
    return None


class _CallLengths:
    """The lengths of one call; they are not part of the key under which a choice is kept."""

    __slots__ = ("sizes",)

    def __init__(self, sizes: tuple[int, ...]) -> None:
        self.sizes = sizes

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _CallLengths)

    def __hash__(self) -> int:
        return 0


measured: dict[int, float] = {}  # milliseconds of each algorithm, when they were compared last


@lru_cache(KEPT)
def _choose(
    device: int, what: Recurrence, char: str, tf32: bool, batches: int, steps: int, packed: bool,
    training: bool, deterministic: bool, example: _CallLengths,
) -> int | None:  # fmt: skip
    """The quickest algorithm for sequences like the example's."""
    calls = []
    for algorithm in (STANDARD, PERSIST_SMALL, PERSIST_STATIC):
        try:
            calls.append(call_of(device, what, char, tf32, algorithm, example.sizes, training))
        except CudnnRefused:
            continue
        if deterministic or is_capturing():
            break
    if len(calls) < 2:
        return calls[0].stack.way.algorithm if calls else None
    measured.clear()
    for call in calls:
        try:
            measured[call.stack.way.algorithm] = _milliseconds(call, example.sizes)
        except RuntimeError:
            continue
    if not measured:
        return None
    best = min(measured, key=measured.__getitem__)
    standard = measured.get(STANDARD)
    return best if standard is None or measured[best] < _AHEAD * standard else STANDARD


def _milliseconds(call: RnnCall, sizes: tuple[int, ...]) -> float:
    """The GPU's time of forward and, for training, backward on arrays of their own, full of random numbers.

    Launches are queued while the GPU is kept busy, so that how quick the host is today makes no difference.
    """
    what, char = call.stack.what, call.stack.char
    itemsize = 8 if char == "d" else 4 if char == "f" else 2
    frames, batch = sum(sizes), sizes[0]

    def noise(*shape: int) -> Any:
        return cupy.random.random(-(-prod(shape) * itemsize // 4), dtype=np.float32) * 0.1

    cells = what.layers * what.directions
    x, y, gy = [
        noise(frames, n) for n in (what.width, *[what.out * what.directions] * 2)
    ]  # fmt: skip
    h, h0, c, c0 = [noise(cells, batch, n) for n in (what.out, what.out, what.hidden, what.hidden)]
    w = noise(call.stack.way.size)
    gx, gw = noise(frames, what.width), cupy.zeros_like(w)
    reserve = cupy.ndarray((call.reserve,), np.uint8)
    if what.mode != "lstm":
        c = c0 = None

    def run() -> None:
        call.forward(x, h0, c0, w, y, h, c, reserve)
        if call.training:
            call.backward((x, h0, c0, w, y), (gy, None, None), (gx, None, None, gw), reserve)

    run()
    times = []
    for _ in range(_RUNS):
        cupy.cuda.get_current_stream().synchronize()
        start = perf_counter()
        run()
        queued = perf_counter() - start
        times.append(stopwatch(1, keep_busy=1.5 * queued)(run))
    return min(times)
