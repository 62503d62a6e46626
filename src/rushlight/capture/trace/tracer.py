"""Functions that read values on the host: Python runs them, their kernels run as programs between reads.

The tracer listens at the door. A stretch that was heard twice alike becomes a `Segment`; from then on its
kernels are matched one by one instead of being run, and when the host reads a value, or the call ends, the
segment's program computes them all. What does not match is run as Python asked for it, so whatever the
function does - branches, prints, lists, counters - happens as in an eager call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...base.locks import new_lock
from ...runtime.door import listening
from ..record.inside import inside
from ..record.recording import forget_casts
from .books import Books
from .nodes import Node
from .segment import Segment
from .trace import Trace


class Tracer:
    """A function whose calls are matched against what it did before."""

    def __init__(self, fn: Callable, reason: str) -> None:
        self.fn = fn
        self.reason = reason
        self.books = Books()
        self.root = Node(self.books)
        self.busy = new_lock()
        self.ran = self.replayed = self.launched = 0  # kernels run, kernels replayed, programs

    def _prune(self) -> None:
        """Let go of arrays whose segments are gone."""
        self.books.stale = False
        used = {id(a) for s in self.segments for group in s.held.values() for a in group}
        self.books.arrays = [a for a in self.books.arrays if id(a) in used]

    @property
    def failed(self) -> str | None:
        """Why not even the beginning of the function can be replayed, or None."""
        return self.root.why

    @property
    def segments(self) -> list[Segment]:
        """Every segment there is."""
        found: list[Segment] = []
        nodes = [self.root]
        while nodes:
            for segment in nodes.pop().segments:
                found.append(segment)
                nodes.extend(segment.children.values())
        return found

    def __call__(self, args: tuple, kwargs: dict) -> Any:
        if not self.busy.acquire(blocking=False):
            return self.fn(*args, **kwargs)  # another thread is using it
        try:
            forget_casts()
            trace = Trace(self)
            with inside(trace), listening(trace):
                try:
                    result = self.fn(*args, **kwargs)
                except BaseException:
                    trace.abandon()
                    raise
                trace.end(final=True)
            forget_casts()
            return result
        finally:
            if self.books.stale:
                self._prune()
            self.busy.release()
