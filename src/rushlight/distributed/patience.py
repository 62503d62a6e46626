"""Waiting for other ranks: soon at first, then gently, never longer than the group's timeout.

MPI moves data only while somebody asks it whether it is done. Who waits for a rank that is late should leave the
core to others; who waits for bytes of ranks that have all come (`busy`) should ask again at once.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from .errors import DistBackendError

__all__ = ["wait_until"]

_SPINS = 2000  # about a millisecond: what is quick is not slowed down by sleeping
_YIELDS = 200  # from here on other processes of this core go first,
_SPIN_S = 0.01  # which takes as long as they like
_LONGEST_PAUSE_S = 1e-3
_BUSY_S = 5.0
_TURN_S, _REST_S = 0.01, 1e-4  # the threads that hear who is gone need Python's lock and a core
_LOOK_AROUND_S = 0.1  # how often the waiting rank asks whether all others are alive

_yield: Callable[[], None] = getattr(os, "sched_yield", lambda: time.sleep(0))


def wait_until(
    done: Callable[[], bool], limit: float, alive: Callable[[], None], late: Callable[[], Any], busy: bool = False
) -> None:
    """Call `done` until it is true; `alive` raises when a rank died, `late` when time is up."""
    if done():
        return
    if busy and _at_once(done, alive):
        return
    start = time.monotonic()
    for turn in range(_SPINS):
        if turn > _YIELDS:
            _yield()
            if time.monotonic() - start > _SPIN_S:
                break
        if done():
            return
    pause, look = 2e-5, start + _LOOK_AROUND_S
    while not done():
        time.sleep(pause)
        pause = min(pause * 1.2, _LONGEST_PAUSE_S)
        now = time.monotonic()
        if now >= look:
            alive()
            look = now + _LOOK_AROUND_S
        if now - start > limit:
            late()
            raise DistBackendError("a collective did not end in time")


def _at_once(done: Callable[[], bool], alive: Callable[[], None]) -> bool:
    """Ask without a pause, as long as bytes of that number could be on their way."""
    start = time.monotonic()
    rest = start + _TURN_S
    while not done():
        _yield()
        now = time.monotonic()
        if now > rest:
            alive()
            time.sleep(_REST_S)
            rest = now + _TURN_S
        if now - start > _BUSY_S:
            return False
    return True
