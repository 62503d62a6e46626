"""Loops are traced without a word from the user once they have gone on for a while, and never where that is forbidden."""

from __future__ import annotations

import threading
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.base.config import settings
from rushlight.capture.loops import tracer
from rushlight.capture.loops.report import table
from rushlight.cli.scripts import tracing as options
from rushlight.core import hot
from rushlight.core.hot import LoopWatch, meeting
from rushlight.nn import functional as F
from rushlight.runtime.thread import here


@pytest.fixture(autouse=True)
def as_at_the_beginning(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(meeting, "barred", None)
    monkeypatch.setattr(meeting, "timed", False)
    monkeypatch.setattr(settings, "trace", "")
    monkeypatch.setattr(tracer, "uses_gpu", lambda: False)
    monkeypatch.setattr(tracer, "alone", lambda: True)  # a worker of pytest has a thread that reads its orders
    before = rl.tracing(False)
    yield
    rl.tracing(False)
    rl.tracing(before)


def _loop(n: int) -> list[float]:
    rl.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    opt = optim.SGD(net.parameters(), lr=0.1)
    x, y, log = rl.randn(4, 6), rl.tensor([0, 1, 2, 0]), []
    for _ in range(n):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        opt.step()
        log.append(loss.item())
    return log


class Clock:
    """A clock that a test moves on; it stands for the module `time`."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def perf_counter(self) -> float:
        self.now += self.step
        return self.now


@pytest.mark.parametrize(("step", "traced"), [(0.001, False), (0.1, True)])
def test_a_loop_is_traced_when_it_has_gone_on_for_a_second(
    monkeypatch: pytest.MonkeyPatch, step: float, traced: bool
) -> None:
    eager = _loop(40)
    monkeypatch.setattr(hot, "time", Clock(step))
    hot.trace_by_itself()
    assert rl.tracing() and _loop(40) == eager
    assert (here.tracer.__class__ is not LoopWatch) == traced


def _never(n: int) -> list[float]:
    """No iteration computes over the shapes of another."""
    rl.manual_seed(0)
    net = nn.Linear(6, 3)
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    for i in range(n):
        loss = net(rl.ones(2 + i, 6)).pow(2).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        log.append(loss.item())
    return log


def test_what_never_repeats_does_not_load_the_tracer(monkeypatch: pytest.MonkeyPatch) -> None:
    eager = _never(200)
    clock = Clock(0.01)
    monkeypatch.setattr(hot, "time", clock)
    hot.trace_by_itself()
    assert _never(200) == eager
    watch = here.tracer
    assert watch.__class__ is LoopWatch and watch.again > clock.now and watch.glance is None
    assert not here.listeners
    clock.now = watch.again  # a loop that begins later is found
    _loop(120)
    assert here.tracer.__class__ is not LoopWatch and not here.listeners


def test_a_glance_ends_where_somebody_else_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hot, "time", Clock(0.1))
    hot.trace_by_itself()
    _never(10)
    assert here.tracer.glance is not None and here.tracer.glance in here.listeners
    with rl.profiler.profile() as seen:
        assert here.tracer.glance is None
        _loop(1)
    assert seen.key_averages() and not here.listeners
    _never(10)
    assert here.tracer.glance in here.listeners
    rl.tracing(False)
    assert not here.listeners


def test_who_has_not_asked_waits_for_no_compiler_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """There a program is made of the kernels that eager calls have run, which keep their bits."""
    monkeypatch.setattr(hot, "time", Clock(0.1))
    monkeypatch.setattr(tracer, "uses_gpu", lambda: True)
    hot.trace_by_itself()
    _loop(40)
    assert sum(row["replayed"] for row in here.tracer.report.loops) > 0
    assert not any(path.patient for path in here.tracer.paths)
    rl.tracing(False)
    rl.tracing(True)
    _loop(40)
    assert sum(row["replayed"] for row in here.tracer.report.loops) > 0
    assert all(path.patient for path in here.tracer.paths)


def test_who_asks_does_not_wait() -> None:
    hot.trace_by_itself()
    rl.tracing(True)
    _loop(6)
    assert here.tracer.__class__ is not LoopWatch


def test_the_environment_forbids_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "trace", "0")
    hot.trace_by_itself()
    assert not rl.tracing(True) and not rl.tracing()


@pytest.mark.parametrize(("words", "patience"), [([], 1.0), (["--trace"], 0.0), (["--no-trace"], None)])
def test_run_traces_unless_told_not_to(
    monkeypatch: pytest.MonkeyPatch, words: list[str], patience: float | None
) -> None:
    monkeypatch.setattr(options, "_asked", {"trace": None, "explain": False, "profile": False})
    options.take_options([*words, "a.py"])
    with options.explained():
        assert (here.tracer is None) == (patience is None)
        if patience is not None:
            assert here.tracer.patience == patience
    assert here.tracer is None


def _as_script(monkeypatch: pytest.MonkeyPatch, **changes: Any) -> bool:
    """Whether an import would have loops traced, in a program that differs from a plain script by the changes."""
    main = ModuleType("__main__")
    main.__file__ = "train.py"
    outside = {
        "modules": {"__main__": main} | changes.pop("modules", {}),
        "flags": SimpleNamespace(interactive=changes.pop("interactive", 0)),
        "gettrace": lambda: changes.get("debugger"),
        "getprofile": lambda: None,
    } | {k: v for k, v in changes.items() if k == "ps1"}
    monkeypatch.setattr(hot, "sys", SimpleNamespace(**outside))
    rl.tracing(False)
    hot.trace_scripts()
    return rl.tracing(False)


def test_scripts_are_traced_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _as_script(monkeypatch)
    monkeypatch.setattr(settings, "trace", "0")
    assert not _as_script(monkeypatch)


_CHILD = SimpleNamespace(parent_process=lambda: "another")


@pytest.mark.parametrize(
    "changes",
    [
        {"interactive": 1},
        {"ps1": ">>> "},
        {"debugger": print},
        {"modules": {"pytest": pytest}},
        {"modules": {"IPython": None}},
        {"modules": {"__main__": ModuleType("__main__")}},
        {"modules": {"multiprocessing.process": _CHILD}},
    ],
)
def test_who_looks_on_is_not_traced(monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any]) -> None:
    assert not _as_script(monkeypatch, **changes)
    monkeypatch.setattr(settings, "trace", "1")  # unless it is asked for
    assert _as_script(monkeypatch, **changes)


def test_a_thread_is_no_script(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(_as_script(monkeypatch)))
    thread.start()
    thread.join()
    assert found == [False]


def test_a_child_process_has_to_ask() -> None:
    hot.trace_by_itself()
    hot._is_child()
    assert hot.meeting.barred == "a child process"
    hot.meeting.barred = None
    rl.tracing(True)
    hot._is_child()
    assert hot.meeting.barred is None


def test_the_table_says_what_was_not_done() -> None:
    assert table(None) == "tracing: it was off at the end."
    rl.tracing(True)
    assert table(here.tracer) == "tracing: no loop was found."
    _loop(20)
    assert "replayed" in table(here.tracer)
    hot.bar("several processes compute together")
    assert "several processes compute together" in table(here.tracer)
