"""A program in which nothing repeats is hardly watched, and a loop that begins later is still found."""

from __future__ import annotations

from typing import Any

import pytest

import rushlight as rl
import traced
from rushlight import nn, optim
from rushlight.capture.loops.places import Rest
from rushlight.capture.loops.trial import Trial
from rushlight.runtime.thread import here
from traced import both


def _never(net: Any, opt: Any, n: int, seen: list[float]) -> None:
    """No iteration is like another."""
    for i in range(n):
        loss = (net(rl.ones(2 + i, 6)) * (1 + 1 / (i + 1))).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen.append(loss.item())


def _often(net: Any, opt: Any, n: int, seen: list[float]) -> None:
    for _ in range(n):
        loss = net(rl.ones(4, 6)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        seen.append(loss.item())


def test_what_never_repeats_is_let_alone() -> None:
    def program() -> Any:
        net, seen = nn.Linear(6, 3), []
        opt = optim.SGD(net.parameters(), lr=0.01)
        _never(net, opt, 60, seen)
        rests.append(here.tracer.__class__ is Rest)
        return seen, list(net.parameters())

    rests: list[bool] = []
    both(program, replays=0)
    assert rests == [False, True]


def test_a_loop_that_begins_later_is_found() -> None:
    def program() -> Any:
        net, seen = nn.Linear(6, 3), []
        opt = optim.SGD(net.parameters(), lr=0.01)
        _never(net, opt, 40, seen)
        other = optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
        _often(net, other, 100, seen)
        return seen, list(net.parameters())

    both(program, replays=20)


def test_the_step_of_a_known_loop_wakes() -> None:
    """Two loops in turns: one is replayed, the other is never the same."""

    def program() -> Any:
        net, seen = nn.Linear(6, 3), []
        opt, other = (optim.SGD(net.parameters(), lr=lr) for lr in (0.01, 0.02))
        for _ in range(3):
            for _ in range(30):  # its stretches begin at the step
                other.zero_grad()
                net(rl.ones(4, 6)).pow(2).mean().backward()
                other.step()
            _never(net, opt, 40, seen)
        return seen, list(net.parameters())

    both(program, replays=50)


@pytest.mark.parametrize("off", [False, True], ids=["goes on", "switched off"])
def test_a_rest_that_begins_within_a_step(off: bool) -> None:
    """The tracer is told of the step's end, while a rest stands where kernels are sent (a PINN's LBFGS)."""

    def program() -> Any:
        net, seen = nn.Linear(6, 3), []
        opt = optim.SGD(net.parameters(), lr=0.01)
        _often(net, opt, 40, seen)
        other = optim.SGD(net.parameters(), lr=0.02)

        def closure() -> Any:
            for i in range(80):  # no two of them are alike
                loss = (net(rl.ones(2 + i, 6)) * (1 + 1 / (i + 1))).pow(2).mean()
                seen.append(loss.item())
            other.zero_grad()
            loss.backward()
            rests.append(here.tracer.__class__ is Rest)
            if off:
                rl.tracing(False)
            return loss

        other.step(closure)
        _often(net, opt, 40, seen)
        return seen, list(net.parameters())

    rests: list[bool] = []
    both(program, replays=0 if off else 1)
    assert rests == [False, True]


def test_listeners_and_switching_off_while_it_rests() -> None:
    net, seen = nn.Linear(6, 3), []
    opt = optim.SGD(net.parameters(), lr=0.01)
    rl.tracing(True)
    try:
        _never(net, opt, 60, seen)
        assert here.tracer.__class__ is Rest and here.tracer.report.loops == []
        with rl.autograd.detect_anomaly(check_nan=False):
            _never(net, opt, 2, seen)
        assert rl.tracing()
    finally:
        rl.tracing(False)
    assert here.tracer is None


@pytest.mark.parametrize("pays", [True, False])
def test_what_does_not_pay_is_let_alone(pays: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few stretches of a known loop are left to eager; where that is quicker, all of them from then on."""
    monkeypatch.setattr(traced, "TIMED", [True])
    monkeypatch.setattr(Trial, "is_loss", lambda self: len(self.eager) >= 6 and not pays)

    def program() -> list[float]:
        return [(x * 2).tanh().sum().item() for x in [rl.randn(4, 6) for _ in range(60)]]

    seen = both(program, replays=18)
    [row] = seen.loops
    assert row["eager"] > 0 and (row["replayed"] > 40) == pays
    whys = [p.why for p in seen.places.values() if p.why is not None]
    assert pays or any("does not pay" in why for why in whys)


def test_times_decide() -> None:
    trial = Trial()
    for i in range(30):
        if trial.wants_eager():
            trial.took_eager(2.0 if i < 28 else 0.1)
        trial.took_replay(1.0 + i % 3)
    assert len(trial.eager) == 6 and not trial.is_loss()
    trial.eager = [0.5] * 6
    assert trial.is_loss() and "does not pay" in trial.text()
