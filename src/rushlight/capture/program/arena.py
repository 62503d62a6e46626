"""Memory planning: where in one arena each buffer lies. Buffers that are not alive at the same time may share a place."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable
from typing import Protocol

ALIGN = 64  # a cache line; also what vector instructions like
_GOOD = 1.01  # of the lower bound: a plan this good needs no other try

Spans = dict[int, tuple[int, int]]


def plan(spans: Spans, sizes: dict[int, int], align: int = ALIGN) -> tuple[dict[int, int], int]:
    """Offsets of buffers in an arena, and its size.

    `spans` are (first, last) moments; two buffers may share memory when their spans are disjoint.
    Each is put at the lowest place free during its whole life, in several orders (the largest first,
    the longest lived first, by time), of which the one that needs least is taken: on the
    programs of tests/capture/test_capture_arena.py within a few percent of the lower bound.
    """
    best: tuple[dict[int, int], int] = ({}, 0)
    bound = least(spans, {n: _rounded(sizes[n], align) for n in spans})
    for order in _ORDERS:
        found = _place(sorted(spans, key=order(spans, sizes)), spans, sizes, align)
        if not best[0] or found[1] < best[1]:
            best = found
        if best[1] <= _GOOD * bound:
            break
    return best


def _place(order: list[int], spans: Spans, sizes: dict[int, int], align: int) -> tuple[dict[int, int], int]:
    """Each buffer in turn at the lowest place that is free from its first moment to its last."""
    placed: list[tuple[int, int, int, int]] = []  # offset, end, first, last; by offset
    offsets: dict[int, int] = {}
    total = 0
    for number in order:
        first, last = spans[number]
        size = _rounded(sizes[number], align)
        at = 0
        for low, high, begin, end in placed:
            if begin <= last and first <= end:
                if at + size <= low:
                    break
                if high > at:
                    at = high
        offsets[number] = at
        insort(placed, (at, at + size, first, last))
        total = max(total, at + size)
    return offsets, total


def _largest(spans: Spans, sizes: dict[int, int]) -> Callable[[int], tuple]:
    return lambda n: (-sizes[n], spans[n])


def _longest(spans: Spans, sizes: dict[int, int]) -> Callable[[int], tuple]:
    return lambda n: (spans[n][0] - spans[n][1], -sizes[n], n)


def _earliest(spans: Spans, sizes: dict[int, int]) -> Callable[[int], tuple]:
    return lambda n: (spans[n][0], -spans[n][1], n)


_ORDERS = (_largest, _longest, _earliest)


def _rounded(size: int, align: int) -> int:
    return -(-max(size, 1) // align) * align


def least(spans: Spans, sizes: dict[int, int]) -> int:
    """The most bytes alive at one moment: no plan needs less."""
    return peak(spans, sizes)[0]


def peak(spans: Spans, sizes: dict[int, int]) -> tuple[int, int]:
    """The most bytes alive at one moment, and the first such moment."""
    changes: dict[int, int] = {}
    for n, (first, last) in spans.items():
        changes[first] = changes.get(first, 0) + sizes[n]
        changes[last + 1] = changes.get(last + 1, 0) - sizes[n]
    most = alive = moment = 0
    for at in sorted(changes):
        alive += changes[at]
        if alive > most:
            most, moment = alive, at
    return most, moment


FOREVER = 1 << 62


class Lanes(Protocol):
    """In which lane each instruction runs (0 is the main one), and before which instructions all lanes wait for each other."""

    lane: list[int]
    waits: set[int]


class Asked:
    """One piece of memory that was asked for."""

    __slots__ = ("died", "first", "held", "last", "lent", "number", "size", "touched")

    def __init__(self, number: int, size: int, first: int, where: tuple[int, int]) -> None:
        self.number = number
        self.size = size
        self.first = first  # the moment it was asked for
        self.last = FOREVER  # the moment it was given back
        self.died: tuple[int, int] | None = None  # in which graph and at which instruction that was
        self.touched = [where]  # the instructions that are known to use it
        self.held = False  # somebody keeps it beyond the program's arrays
        self.lent = False  # it is shown to the outside

    @property
    def own(self) -> bool:
        """Whether it needs memory that nothing else ever uses."""
        return self.held or self.lent


class Ledger:
    """Memory asked for, used and given back while the graphs of a program are captured.

    In which order a GPU runs the instructions decides what may share memory. Within the main lane that is
    the order of the program. A lane beside it waits for the main lane where its instruction begins, and is waited
    for only where all lanes come together: until then its memory is in use, whatever Python has let go of.
    """

    def __init__(self) -> None:
        self.clock = 0
        self.asked: list[Asked] = []
        self.lanes: dict[int, Lanes] = {}
        self.begun: dict[int, dict[int, int]] = {}  # graph -> instruction -> the moment it began
        self.where = (0, 0)
        self.results: dict[tuple[int, int], list[int | None]] = {}

    def open(self, graph: int, lanes: Lanes) -> None:
        """A graph begins; it runs after those with lower numbers."""
        self.lanes[graph], self.begun[graph] = lanes, {}
        self.where = (graph, 0)
        self.begin(0)

    def begin(self, at: int) -> None:
        """An instruction begins; after the last one this says that the graph ends."""
        self.clock += 1
        graph = self.where[0]
        self.where = (graph, at)
        self.begun[graph].setdefault(at, self.clock)

    def ask(self, size: int) -> Asked:
        self.clock += 1
        made = Asked(len(self.asked), size, self.clock, self.where)
        self.asked.append(made)
        return made

    def give_back(self, a: Asked) -> None:
        self.clock += 1
        a.last, a.died = self.clock, self.where

    def touch(self, a: Asked) -> None:
        """The current instruction reads or writes it."""
        if a.touched[-1] != self.where:
            a.touched.append(self.where)

    def note_results(self, found: list[int | None]) -> None:
        """The pieces in which the results of the current instruction lie."""
        self.results[self.where] = found

    def asked_at(self) -> dict[tuple[int, int], list[Asked]]:
        """Per instruction: what it asked for, in order."""
        found: dict[tuple[int, int], list[Asked]] = {}
        for a in self.asked:
            found.setdefault(a.touched[0], []).append(a)
        return found

    def spans(self) -> Spans:
        """The first and the last moment at which each piece is in use, for those that may share memory."""
        return {a.number: (a.first, self._end(a)) for a in self.asked if not a.own}

    def _end(self, a: Asked) -> int:
        end = a.last
        if a.died is None:
            return FOREVER
        for graph, at in a.touched:
            if self.lanes[graph].lane[at]:
                end = max(end, self._together(graph, at))
        if a.died > max(a.touched):  # it may be used without our knowledge, and in another lane
            end = max(end, self._together(*a.died))
        return end

    def _together(self, graph: int, at: int) -> int:
        """The next moment, after an instruction began, at which the lanes wait for each other."""
        waits = [w for w in self.lanes[graph].waits if w > at]
        return self.begun[graph][min(waits)] if waits else 0
