"""A mark that kernels raise where values have no answer, and the host's look at it behind a launch."""

from __future__ import annotations

import threading
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from ..memory.streams import current, current_stream
from .sources import device


class _Marks(threading.local):
    """One of each GPU for each thread: it looks at its mark before it launches again, and nobody else does."""

    def __init__(self) -> None:
        self.of: dict[int, Any] = {}


_marks = _Marks()


def mark() -> Any:
    """One uint32 of the current GPU, which rests at 0; RuntimeError while a graph is captured, which nobody could look behind."""
    if current_stream(device()).is_capturing():
        raise RuntimeError("values decide whether there is an answer, so the host has to look")
    found = _marks.of.get(device())
    if found is None:
        found = _marks.of[device()] = cupy.zeros(1, np.uint32)
        runtime.streamSynchronize(current.ptr)  # another stream may be the next to raise it
    return found


def raised(at: Any) -> int:
    """What kernels up to here left in a mark, which is 0 again afterwards; the host waits."""
    seen = np.empty(1, np.uint32)
    runtime.memcpyAsync(seen.ctypes.data, at.data.ptr, 4, runtime.memcpyDeviceToHost, current.ptr)
    runtime.streamSynchronize(current.ptr)
    if seen[0]:
        at.fill(0)
        runtime.streamSynchronize(current.ptr)
    return int(seen[0])
