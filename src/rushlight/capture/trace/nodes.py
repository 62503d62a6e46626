"""Places of a function where a segment begins: which are known, which are being learned, which given up."""

from __future__ import annotations

from collections import Counter

from .books import Books
from .segment import Segment
from .stretch import Pairing, Stretch

_SEGMENTS = 4  # kept for one place of the function
_TRIES = 6  # stretches that may disagree before the first segment
_LISTEN = 6  # stretches heard after one that was not expected
_RECENT = 3  # stretches that wait for one like them
_REPEATS = 2  # how often a stretch comes before a program is made of it
_LOOKS = 256  # kinds of stretches that are counted
_MISSES = 32  # more than this, and more than matches: not worth it


class Node:
    """A place where a segment begins: the start of the function, or what follows a host read."""

    def __init__(self, books: Books) -> None:
        self.books = books
        self.segments: list[Segment] = []
        self.recent: list[Stretch] = []
        self.listen = _LISTEN  # how many of the next stretches to hear instead of matching them
        self.tries = self.misses = self.matches = 0
        self.seen: Counter[int] = Counter()  # how often each kind of stretch was heard
        self.needed = _REPEATS
        self.why: str | None = None  # why nothing is replayed here any more

    def missed(self) -> None:
        """What came was none of our segments."""
        self.misses += 1
        self.listen = _LISTEN
        if self.misses > max(_MISSES, self.matches):
            self.give_up("what follows differs from call to call")

    def give_up(self, why: str) -> None:
        self.why = why
        with self.books.balance(drops=bool(self.segments)):
            self.segments.clear()
        self.books.stale = True
        self.recent.clear()

    def consider(self, stretch: Stretch) -> bool:
        """Whether a segment was made of a stretch that was heard before; otherwise keep it."""
        self.listen -= 1
        for segment in self.segments:
            if segment.fits(stretch):
                self.segments.remove(segment)
                self.segments.insert(0, segment)
                return False
        if len(self.seen) >= _LOOKS:
            self.seen.clear()
        self.seen[stretch.look] += 1
        if self.seen[stretch.look] >= self.needed:
            for other in self.recent:
                if other.look == stretch.look and Pairing(other, stretch).why is None:
                    self._add(other, stretch)
                    return True
        self.tries += 1
        if self.tries > _TRIES and not self.segments:
            why = Pairing(self.recent[-1], stretch).why if self.recent else None
            self.give_up(why or "what it does differs from call to call")
        else:
            self.recent = [*self.recent[1 - _RECENT :], stretch]
        return False

    def _add(self, first: Stretch, second: Stretch) -> None:
        self.recent.remove(first)
        self.tries = self.listen = 0
        full = len(self.segments) >= _SEGMENTS
        with self.books.balance(drops=full) as new:
            if full:  # the paths have changed: begin anew, and not so soon again
                self.segments.clear()
                self.needed *= 2
                self.books.stale = True
            made = Segment(first, second, self.segments, self.books, new)
            self.segments.insert(0, made)
