"""Whether other threads could see what is still waiting to be computed."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable

# threads that Python started, without the lock and the list of `threading.active_count`
_threads_beside: Callable[[], int] = getattr(_thread, "_count", lambda: 1)
_HARMLESS = ("TMonitor",)  # a progress bar's thread, which never touches a tensor


def alone() -> bool:
    """Whether no other Python thread could read values that are still waiting to be computed."""
    beside = _threads_beside()
    if not beside:
        return True
    me, main, harmless = threading.current_thread(), threading.main_thread(), 0
    for t in threading.enumerate():
        if (
            t is not me
            and type(t).__name__ not in _HARMLESS
            and not t.name.startswith("rushlight ")
        ):
            return False
        harmless += t is not main
    return beside <= harmless  # there may be threads that `threading` did not start
