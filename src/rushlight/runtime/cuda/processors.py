"""How many multiprocessors the GPU at hand has: grids are cut for them, and the device is asked once."""

from __future__ import annotations

from collections.abc import Callable

PLANNED = 132  # of an H200: for plans made before a GPU is opened, by passes, emulation and tests


class _Gpus:
    """How the device is asked, and what it has answered."""

    current: Callable[[], int] | None = None  # the number of the current GPU
    count: Callable[[int], int]  # the multiprocessors of one
    known: dict[int, int]  # by GPU


_gpus = _Gpus()


def ask(current: Callable[[], int], count: Callable[[int], int]) -> None:
    """From now on ask the device; the backend gives the functions for that when it is opened."""
    _gpus.current, _gpus.count, _gpus.known = current, count, {}


def multiprocessors() -> int:
    """Of the current GPU; `PLANNED` while none is opened."""
    if _gpus.current is None:
        return PLANNED
    index = _gpus.current()
    found = _gpus.known.get(index)
    if found is None:
        found = _gpus.known[index] = _gpus.count(index)
    return found
