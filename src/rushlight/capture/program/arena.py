"""Memory planning: where in one arena each storage lives, reused when lifetimes do not meet."""

from __future__ import annotations

from collections.abc import Iterable

ALIGN = 64  # a cache line; also what vector instructions like


def plan(spans: dict[int, tuple[int, int]], sizes: dict[int, int]) -> tuple[dict[int, int], int]:
    """Offsets of storages in an arena, and its size.

    `spans` are (first, last) instructions; two storages may share memory when their spans are
    disjoint. Largest first, each at the lowest place free during its whole life: within a few
    percent of the lower bound on the programs of tests/test_capture_plan.py.
    """
    placed: list[tuple[int, int, int, int]] = []  # offset, end, first, last
    offsets: dict[int, int] = {}
    for number in sorted(spans, key=lambda n: (-sizes[n], spans[n])):
        first, last = spans[number]
        size = -(-max(sizes[number], 1) // ALIGN) * ALIGN
        at = 0
        for low, high, f, t in sorted(placed):
            if f <= last and first <= t:
                if at + size <= low:
                    break
                at = max(at, high)
        offsets[number] = at
        placed.append((at, at + size, first, last))
    return offsets, max((end for _, end, _, _ in placed), default=0)


def least(spans: dict[int, tuple[int, int]], sizes: dict[int, int]) -> int:
    """The most bytes alive at one moment: no plan needs less."""
    return max((_alive(spans, sizes, at) for at in _moments(spans.values())), default=0)


def _moments(spans: Iterable[tuple[int, int]]) -> set[int]:
    return {first for first, _ in spans}


def _alive(spans: dict[int, tuple[int, int]], sizes: dict[int, int], at: int) -> int:
    return sum(sizes[n] for n, (first, last) in spans.items() if first <= at <= last)
