"""Reference counts of the arrays that segments hand out: is one still held from an earlier call?"""

from __future__ import annotations

import gc
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class Books:
    """How many references each array has while nobody outside of the tracer holds one.

    A new array is held by nobody. After that only the tracer's own changes are added, measured around
    the work that makes them, so what users hold meanwhile does not count.
    """

    def __init__(self) -> None:
        self.arrays: list[Any] = []
        self.plain: dict[int, int] = {}
        self.version = 0
        self.stale = False  # some arrays are not used any more

    @contextmanager
    def balance(self, drops: bool = False) -> Iterator[list[Any]]:
        """Around a change of the tracer's own references; arrays put into the list are new.

        Cycles that nobody needs must not be counted. Those of the block itself are young, since nobody collects
        meanwhile; looking through everything that the process holds takes longer than making a program, and is done
        only where old segments go (`drops`).
        """
        with _young_only():
            gc.collect(2 if drops else 0)
            before = references(self.arrays)
            new: list[Any] = []
            try:
                yield new
            except BaseException as error:
                _let_go(error)
                raise
            finally:
                gc.collect(2 if drops else 0)
                self.version += 1
                after = references(self.arrays)
                for key, old, now in zip(map(id, self.arrays), before, after):
                    self.plain[key] += now - old
                start = len(self.arrays)
                self.arrays.extend(new)
                new.clear()
                counts = references(self.arrays)
                for i in range(start, len(counts)):
                    self.plain[id(self.arrays[i])] = counts[i]


@contextmanager
def _young_only() -> Iterator[None]:
    """What is made in the block stays in the youngest generation."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _let_go(error: BaseException | None) -> None:
    """Empty the frames that an error has left behind: they hold what was half made."""
    while error is not None:
        traceback.clear_frames(error.__traceback__)
        error = error.__context__


def references(arrays: list[Any]) -> list[int]:
    """Reference counts, too high by the same number everywhere."""
    return [sys.getrefcount(a) for a in arrays]
