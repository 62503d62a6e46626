"""Conversions of memory layout inside CPU kernels: reported to a watcher, and not counted when there is none."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...base.locks import new_lock
from . import engine

Conversion = tuple[str, int, float, int]  # what, how often, seconds of all threads, bytes written

_watchers = 0
_lock = new_lock()


@contextmanager
def watching() -> Iterator[None]:
    """Count conversions inside the block; `take` returns the counts."""
    _tell(+1)
    try:
        yield
    finally:
        _tell(-1)


def take() -> list[Conversion]:
    """This thread's conversions since its last call: whoever asks after a kernel gets that kernel's."""
    library = engine.active()
    return [] if library is None else library.conversions()


def _tell(change: int) -> None:
    global _watchers
    library = engine.active()
    with _lock:
        _watchers += change
        if library is not None:
            library.watch(_watchers > 0)
            library.conversions()  # drop earlier counts that nobody has asked for
