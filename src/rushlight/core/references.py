"""How many references an object has while nothing else refers to it: measured, since Python versions count differently.

A call puts its arguments into a frame, and from Python 3.14 on some of those references are borrowed and not
counted. So no count is written down: each place that compares one finds its own when it is imported.
"""

from __future__ import annotations

import _thread
import sys
from collections.abc import Callable
from typing import Any


def frames_are_watched() -> bool:
    """Whether a debugger or a profiler is shown every frame: before Python 3.13, a frame that was looked at keeps references."""
    if sys.version_info >= (3, 13):
        return False
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return True
    monitoring = getattr(sys, "monitoring", None)  # from Python 3.12 on
    return monitoring is not None and any(monitoring.get_tool(i) for i in range(6))


def unwatched(measure: Callable[[], Any]) -> Any:
    """What `measure` finds while no debugger looks at its frames."""
    trace, profile = sys.gettrace(), sys.getprofile()
    if profile is not None and not callable(profile):
        return _in_a_thread(measure)  # cProfile's, before Python 3.12, which nobody could put back
    sys.settrace(None)
    sys.setprofile(None)
    try:
        return measure()
    finally:
        sys.setprofile(profile)
        sys.settrace(trace)


def _in_a_thread(measure: Callable[[], Any]) -> Any:
    """The same in a thread that has no profiler and no debugger of its own."""
    found: list[Any] = []
    done = _thread.allocate_lock()
    done.acquire()

    def go() -> None:
        try:
            found.append(measure())
        finally:
            done.release()

    _thread.start_new_thread(go, ())
    done.acquire()
    return found[0]


def least(accepts: Callable[[int], bool]) -> int:
    """The smallest count at which `accepts` says that there is no other reference to what it looks at.

    Each is tried a few times: the interpreter rewrites code that runs again, and might borrow more.
    """
    for count in range(1, 16):
        if unwatched(lambda: any(accepts(count) for _ in range(8))):  # noqa: B023 - called at once
            return count
    raise RuntimeError("rushlight needs an interpreter that counts references, as CPython does")
