"""Planning memory: pieces in use at the same time never overlap, whichever lanes use them, and little is wasted."""

from __future__ import annotations

import itertools
import random
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rushlight.capture.program.arena import FOREVER, Ledger, least, peak, plan

ALIGN = 512


class Random:
    """A random program with lanes: which instruction uses which pieces, and what its body asks for meanwhile."""

    def __init__(self, seed: int, length: int, lanes: int) -> None:
        draw = random.Random(seed)
        self.lane = [draw.choice([0, 0, *range(lanes + 1)]) for _ in range(length)]
        self.waits = {at for at in range(1, length) if draw.random() < 0.15} | {length}
        self.uses: dict[int, list[int]] = {}  # piece -> instructions that use it, in order
        self.ledger = ledger = Ledger()
        ledger.open(0, SimpleNamespace(lane=self.lane, waits=self.waits))
        living: dict[int, int] = {}  # piece -> its last use
        for at in range(length):
            ledger.begin(at)
            for number in [n for n in living if draw.random() < 0.3]:
                ledger.touch(ledger.asked[number])
                self.uses[number].append(at)
            for _ in range(draw.randrange(3)):  # a temporary, then perhaps a result
                made = ledger.ask(draw.randrange(1, 5000))
                self.uses[made.number] = [at]
                if draw.random() < 0.5:
                    ledger.give_back(made)
                else:
                    living[made.number] = at + draw.randrange(6)
            for number in [n for n, end in living.items() if end <= at]:
                ledger.give_back(ledger.asked[number])
                del living[number]
        ledger.begin(length)

    def comes_before(self, i: int, j: int) -> bool:
        """Whether the graph runs instruction i before j begins: by its lane, or by waiting."""
        if i >= j:
            return False
        joined = any(i < w <= j for w in self.waits)
        return joined or self.lane[i] == 0 or self.lane[i] == self.lane[j]

    def ordered(self, one: list[int], other: list[int]) -> bool:
        """Whether all uses of one piece come before all of another; within an instruction the ledger knows."""
        return all(i == j or self.comes_before(i, j) for i in one for j in other)


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**6), length=st.integers(1, 30), lanes=st.integers(0, 3))
def test_pieces_share_memory_only_when_the_graph_orders_their_uses(seed, length, lanes):
    program = Random(seed, length, lanes)
    ledger = program.ledger
    spans = ledger.spans()
    sizes = {n: ledger.asked[n].size for n in spans}
    offsets, total = plan(spans, sizes, ALIGN)
    for a, b in itertools.combinations(spans, 2):
        assert offsets[a] % ALIGN == 0 and offsets[a] + sizes[a] <= total
        if offsets[a] + sizes[a] <= offsets[b] or offsets[b] + sizes[b] <= offsets[a]:
            continue
        first, second = sorted((a, b), key=lambda n: spans[n])
        assert program.ordered(program.uses[first], program.uses[second]), (first, second)
        assert spans[first][1] < spans[second][0]  # also within one instruction


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 15), st.integers(1, 9000)), max_size=40))
def test_plans_reach_the_most_that_is_alive(rows):
    spans = {n: (first, first + length) for n, (first, length, _) in enumerate(rows)}
    sizes = {n: size for n, (_, _, size) in enumerate(rows)}
    offsets, total = plan(spans, sizes)
    assert set(offsets) == set(spans)
    moments = {at for span in spans.values() for at in span}
    alive = [sum(sizes[n] for n, (f, t) in spans.items() if f <= at <= t) for at in moments]
    assert least(spans, sizes) == max(alive, default=0) <= total
    most, moment = peak(spans, sizes)
    if rows:
        assert most == sum(sizes[n] for n, (f, t) in spans.items() if f <= moment <= t)


def test_memory_of_a_lane_is_in_use_until_lanes_come_together():
    ledger = Ledger()
    ledger.open(0, SimpleNamespace(lane=[1, 0, 0, 0], waits={3, 4}))
    ledger.begin(0)
    temporary = ledger.ask(10)
    ledger.give_back(temporary)  # Python lets go of it; the lane may still be at work
    ledger.begin(1)
    beside = ledger.ask(10)
    ledger.give_back(beside)
    ledger.begin(3)
    after = ledger.ask(10)
    ledger.give_back(after)
    ledger.begin(4)
    spans = ledger.spans()
    assert spans[temporary.number][1] > spans[beside.number][0]
    assert spans[temporary.number][1] < spans[after.number][0]
    assert spans[beside.number][1] < spans[after.number][0]


def test_what_somebody_uses_unseen_lasts_until_lanes_come_together():
    ledger = Ledger()
    ledger.open(0, SimpleNamespace(lane=[0, 1, 0, 0], waits={3, 4}))
    ledger.begin(0)
    kept = ledger.ask(10)  # a body keeps it and uses it in the next instruction, which is in a lane
    ledger.begin(1)
    ledger.give_back(kept)
    ledger.begin(2)
    other = ledger.ask(10)
    for at in (3, 4):
        ledger.begin(at)
    assert ledger.spans()[kept.number][1] > ledger.spans()[other.number][0]


def test_results_last_and_what_others_hold_is_not_planned():
    ledger = Ledger()
    ledger.open(0, SimpleNamespace(lane=[0], waits=set()))
    ledger.begin(0)
    result, held, lent = ledger.ask(10), ledger.ask(10), ledger.ask(10)
    held.held = lent.lent = True
    assert ledger.spans() == {result.number: (result.first, FOREVER)}


@pytest.mark.parametrize("layers", [2, 8])
def test_a_chain_needs_two_buffers(layers):
    spans = {n: (n, n + 1) for n in range(layers)}
    sizes = dict.fromkeys(range(layers), 1000)
    assert plan(spans, sizes)[1] == 2 * 1024
