"""Functions that read values on the host: Python runs them, their kernels run as programs between reads.

The tracer listens at the door. A stretch that was heard twice alike becomes a `Segment`; from then on its
kernels are matched one by one instead of being run, and when the host reads a value, or the call ends, the
segment's program computes them all. What does not match is run as Python asked for it, so whatever the
function does - branches, prints, lists, counters - happens as in an eager call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ...base.locks import new_lock
from ...runtime.thread import here
from ..record.inside import inside
from ..record.recording import forget_casts
from .books import Books
from .nodes import Node
from .paying import LEARN, PLAIN, Paying
from .segment import Segment
from .trace import Trace


class Tracer:
    """A function whose calls are matched against what it did before."""

    def __init__(self, fn: Callable, reason: str, paying: Paying | None = None) -> None:
        self.fn = fn
        self.reason = reason
        self.paying = paying  # None: it is split whatever that costs
        self.books = Books()
        self.root = Node(self.books)
        self.busy = new_lock()
        self.ran = self.replayed = self.launched = 0  # kernels run, kernels replayed, programs
        self.built = self.heard = self.missed = 0  # programs made, stretches heard, not as expected

    def _prune(self) -> None:
        """Let go of arrays whose segments are gone."""
        self.books.stale = False
        used = {id(a) for s in self.segments for group in s.held.values() for a in group}
        self.books.arrays = [a for a in self.books.arrays if id(a) in used]

    @property
    def failed(self) -> str | None:
        """Why the function is better run as it is, or None."""
        if self.root.why is not None or self.paying is None:
            return self.root.why
        return self.paying.why

    def _nodes(self) -> Iterator[Node]:
        """Every place where a segment begins."""
        left = [self.root]
        while left:
            node = left.pop()
            left.extend([n for s in node.segments for n in s.children.values()])
            yield node

    @property
    def segments(self) -> list[Segment]:
        """Every segment there is."""
        return [s for node in self._nodes() for s in node.segments]

    def __call__(self, args: tuple, kwargs: dict) -> Any:
        if not self.busy.acquire(blocking=False):
            return self.fn(*args, **kwargs)  # another thread is using it
        try:
            if self.paying is None:
                return self._split(args, kwargs, learns=True)
            return self._measured(self.paying, args, kwargs)
        finally:
            if self.books.stale:
                self._prune()
            self.busy.release()

    def _measured(self, paying: Paying, args: tuple, kwargs: dict) -> Any:
        """A call whose time counts."""
        built, heard, missed = self.built, self.heard, self.missed
        how = paying.begin()
        try:
            if how == PLAIN:
                return self._plain(args, kwargs)
            return self._split(args, kwargs, how == LEARN)
        finally:  # a call that raises has taken its time, too
            paying.end(self.built - built, self.heard - heard, self.missed - missed)
            if how == LEARN and paying.at == 0:
                self._stop_learning(paying)

    def _stop_learning(self, paying: Paying) -> None:
        for node in self._nodes():
            node.recent.clear()
        if not self.segments:
            paying.why = "what it does between host reads differs from call to call"

    def _plain(self, args: tuple, kwargs: dict) -> Any:
        """A call as it is: loops of the script are not traced in it, because that would be measured, too."""
        held, here.tracer = here.tracer, None
        try:
            return self.fn(*args, **kwargs)
        finally:
            if here.tracer is None:
                here.tracer = held

    def _split(self, args: tuple, kwargs: dict, learns: bool) -> Any:
        forget_casts()
        trace = Trace(self, learns)
        with inside(trace), trace.listening():
            try:
                result = self.fn(*args, **kwargs)
            except BaseException:
                trace.abandon()
                raise
            trace.end(final=True)
        forget_casts()
        return result
