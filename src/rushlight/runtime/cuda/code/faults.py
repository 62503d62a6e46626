"""A mark that kernels raise where values have no answer, and the host's look at it behind a launch."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from ....base.bounded import Bounded
from ..memory.streams import current, current_stream
from .sources import device

_marks: dict[int, Any] = Bounded(64)  # by GPU


def mark() -> Any:
    """One uint32 of the current GPU, which rests at 0; streams may share it, a kernel's alarm is looked into anyway."""
    found = _marks.get(device())
    if found is None:
        found = _marks[device()] = cupy.zeros(1, np.uint32)
    return found


def raised(at: Any) -> int:
    """What kernels up to here left in a mark, which is 0 again afterwards; the host waits."""
    if current_stream(device()).is_capturing():
        raise RuntimeError("values decide whether there is an answer, so the host has to look")
    seen = np.empty(1, np.uint32)
    runtime.memcpyAsync(seen.ctypes.data, at.data.ptr, 4, runtime.memcpyDeviceToHost, current.ptr)
    runtime.streamSynchronize(current.ptr)
    if seen[0]:
        at.fill(0)
    return int(seen[0])
