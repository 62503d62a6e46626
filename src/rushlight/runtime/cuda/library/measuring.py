"""Which of a library's kernels is quickest: for whom that is measured, and how.

`backends.cudnn.benchmark` asks for it everywhere. A compiled step asks for it while it is made, and keeps what
was chosen to itself: what runs eagerly beside it computes the same bits as before.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import cupy

from ....base.config import settings
from ..code.compile import kernel

_RUNS = 6  # calls of each kernel that are measured
_CLOCK = 2e9  # cycles a second; no GPU has many more


class _Measuring(threading.local):
    on = False


_here = _Measuring()
watched = ((_here, "on"), (settings, "cudnn_benchmark"))  # what `are_measured` looks at


@contextmanager
def measured_choices(on: bool = True) -> Iterator[None]:
    """In this block and thread kernels of libraries are chosen by measuring, unless bits must be the same."""
    before, _here.on = _here.on, on and not settings.deterministic
    try:
        yield
    finally:
        _here.on = before


def are_measured() -> bool:
    """Whether the caller wants the quickest kernel."""
    return _here.on or settings.cudnn_benchmark


_BUSY = """extern "C" __global__ void busy(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles);
}"""


def stopwatch(runs: int = _RUNS, keep_busy: float = 0.0) -> Callable[[Callable[[], None]], float]:
    """Gives the GPU's milliseconds of one call; may raise NotYet when it is asked for, not later.

    Calls are queued while the GPU is busy, so that the host's time is not measured: `runs` of them, which take the host
    `keep_busy` seconds where that is long.
    """
    cycles = max(500_000, int(keep_busy * _CLOCK))
    busy = kernel(_BUSY, "busy")

    def milliseconds(call: Callable[[], None]) -> float:
        call()  # what is done once is not measured
        stream = cupy.cuda.get_current_stream()
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        busy(1, 1, cycles)
        begin.record(stream)
        for _ in range(runs):
            call()
        end.record(stream)
        end.synchronize()
        return float(cupy.cuda.get_elapsed_time(begin, end)) / runs

    return milliseconds
