"""How many multiprocessors the GPU at hand has: grids are cut for them, and the device is asked once."""

from __future__ import annotations

from collections.abc import Callable

PLANNED = 132  # of an H200: for plans made before a GPU is opened, by passes, emulation and tests

_current: Callable[[], int] | None = None  # the number of the current GPU
_count: Callable[[int], int] | None = None  # the multiprocessors of one
_known: dict[int, int] = {}  # by GPU, so there are as many entries as the machine has


def ask(current: Callable[[], int], count: Callable[[int], int]) -> None:
    """From now on ask the device; the backend gives the functions for that when it is opened."""
    global _current, _count
    _current, _count = current, count
    _known.clear()


def multiprocessors() -> int:
    """Of the current GPU; `PLANNED` while none is opened."""
    if _current is None or _count is None:
        return PLANNED
    index = _current()
    found = _known.get(index)
    if found is None:
        found = _known[index] = _count(index)
    return found
