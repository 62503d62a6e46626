"""What runs a stack of recurrent layers, cuDNN by one of its algorithms or our kernel layer by layer: tried on its shapes, once."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import inf, prod
from time import perf_counter
from typing import Any

import cupy
import numpy as np

from .....base.config import settings
from .....base.dtypes import bfloat16, float16, float32, float64
from ....recurrent import BY_LAYERS, GATES, Recurrence, Way
from ...code.sources import device
from ...library.cublaslt import is_capturing
from ...library.cudnn import TYPES, CudnnRefused, library
from ...library.cudnn_rnn import KEPT, PERSIST_SMALL, PERSIST_STATIC, STANDARD, RnnCall, call_of
from ...library.measuring import stopwatch
from ..products import product
from . import recurrent_whole as whole

_RUNS = 3  # calls of each algorithm when they are compared
_DTYPES: dict[str, np.dtype] = {d.np.char: d.np for d in (float16, bfloat16, float32, float64)}
# Up to which state cuDNN runs PERSIST_SMALL, by whether a layer has no gates and is trained. It takes larger ones when they
# are described, and refuses them when they are run.
_SMALL = {(True, True): 256, (True, False): 384, (False, True): 128, (False, False): 192}
# Sequences times weights of a gate, up to which our kernel was ahead for all sizes tried on an H200.
_SMALL_PRODUCT = 1 << 25
_AHEAD = 0.85  # of the standard algorithm's time, to be taken in its place: the same one is chosen in every run


def way(what: Recurrence, char: str, sizes: tuple[int, ...], training: bool) -> Way | None:
    """How cuDNN runs a stack, or that layers run one by one; None where it is switched off, absent, or refuses.

    What can run it is compared once per kind of stack and powers of two of batch and steps, so that batches and
    lengths which change from call to call cost nothing. An algorithm that refuses sizes near those it was compared
    on gives way to the standard one.
    """
    if not settings.cudnn_enabled or char not in TYPES or library() is None:
        return None
    tf32 = settings.cudnn_allow_tf32
    chosen = _choose(
        device(), what, char, tf32, sizes[0].bit_length(), len(sizes).bit_length(), sizes[-1] != sizes[0],
        training, settings.deterministic, _CallLengths(sizes),
    )  # fmt: skip
    if chosen == BY_LAYERS:
        return Way(BY_LAYERS, tf32, (), 0)
    for algorithm in () if chosen is None else (chosen, STANDARD):
        try:
            return call_of(device(), what, char, tf32, algorithm, sizes, training).stack.way
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


@lru_cache(KEPT)
def _choose(
    index: int, what: Recurrence, char: str, tf32: bool, batches: int, steps: int, packed: bool,
    training: bool, deterministic: bool, example: _CallLengths,
) -> int | None:  # fmt: skip
    """The quickest algorithm for sequences like the example's. Without a comparison layers run one by one
    where a step's product is small: cuDNN, which launches kernels for each step, is behind there."""
    calls = []
    blind = deterministic or is_capturing()
    ours = whole.fits(what, char, example.sizes, training)
    if ours and blind and example.sizes[0] * what.hidden**2 <= _SMALL_PRODUCT:
        return BY_LAYERS
    persist = [PERSIST_SMALL, PERSIST_STATIC]
    if what.hidden > _SMALL[GATES[what.mode] == 1, training]:
        persist.remove(PERSIST_SMALL)
    for algorithm in (STANDARD, *persist):
        try:
            calls.append(call_of(index, what, char, tf32, algorithm, example.sizes, training))
        except CudnnRefused:
            continue
        if blind:
            break
    if blind or len(calls) + ours < 2:
        return calls[0].stack.way.algorithm if calls else BY_LAYERS if ours else None
    times = {call.stack.way.algorithm: _milliseconds(_cudnns(call, example.sizes)) for call in calls}
    if ours:
        times[BY_LAYERS] = _milliseconds(_ours(what, char, example.sizes, training))
    best = min(times, key=times.__getitem__)
    standard = times.get(STANDARD)
    return best if standard is None or times[best] < _AHEAD * standard else STANDARD


def _milliseconds(run: Callable[[], None]) -> float:
    """The GPU's time of what works on arrays of its own; infinite for what fails.

    Launches are queued while the GPU is kept busy, so that how quick the host is today makes no difference.
    """
    try:
        run()
    except RuntimeError:
        return inf
    times = []
    for _ in range(_RUNS):
        cupy.cuda.get_current_stream().synchronize()
        start = perf_counter()
        run()
        queued = perf_counter() - start
        times.append(stopwatch(1, keep_busy=1.5 * queued)(run))
    return min(times)


def _noise(char: str, *shape: int) -> Any:
    words = cupy.random.random(-(-prod(shape) * _DTYPES[char].itemsize // 4), dtype=np.float32)
    return cupy.ndarray(shape, _DTYPES[char], words.data)


def _cudnns(call: RnnCall, sizes: tuple[int, ...]) -> Callable[[], None]:
    """Forward and, for training, backward by cuDNN."""
    what, char, frames = call.stack.what, call.stack.char, sum(sizes)
    states = what.layers * what.directions, sizes[0]
    x, gx = [_noise(char, frames, what.width) for _ in range(2)]
    y, gy = [_noise(char, frames, what.out * what.directions) for _ in range(2)]
    h, h0 = [_noise(char, *states, what.out) for _ in range(2)]
    c, c0 = [_noise(char, *states, what.hidden) if what.mode == "lstm" else None for _ in range(2)]
    w = _noise(char, call.stack.way.size)
    gw = cupy.zeros_like(w)
    reserve = cupy.ndarray((call.reserve,), np.uint8)

    def run() -> None:
        call.forward(x, h0, c0, w, y, h, c, reserve)
        if call.training:
            call.backward((x, h0, c0, w, y), (gy, None, None), (gx, None, None, gw), reserve)

    return run


def _ours(what: Recurrence, char: str, sizes: tuple[int, ...], training: bool) -> Callable[[], None]:
    """The same by our kernel, with the products beside it."""
    mode, frames, deep = what.mode, sum(sizes), GATES[what.mode] * what.hidden
    widths = [what.width] * what.directions
    widths += [what.out * what.directions] * (what.directions * (what.layers - 1))
    given = {n: (_noise(char, frames, n), _noise(char, deep, n)) for n in set(widths)}
    h0, g = _noise(char, sizes[0], what.hidden), _noise(char, frames, what.hidden)
    c0 = h0 if mode == "lstm" else None
    w_hh, b_hh = _noise(char, deep, what.hidden), _noise(char, deep) if mode == "gru" else None

    def run() -> None:
        for width in widths:
            x, w_ih = given[width]
            found = whole.forward(mode, product(x, w_ih, False, True), h0, c0, w_hh, b_hh, sizes, False)
            if not training or found is None:
                continue
            gates, y, h_before, second, *_ = found
            before = second if mode == "lstm" else h_before
            inner = second if mode == "gru" else y
            back = whole.backward(mode, w_hh, gates, before, inner, (g, None, None), sizes, False)
            if back is None:
                continue
            d, e, *_ = back
            product(d if e is None else e, h_before, True, False)
            product(d, x, True, False)
            product(d, w_ih, False, False)

    return run
