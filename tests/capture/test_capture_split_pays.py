"""Split functions that do not pay run eagerly and say so; learning is bounded; clocks are the tests' own."""

from __future__ import annotations

import gc
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import rushlight as torch
import test_capture_split
from rushlight import nn
from rushlight.base.config import settings
from rushlight.capture.compiled import PROGRAMS
from rushlight.capture.loops import tracer
from rushlight.capture.record.inside import is_recording
from rushlight.capture.trace import paying
from rushlight.capture.trace.books import Books, references
from rushlight.capture.trace.nodes import Node
from rushlight.capture.trace.paying import LEARN, MATCH, PLAIN, Paying
from rushlight.capture.trace.tracer import Tracer
from rushlight.core import hot
from rushlight.runtime.thread import here


class World:
    """A clock that goes on when the test says so, and how calls ran."""

    def __init__(self) -> None:
        self.now = 0.0
        self.ran: list[str] = []

    def call(self, split: float, plain: float) -> None:
        """A call takes its time, by how it runs."""
        self.ran.append("split" if is_recording() else "plain")
        self.now += split if is_recording() else plain


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    found = World()
    monkeypatch.setattr(settings, "split_on_cpu", True)
    monkeypatch.setattr(Paying, "clock", lambda self: found.now)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*is split, because")
        yield found


def branching(world: World, split: float, plain: float) -> Callable[[Any], Any]:
    def step(x: Any) -> Any:
        world.call(split, plain)
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        return y * 3

    return step


def test_slower_than_eager_is_given_up_and_told_once(world: World) -> None:
    step = torch.compile(branching(world, 3.0, 1.0))
    x = torch.ones(3)
    with pytest.warns(UserWarning) as said:
        for _ in range(80):
            assert step(x).tolist() == [9, 9, 9]
    told = [str(w.message) for w in said if "runs eagerly, because" in str(w.message)]
    assert len(told) == 1
    assert "reads" in told[0] and "3e+03 ms" in told[0] and "eagerly 1e+03 ms" in told[0]
    assert told[0].partition("because ")[2] == step.why()
    assert not step.parts and world.ran[-20:] == ["plain"] * 20
    with pytest.raises(
        RuntimeError, match="there is no program: calls run eagerly, because it reads"
    ):
        step.program()


def test_quicker_than_eager_stays_split(world: World) -> None:
    step = torch.compile(branching(world, 1.0, 1.5))
    for _ in range(400):
        assert step(torch.ones(3)).tolist() == [9, 9, 9]
    assert len(step.parts) == 2 and step.program() is not None
    assert world.ran.count("plain") <= 3 * 12  # trials become ever more seldom
    tracer = next(iter(step.entries.values())).split
    assert tracer.built == 2 and tracer.paying.saved > 100


@pytest.mark.filterwarnings("ignore:compile")
def test_what_becomes_slower_later_is_given_up(world: World) -> None:
    cost = [1.0]

    def step(x: Any) -> Any:
        world.call(cost[0], 2.0)
        return x + 1 if x.sum() > 0 else x - 1

    compiled = torch.compile(step)
    for i in range(400):
        cost[0] = 1.0 if i < 100 else 3.0
        compiled(torch.ones(2))
    assert "eagerly" in compiled.why() and not compiled.parts


def test_ties_go_to_eager(world: World) -> None:
    step = torch.compile(branching(world, 1.0, 1.0))
    with pytest.warns(UserWarning, match="runs eagerly, because"):
        for _ in range(60):
            step(torch.ones(3))


@pytest.mark.filterwarnings("ignore:compile")
def test_a_function_that_keeps_changing_is_given_up(world: World) -> None:
    """Its stretches differ each time: nothing is built, and soon nothing is heard."""
    size = iter(range(1, 1000))

    def step(x: Any) -> Any:
        world.call(1.0, 2.0)
        made = torch.ones(next(size))
        return (made * x).sum().item()

    compiled = torch.compile(step)
    for i in range(1, 40):
        assert compiled(torch.ones(())) == i
    assert compiled.why() is not None and not compiled.parts
    assert next(iter(compiled.entries.values())).split is None
    assert world.ran[-10:] == ["plain"] * 10


@pytest.mark.filterwarnings("ignore:compile")
def test_building_is_bounded(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of paths, each of which comes again: building stops when it has cost more than it saved."""
    monkeypatch.setattr(torch.capture.trace.nodes, "_SEGMENTS", 1000)
    consider = Node.consider

    def slow(self: Node, stretch: Any) -> bool:
        world.now += 0.3
        return consider(self, stretch)

    monkeypatch.setattr(Node, "consider", slow)
    kind = [0]

    def step(x: Any) -> Any:
        world.call(1.0, 1.0 + 1e-3 + 0.05)
        y = x + kind[0] if x.sum() > 0 else x
        return y * 2

    compiled = torch.compile(step)
    for i in range(600):
        kind[0] = i // 3
        assert compiled(torch.ones(2)).tolist() == [2 + 2 * kind[0]] * 2
        tracer = next(iter(compiled.entries.values())).split
        if tracer is not None:
            assert (
                tracer.paying.spent
                <= paying._GRANT + tracer.paying.saved / 2 + 0.3 * 2 * paying._FREE
            )


def test_deep_functions_are_tried_before_everything_is_built(world: World) -> None:
    """Twenty reads: after some programs it is seen whether they pay, and the others are never made."""

    def step(x: Any) -> Any:
        world.call(2.0, 1.0)
        for _ in range(20):
            x = x + 1 if x.sum() > 0 else x - 1
        return x

    compiled = torch.compile(step)
    built = 0
    with pytest.warns(UserWarning, match="runs eagerly, because"):
        for _ in range(100):
            assert compiled(torch.ones(2)).tolist() == [21, 21]
            tracer = next(iter(compiled.entries.values())).split
            built = built if tracer is None else tracer.built
    assert built == paying._BUILDS and not compiled.parts


def test_deep_functions_that_pay_are_built_whole(world: World) -> None:
    def step(x: Any) -> Any:
        world.call(1.0, 2.0)
        for _ in range(20):
            x = x + 1 if x.sum() > 0 else x - 1
        return x

    compiled = torch.compile(step)
    for _ in range(200):
        assert compiled(torch.ones(2)).tolist() == [21, 21]
    assert len(compiled.parts) == 21


STEPS = (
    "branching", "averaging", "comparing_with_the_last", "looping", "accumulating", "in_place", "selecting",
    "norm_clipping", "gradient_of_gradient", "scaling",
)  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
def test_trials_in_between_change_nothing(
    name: str, world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Calls as they are, calls that learn and calls that match take turns: values stay those of eager calls."""
    monkeypatch.setattr(paying, "_BLOCK", 2)
    monkeypatch.setattr(paying, "_SOON", 4)
    for kind, seconds in (("_split", 1.0), ("_plain", 2.0)):
        own = getattr(Tracer, kind)

        def timed(self: Any, *args: Any, own: Any = own, seconds: float = seconds) -> Any:
            world.now += seconds
            world.ran.append(own.__name__)
            return own(self, *args)

        monkeypatch.setattr(Tracer, kind, timed)
    tracer = test_capture_split.compare(getattr(test_capture_split, name), calls=36)
    assert world.ran.count("_plain") >= 4 and tracer.launched > 10


def test_a_trial_by_itself() -> None:
    now = [0.0]
    found = Paying(clock=lambda: now[0])
    how = []
    for _ in range(2 + paying._BLOCK * paying._BLOCKS):
        how.append(found.begin())
        now[0] += {LEARN: 5.0, MATCH: 3.0, PLAIN: 2.0}[how[-1]]
        found.end(0, 0, 0)
    assert how == [LEARN] * 2 + ([MATCH] * 4 + [PLAIN] * 4) * 3
    assert found.why is not None and "3e+03 ms, eagerly 2e+03" in found.why


def test_calls_that_raise_count(world: World) -> None:
    def step(x: Any) -> Any:
        world.call(2.0, 1.0)
        if x.sum() > 0:
            raise KeyError("no")
        return x

    compiled = torch.compile(step)
    compiled(-torch.ones(2))
    with pytest.warns(UserWarning, match="runs eagerly, because"):
        for _ in range(60):
            with pytest.raises(KeyError):
                compiled(torch.ones(2))
            compiled(-torch.ones(2))
    assert not here.listeners and here.recorder is None


def test_nobody_listens_behind_a_miss(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not expected, and all that comes behind it, is run at the speed of an eager call."""
    monkeypatch.setattr(settings, "split_timed", False)
    seen: list[bool] = []
    other = [False]

    def step(x: Any) -> Any:
        y = x * 2
        if y.sum() > 0:
            y = y + 1
        if other[0]:
            y = y - 1
        seen.append(bool(here.listeners))
        return y * 3

    compiled = torch.compile(step)
    for _ in range(10):
        assert compiled(torch.ones(2)).tolist() == [9, 9]
    assert seen[-1]
    other[0] = True
    assert compiled(torch.ones(2)).tolist() == [6, 6]
    assert not seen[-1] and not here.listeners


def test_a_place_whose_paths_change_asks_for_more_repetitions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(settings, "split_on_cpu", True)
    monkeypatch.setattr(settings, "split_timed", False)
    kind = [0]

    def step(x: Any) -> Any:
        return [(x + kind[0]).sum().item(), x * kind[0]][1]

    compiled = torch.compile(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for i in range(160):
            kind[0] = i // 4
            assert compiled(torch.ones(2)).tolist() == [kind[0]] * 2
    tracer = next(iter(compiled.entries.values())).split
    assert tracer is None or (tracer.root.needed > 2 and tracer.built < 20)


def test_a_program_that_fails_to_be_made_leaves_the_books_right() -> None:
    """Counts are of what stays: not of frames that an error has left behind, nor of cycles."""
    books = Books()
    with books.balance() as new:
        new.append(np.ones(3))

    def half_made() -> None:
        held, cycle = [books.arrays[0]] * 3, []
        cycle.append((cycle, held))
        raise ValueError

    with pytest.raises(ValueError), books.balance():
        half_made()
    assert references(books.arrays) == [books.plain[id(books.arrays[0])]]
    with books.balance():
        cycle: list[Any] = [books.arrays[0]]
        cycle.append(cycle)
        del cycle
    assert references(books.arrays) == [books.plain[id(books.arrays[0])]]
    assert gc.isenabled()


def test_loops_are_traced_around_what_runs_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    """A compiled function that is none is no reason to trace less than without `compile`."""
    net = nn.Linear(4, 2)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    log: list[float] = []

    @torch.compile
    def step(x: Any) -> None:
        opt.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        opt.step()
        log.append(loss.item())

    monkeypatch.setattr(hot.meeting, "timed", False)
    monkeypatch.setattr(hot.meeting, "barred", None)  # DeZero, imported by another test, bars loops
    monkeypatch.setattr(tracer, "alone", lambda: True)  # pytest's own threads know nothing of it
    x = torch.ones(3, 4)
    with pytest.warns(UserWarning, match="runs eagerly"):
        for _ in range(8):
            step(x)
    before = torch.tracing(True)
    try:
        if not torch.tracing():
            pytest.skip("RUSHLIGHT_TRACE=0 forbids it")
        for _ in range(12):
            step(x)
        replayed = sum(row["replayed"] for row in here.tracer.report.loops)
    finally:
        torch.tracing(before)
    assert replayed > 0
    assert all(np.isfinite(log)) and sorted(log, reverse=True) == log


@pytest.mark.filterwarnings("ignore:compile")
def test_kinds_of_arguments_that_never_come_again_are_not_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorded = []
    made = torch.capture.compiled.Entry._record
    monkeypatch.setattr(
        torch.capture.compiled.Entry, "_record",
        lambda self, args, kwargs: recorded.append(1) or made(self, args, kwargs),
    )  # fmt: skip
    step = torch.compile(lambda x: x * 2)
    for n in range(1, 200):
        assert step(torch.ones(n)).tolist() == [2] * n
    assert len(recorded) == 2 * PROGRAMS
    for _ in range(8):  # what does come again is
        assert step(torch.ones(1000)).tolist() == [2] * 1000
    assert len(step.replays) == 1


@pytest.mark.filterwarnings("ignore:compile")
def test_what_can_be_no_program_is_not_watched_any_further() -> None:
    """Being told of every instruction takes as long as tens of calls."""
    traced: list[bool] = []
    before = sys.gettrace()

    def step(x: Any) -> Any:
        traced.append(sys.gettrace() == before)
        if x.sum() > 0:
            x = x + 1
        traced.append(sys.gettrace() == before)
        return x * 2

    compiled = torch.compile(step)
    assert compiled(torch.ones(2)).tolist() == [4, 4]
    assert traced == [False, True] and sys.gettrace() == before
    assert compiled(torch.ones(2)).tolist() == [4, 4] and "reads" in compiled.why()
