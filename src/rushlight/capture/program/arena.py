"""Memory planning: where in one arena each buffer lies. Buffers that are not alive at the same time may share a place."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable

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


def _place(
    order: list[int], spans: Spans, sizes: dict[int, int], align: int
) -> tuple[dict[int, int], int]:
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
