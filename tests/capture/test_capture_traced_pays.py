"""Split functions that do not pay run eagerly and say so; what is told, and what is recorded, is bounded."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import rushlight as torch
import test_capture_traced
import traced
from rushlight import nn
from rushlight.base.config import settings
from rushlight.capture.loops import tracer
from rushlight.capture.loops.trial import Trial
from rushlight.core import hot
from rushlight.runtime.thread import here, tracers


@pytest.fixture
def timed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Functions are traced on the CPU, too, and their programs are compared with eager calls."""
    monkeypatch.setattr(settings, "trace_on_cpu", True)
    monkeypatch.setattr(traced, "TIMED", [True])
    with traced.as_if_alone():
        yield


def _always(monkeypatch: pytest.MonkeyPatch, *, pays: bool) -> None:
    """What trials find, whatever the machine does."""
    monkeypatch.setattr(Trial, "is_loss", lambda self: len(self.eager) >= 6 and not pays)


def branching(x: Any) -> Any:
    y = (x * 2).tanh() + 1
    if y.sum() > 0:
        y = (y + 1).exp() - 1
    return (y * 3).tanh() * 2


@pytest.mark.filterwarnings("ignore:.*is traced, because")
def test_slower_than_eager_is_given_up_and_told_once(timed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    _always(monkeypatch, pays=False)
    step, x = torch.compile(branching), torch.ones(3)
    with pytest.warns(UserWarning) as said:
        for _ in range(200):
            assert step(x).tolist() == branching(x).tolist()
    told = [str(w.message) for w in said if "runs eagerly, because" in str(w.message)]
    assert len(told) == 1 and "reads" in told[0] and "it does not pay" in told[0]
    assert told[0].partition("because ")[2] == step.why()
    assert not step.parts and next(iter(step.entries.values())).traced is None
    with pytest.raises(RuntimeError, match="there is no program: calls run eagerly, because it reads"):
        step.program()


@pytest.mark.filterwarnings("ignore:.*is traced, because")
def test_quicker_than_eager_stays_traced(timed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    _always(monkeypatch, pays=True)
    step, x = torch.compile(branching), torch.ones(3)
    for _ in range(100):
        assert step(x).tolist() == branching(x).tolist()
    assert len(step.parts) == 2 and step.program() is not None
    assert min(path.runs for path in step.parts) > 60


@pytest.mark.filterwarnings("ignore:compile")
def test_a_function_that_keeps_changing_is_given_up(timed: None) -> None:
    """Its stretches differ each time: nothing is built, and soon nothing is heard."""
    size = iter(range(1, 1000))

    def step(x: Any) -> Any:
        made = torch.ones(next(size)) * 3
        return (made * x / 3).sum().item()

    compiled = torch.compile(step)
    for i in range(1, 60):
        assert compiled(torch.ones(())) == i
    assert compiled.why() is not None and not compiled.parts
    assert next(iter(compiled.entries.values())).traced is None


STEPS = (
    "branching", "averaging", "comparing_with_the_last", "looping", "accumulating", "in_place", "selecting",
    "norm_clipping", "gradient_of_gradient", "scaling",
)  # fmt: skip


@pytest.mark.parametrize("name", STEPS)
@pytest.mark.filterwarnings("ignore:.*is traced, because")
def test_trials_in_between_change_nothing(name: str, timed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches that are left to eager and stretches that are replayed take turns: values stay those of eager calls."""
    _always(monkeypatch, pays=True)
    test_capture_traced.compare(getattr(test_capture_traced, name), calls=36, replayed=False)


@pytest.mark.filterwarnings("ignore:compile")
def test_calls_that_raise_leave_nothing_behind(timed: None) -> None:
    def step(x: Any) -> Any:
        y = (x * 2).tanh() + 1
        if x.sum() > 0:
            z = (y + 1).exp() * y
            raise KeyError(z)
        return y

    compiled = torch.compile(step)
    outer = here.tracer
    for i in range(40):
        with pytest.raises(KeyError) as error:
            compiled(torch.ones(2) + i)
        x = torch.ones(2) + i
        assert error.value.args[0].tolist() == (((x * 2).tanh() + 2).exp() * ((x * 2).tanh() + 1)).tolist()
        compiled(-torch.ones(2))
    assert not here.listeners and here.recorder is None and here.tracer is outer
    assert not [t for t in tracers if t is not outer]


@pytest.mark.filterwarnings("ignore:.*is traced, because")
def test_nobody_listens_behind_a_miss(timed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not expected, and all that comes behind it until the next read, is run at the speed of an eager call."""
    monkeypatch.setattr(hot.meeting, "timed", False)
    other, modes = [False], []

    def step(x: Any) -> Any:
        y = (x * 2).tanh() + 1
        if y.sum() > 0:
            y = (y + 1).tanh() * 2
        if other[0]:
            y = y - 1
        modes.append(getattr(getattr(here.tracer, "cursor", None), "path", None) is not None)
        return y * 3 + 1

    compiled = torch.compile(step)
    for _ in range(10):
        assert len(compiled(torch.ones(2)).tolist()) == 2
    assert modes[-1]
    other[0] = True
    modes.clear()
    compiled(torch.ones(2))
    assert modes == [False] and not here.listeners


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
def test_many_kinds_of_arguments_that_come_in_turn_run_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a cache that grows with each token, and begins anew with each sentence."""
    recorded = []
    made = torch.capture.compiled.Entry._record
    monkeypatch.setattr(
        torch.capture.compiled.Entry, "_record",
        lambda self, args, kwargs: recorded.append(1) or made(self, args, kwargs),
    )  # fmt: skip
    step = torch.compile(lambda x: x * 2)
    for _ in range(8):
        for n in range(1, 50):
            assert step(torch.ones(n)).tolist() == [2] * n
    assert len(recorded) <= 4
    settled = len(recorded)
    for _ in range(8):
        for n in range(1, 50):
            step(torch.ones(n))
    assert len(recorded) <= settled + 4  # what replays pay for


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
