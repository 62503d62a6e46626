"""Handlers of signals in the middle of what a tracer does: they wait, and whatever is held has its values."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import rushlight as rl
from rushlight import nn, optim
from rushlight.capture.loops import cursor, graphs, path, tracer, updates
from rushlight.capture.loops.places import alone
from rushlight.nn import functional as F
from traced import compare, run_traced

N = 16

pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="a signal of the user's own"),
    pytest.mark.skipif(
        threading.current_thread() is not threading.main_thread(), reason="only the main thread has handlers"
    ),
]


class Stop(Exception):
    """What a handler raises."""


@pytest.fixture
def handle() -> Iterator[Callable[[Any], None]]:
    """Sets the handler of a signal until the test is over."""
    before = signal.getsignal(signal.SIGUSR1)
    yield lambda handler: signal.signal(signal.SIGUSR1, handler) and None
    signal.signal(signal.SIGUSR1, before)


# Where the signal comes: a class, and its method that is just about to begin.
WHERE = {
    "a program": (path.PathOfStretch, "launch"),
    "a fallback": (path.PathOfStretch, "run_steps"),
    "an input": (tracer.Tracer, "bind"),
    "a backward pass": (graphs.Backward, "carry_out"),
    "an update": (updates.Update, "carry_out"),
    "a program that is made": (tracer.Tracer, "_build"),
}


def _armed(monkeypatch: pytest.MonkeyPatch, where: str) -> list[int]:
    """The signal comes at the third call of a method, and is told."""
    cls, name = WHERE[where]
    method, calls = getattr(cls, name), [0]
    when = 1 if where in ("a program that is made", "a fallback") else 3

    def interrupted(self: Any, *args: Any) -> Any:
        calls[0] += 1
        if calls[0] == when:
            os.kill(os.getpid(), signal.SIGUSR1)
        return method(self, *args)

    monkeypatch.setattr(cls, name, interrupted)
    monkeypatch.setattr(cursor, "_quick_inputs", lambda path: ())  # those that C takes call nobody
    return calls


def _train(stopped: list[int], last: list[Any]) -> Any:
    """A loop that goes on after an interrupt; what each iteration has made is kept."""
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    kept: list[Any] = []
    for i, x in enumerate(rl.randn(N, 4, 6)):
        try:
            opt.zero_grad()
            h = net(x)
            last[:] = [h.detach(), h * 2]
            loss = F.cross_entropy(last[1], rl.tensor([0, 1, 2, 0]))
            kept.append((h.detach(), loss.detach()))
            if i == 12:
                kept.append(h.exp().detach())  # a kernel that no path expects
            loss.backward()
            opt.step()
            loss.item()
        except Stop:
            stopped.append(i)
    return kept, list(net.parameters()), [p.grad for p in net.parameters()]


@pytest.mark.parametrize("where", WHERE)
def test_a_handler_raises(where: str, handle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The exception comes when the tracer is done with what it was doing: tensors of lines before it have their values."""
    stopped: list[int] = []

    def boom(*_: Any) -> None:
        raise Stop

    handle(boom)
    calls = _armed(monkeypatch, where)
    rl.manual_seed(0)
    found, seen = run_traced(_train, stopped, [])
    assert calls[0] and len(stopped) == 1 and seen.replayed
    for h, loss in [k for k in found[0] if isinstance(k, tuple)]:
        again = F.cross_entropy(h * 2, rl.tensor([0, 1, 2, 0]))
        compare(again.detach(), loss.clone())
    assert gc.isenabled() and signal.getsignal(signal.SIGUSR1) is boom


@pytest.mark.parametrize("where", WHERE)
def test_a_handler_computes(where: str, handle: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """It finds values, and the loop does not notice it."""
    told: list[Any] = []
    last: list[Any] = []

    def look(*_: Any) -> None:
        told.append((last[0] * 2, last[1].detach() * 1))

    rl.manual_seed(0)
    expected = _train([], [])
    handle(look)
    calls = _armed(monkeypatch, where)
    rl.manual_seed(0)
    found, seen = run_traced(_train, [], last)
    assert calls[0] and seen.replayed and len(told) == 1
    compare(*told[0])
    compare(expected, found)


def test_a_thread_that_threading_does_not_know() -> None:
    """`_thread` starts threads that no list has; they read values, too."""
    begun, go, done = [_thread.allocate_lock() for _ in range(3)]
    for lock in (begun, go, done):
        lock.acquire()

    def other() -> None:
        begun.release()
        go.acquire(timeout=600)
        done.release()

    _thread.start_new_thread(other, ())
    try:
        assert begun.acquire(timeout=600)
        assert not alone()
    finally:
        go.release()
        done.acquire(timeout=600)


_COLLECTED = """
import gc, signal
from rushlight.capture.loops.quiet import Quiet
signal.signal(signal.SIGUSR1, lambda *a: None)
quiet, ran, kept = Quiet(), [], []
class Late:
    def __init__(self):
        self.me = self
    def __del__(self):
        with quiet:
            ran.append(gc.isenabled())
gc.set_threshold(1)
for _ in range(100):
    with quiet:
        Late()
        kept.append([[] for _ in range(100)])  # so that the next list is new memory, for which Python collects
    assert gc.isenabled() and not quiet.depth and not quiet.handlers
assert ran and not any(ran) and signal.getsignal(signal.SIGUSR1) is not quiet.note
"""


def test_a_finaliser_comes_while_handlers_are_put_back() -> None:
    """It enters and leaves in turn; memory that is given back is marked, so that a use of it ends the process."""
    command = [sys.executable, "-c", _COLLECTED]
    done = subprocess.run(
        command, env={**os.environ, "PYTHONMALLOC": "debug"}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
