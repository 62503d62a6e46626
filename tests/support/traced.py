"""A program run twice, eager and traced: everything that can be seen of it is compared."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import rushlight as rl
from rushlight.capture.loops import tracer
from rushlight.capture.loops.in_calls import TracedCalls
from rushlight.core.hot import meeting
from rushlight.runtime.thread import here

TIMED = [False]  # whether paths that do not pay are let alone: what a test sees would depend on the machine


class Seen:
    """What tracing did in a run."""

    def __init__(self, tracer: Any) -> None:
        report = getattr(tracer, "report", None)
        self.loops = [] if report is None else list(report.loops)
        self.replayed = sum(row["replayed"] for row in self.loops)
        self.fallbacks = {} if report is None else dict(report.fallbacks)
        self.places = {} if report is None else {p.name: p for p in tracer.places.values()}


def run_traced(program: Callable[..., Any], *args: Any) -> tuple[Any, Seen]:
    """The program's answer with tracing on, and what tracing did."""
    with as_if_alone():
        before = rl.tracing(False)
        rl.tracing(True)
        try:
            out = program(*args)
            return out, Seen(here.tracer)
        finally:
            rl.tracing(False)
            rl.tracing(before)


class Calls:
    """A function whose calls are traced by themselves, as `compile` does where one reads values in the middle."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.traced = TracedCalls(fn, "a test")

    def __call__(self, *args: Any) -> Any:
        with as_if_alone():
            return self.traced(args, {})

    @property
    def launched(self) -> int:
        """How many stretches ran as programs."""
        return sum(path.runs for path in self.traced.paths)


@contextmanager
def as_if_alone() -> Iterator[None]:
    """Nothing bars loops, times decide nothing, and threads that are there already count as harmless."""
    barred, meeting.barred = meeting.barred, None
    timed, meeting.timed = meeting.timed, TIMED[0]
    elders = frozenset(threading.enumerate())  # left by other tests: they do not know the program
    alone = tracer.alone
    tracer.alone = lambda: alone() or elders.issuperset(threading.enumerate())
    try:
        yield
    finally:
        meeting.barred, meeting.timed, tracer.alone = barred, timed, alone


def both(program: Callable[..., Any], *args: Any, replays: int = 1, exact: bool = False) -> Seen:
    """Run a program eager and traced from the same seed; its answers must agree."""
    rl.manual_seed(0)
    before = rl.tracing(False)
    expected = program(*args)
    rl.tracing(before)
    state = rl.get_rng_state().numpy().copy()
    rl.manual_seed(0)
    found, seen = run_traced(program, *args)
    compare(expected, found, exact)
    assert (state == rl.get_rng_state().numpy()).all(), "random numbers were drawn otherwise"
    assert seen.replayed >= replays, (seen.replayed, seen.fallbacks, [vars(p) for p in seen.places.values()])
    return seen


def compare(a: Any, b: Any, exact: bool = False, where: str = "") -> None:
    """Raise unless two answers are the same, up to the rounding of their dtype."""
    assert type(a) is type(b), (where, type(a), type(b))
    if isinstance(a, rl.Tensor):
        assert (a.shape, a.dtype, a.stride()) == (b.shape, b.dtype, b.stride()), where
        assert a.requires_grad == b.requires_grad and a.is_leaf == b.is_leaf, where
        assert a._version == b._version, (where, a._version, b._version)
        name = None if a.grad_fn is None else type(a.grad_fn).__name__
        assert name == (None if b.grad_fn is None else type(b.grad_fn).__name__), where
        assert (a.grad is None) == (b.grad is None), where
        if a.grad is not None:
            compare(a.grad, b.grad, exact, where + ".grad")
        compare(a.detach().cpu().numpy(), b.detach().cpu().numpy(), exact, where)
    elif isinstance(a, np.ndarray):
        if exact or a.dtype.kind not in "fc":
            np.testing.assert_array_equal(a, b, err_msg=where)
        else:
            rtol = {2: 1e-2, 4: 2e-4, 8: 1e-9}.get(a.dtype.itemsize, 1e-3)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol / 10, err_msg=where)
    elif isinstance(a, dict):
        assert list(a) == list(b), where
        for k in a:
            compare(a[k], b[k], exact, f"{where}[{k!r}]")
    elif isinstance(a, (list, tuple)):
        assert len(a) == len(b), where
        for i, (x, y) in enumerate(zip(a, b)):
            compare(x, y, exact, f"{where}[{i}]")
    elif isinstance(a, float):
        near = 0.0 if exact else 2e-4
        assert a == b or abs(a - b) <= near * max(1.0, abs(a)) or (a != a and b != b), (where, a, b)
    else:
        assert a == b, (where, a, b)
