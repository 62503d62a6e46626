"""Reference counts of the arrays that segments hand out: is one still held from an earlier call?"""

from __future__ import annotations

import gc
import sys
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
    def balance(self) -> Iterator[list[Any]]:
        """Around a change of the tracer's own references; arrays put into the list are new."""
        gc.collect()  # cycles that nobody needs must not be counted
        before = references(self.arrays)
        new: list[Any] = []
        try:
            yield new
        finally:
            gc.collect()
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


def references(arrays: list[Any]) -> list[int]:
    """Reference counts, too high by the same number everywhere."""
    return [sys.getrefcount(a) for a in arrays]
