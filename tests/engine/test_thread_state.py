"""What belongs to a thread: recordings, listeners, stance; models trained side by side, eager and compiled."""

from __future__ import annotations

import builtins
import gc
import io
import logging
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.capture.record import executed
from rushlight.capture.record.executed import Seen, Watching
from rushlight.capture.state.known import BELOW
from rushlight.nn import functional as F
from rushlight.runtime.door import each_replay, listening, replay_hooks
from rushlight.runtime.thread import FOREIGN, GRAD, here

OPTIMIZERS: dict[str, Callable[[Any], Any]] = {
    "Adam": lambda p: rl.optim.Adam(p, lr=0.01),
    "AdamW": lambda p: rl.optim.AdamW(p, lr=0.01),
    "SGD": lambda p: rl.optim.SGD(p, lr=0.05, momentum=0.9),
    "RMSprop": lambda p: rl.optim.RMSprop(p, lr=0.01),
}


@pytest.fixture(autouse=True)
def eager_switching():
    """Let threads take turns often."""
    import sys

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def in_thread(fn: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(fn).result(timeout=600)


def train(seed: int, kind: str, compiled: bool, steps: int = 20) -> list[bytes]:
    """Parameters, losses and step counts of a training that depends on nothing but its arguments."""
    g = rl.Generator().manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))
    with rl.no_grad():
        for p in net.parameters():
            p.copy_(rl.randn(p.shape, generator=g))
    optimizer = OPTIMIZERS[kind](net.parameters())
    x, y = rl.randn(8, 3, generator=g), rl.randn(8, 2, generator=g)

    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        loss = F.mse_loss(net(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = rl.compile(step, fullgraph=True) if compiled else step
    losses = [run(x, y).item() for _ in range(steps)]
    if compiled:
        assert run.replays and run.why() is None
    counts = [float(s["step"]) for s in optimizer.state.values() if "step" in s]
    arrays = [p.detach().numpy() for p in net.parameters()]
    return [a.tobytes() for a in (*arrays, np.array(losses), np.array(counts))]


@contextmanager
def a_clock_in_the_collector() -> Iterator[None]:
    """Collections come often, and each asks the clock, as some tools have it."""

    def ask(phase: str, info: dict[str, int]) -> None:
        time.perf_counter()

    often = gc.get_threshold()
    gc.callbacks.append(ask)
    gc.set_threshold(50)
    try:
        yield
    finally:
        gc.set_threshold(*often)
        gc.callbacks.remove(ask)


@pytest.mark.parametrize("compiled", [False, True], ids=["eager", "compiled"])
def test_four_models_in_four_threads_with_a_profiler_in_a_fifth(compiled: bool) -> None:
    jobs = list(enumerate(OPTIMIZERS))
    alone = [train(seed, kind, compiled) for seed, kind in jobs]
    stop, seen = threading.Event(), []

    def profile() -> None:
        x = rl.ones(8)
        while not (seen and stop.is_set()):
            with rl.profiler.profile() as p:
                x * 3  # noqa: B018
            seen.append({r.key: r.count for r in p.key_averages()})

    watcher = threading.Thread(target=profile)
    watcher.start()
    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(train, seed, kind, compiled) for seed, kind in jobs]
        together = [f.result() for f in futures]
    stop.set()
    watcher.join()
    assert together == alone
    assert seen and all(row == {"aten::mul": 1} for row in seen)  # its own thread's, and no other's


def test_the_collector_waits_for_the_last_recording() -> None:
    """What hangs in `gc.callbacks` (hypothesis hangs a clock there) is no part of any thread's recording."""
    assert gc.isenabled()
    with ThreadPoolExecutor(1) as pool:
        first, second = Watching(Seen()), Watching(Seen())
        pool.submit(first.__enter__).result()
        pool.submit(lambda: None).result()
        with second:
            pool.submit(first.__exit__).result()
            assert not gc.isenabled()
    assert gc.isenabled()


def test_on_python_3_12_one_thread_is_recorded_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """That Python crashes when two threads are told of every instruction."""
    monkeypatch.setattr(executed, "_ONE_AT_A_TIME", True)
    monkeypatch.setattr(executed, "_PATIENCE", 0.01)
    with ThreadPoolExecutor(1) as pool:
        first, late, seen = Watching(Seen()), Watching(Seen()), Seen()
        pool.submit(first.__enter__).result()
        pool.submit(lambda: None).result()
        with Watching(seen):  # it waits, but not for ever
            before = sys.gettrace()
        assert before is None or before.__func__ is not Watching._trace
        assert not seen.complete
        pool.submit(first.__exit__).result()
        with late:
            with Watching(Seen()):  # of the same thread
                pass
        assert late.seen.complete


def test_24_compiled_trainings_by_adam_are_right() -> None:
    """Recordings of four threads at once: each gets its own steps, and all of them."""
    alone = [train(seed, "Adam", compiled=False, steps=40) for seed in range(24)]
    with a_clock_in_the_collector(), ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(train, seed, "Adam", True, 40) for seed in range(24)]
        together = [f.result() for f in futures]
    wrong = [seed for seed in range(24) if together[seed][-1] != alone[seed][-1]]
    assert not wrong, f"trainings with another number of steps: {wrong}"
    for ours, want in zip(together, alone):
        for a, b in zip(ours[:-2], want[:-2]):
            np.testing.assert_allclose(np.frombuffer(a, np.float32), np.frombuffer(b, np.float32), rtol=1e-4, atol=1e-6)


class Meeting:
    """A function may wait in its middle until another thread has done its job.

    The function only sees two queues, whose state nobody watches: the job is not part of the program.
    """

    def __init__(self, job: Callable[[], Any]) -> None:
        self.ask: SimpleQueue = SimpleQueue()
        self.done: SimpleQueue = SimpleQueue()
        self.thread = threading.Thread(target=self._work, args=(job,))

    def _work(self, job: Callable[[], Any]) -> None:
        while self.ask.get():
            job()
            self.done.put(True)

    def __enter__(self) -> Callable[[], None]:
        self.thread.start()
        ask, done = self.ask.put, self.done.get

        def meet() -> None:
            ask(True)
            done(True, 60)

        BELOW.add(meet.__code__)  # as if a device's own code waited there
        return meet

    def __exit__(self, *exc: Any) -> None:
        self.ask.put(False)
        self.thread.join()


def test_a_step_of_another_thread_is_not_recorded() -> None:
    w, other = rl.ones(2, requires_grad=True), rl.ones(2, requires_grad=True)
    mine, theirs = rl.optim.Adam([w], lr=0.1), rl.optim.Adam([other], lr=0.1)
    jobs: list[int] = []

    def job() -> None:
        other.grad = rl.ones(2)
        theirs.step()
        jobs.append(1)

    with Meeting(job) as meet:

        def step(x: Any) -> Any:
            mine.zero_grad()
            loss = (w * x).sum()
            loss.backward()
            meet()
            mine.step()
            return loss

        compiled = rl.compile(step, fullgraph=True)
        for _ in range(6):
            compiled(rl.ones(2))
    assert compiled.replays and 0 < len(jobs) < 6  # replays run no Python
    assert float(theirs.state[other]["step"]) == len(jobs)
    assert float(mine.state[w]["step"]) == 6


def test_listeners_and_hooks_are_the_threads_own() -> None:
    seen: list[str] = []

    def listen(kernel: Any, arrays: Any, attrs: Any, call: Callable[[], Any]) -> Any:
        seen.append(kernel.name)
        return call()

    with listening(listen):
        assert in_thread(lambda: (rl.ones(2) * 2).tolist()) == [2.0, 2.0]
        assert in_thread(lambda: here.listeners) == ()
        rl.ones(2) + 1  # noqa: B018
    assert "mul" not in seen and "add" in seen
    assert in_thread(replay_hooks) is None
    each_replay(lambda: None)  # nobody records: nothing happens
    in_thread(lambda: rl.compiler.set_stance("force_eager"))
    assert here.stance == "default"


def test_a_new_thread_begins_with_nothing() -> None:
    def listen(kernel: Any, arrays: Any, attrs: Any, call: Callable[[], Any]) -> Any:
        return call()

    with rl.inference_mode(), rl.autocast("cpu"), listening(listen):
        with rl.compiler.set_stance("force_eager"):
            assert here.state != GRAD
            found = in_thread(lambda: (here.state, here.casts, here.listeners, here.stance))
    found = (found[0] & ~FOREIGN, *found[1:])  # which says that a loop of another thread waits
    assert found == (GRAD, None, (), "default")
    assert here.state & ~FOREIGN == GRAD


def _functions() -> list[Any]:
    return [builtins.print, builtins.open, builtins.input, logging.Logger.handle]


def test_recordings_that_overlap_leave_python_as_it_was() -> None:
    """The first to begin is the first to end: nobody may put back what another one still needs."""
    before = _functions()
    entered, leave = [threading.Event(), threading.Event()], [threading.Event(), threading.Event()]

    def record(i: int) -> None:
        def fn(x: Any) -> Any:
            entered[i].set()
            assert leave[i].wait(600)
            return x * 2

        rl.compile(fn, fullgraph=True)(rl.ones(2))

    threads = [threading.Thread(target=record, args=(i,)) for i in range(2)]
    for i in range(2):
        threads[i].start()
        assert entered[i].wait(600)
    assert _functions() != before
    for i in range(2):
        leave[i].set()
        threads[i].join()
    assert _functions() == before


def test_printing_elsewhere_is_no_concern_of_a_recording(capsys: pytest.CaptureFixture) -> None:
    with Meeting(lambda: print("from another thread")) as meet:

        def fn(x: Any) -> Any:
            meet()
            return x * 2

        compiled = rl.compile(fn, fullgraph=True)
        for _ in range(3):
            compiled(rl.ones(2))
    assert compiled.replays and "from another thread" in capsys.readouterr().out
    print("and afterwards")
    assert "and afterwards" in capsys.readouterr().out

    @rl.compile(fullgraph=True)
    def prints(x: Any) -> Any:
        print("mine")
        return x * 2

    with pytest.raises(RuntimeError, match="print"):
        for _ in range(4):  # the first calls of a function may say something once
            prints(rl.ones(2))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_of_a_recording_may_print() -> None:
    def fn(x: Any) -> Any:
        child = os.fork()
        if not child:
            try:
                print("from the child", file=io.StringIO())
                os._exit(0)
            finally:
                os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        return x * 2

    assert rl.compile(fn, fullgraph=True)(rl.ones(2)).tolist() == [2.0, 2.0]


def test_somebody_who_replaces_print_meanwhile_keeps_it(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []
    plain = builtins.print

    def theirs(*args: Any, **kwargs: Any) -> None:
        heard.append(args)

    def fn(x: Any) -> Any:
        monkeypatch.setattr(builtins, "print", theirs)
        return x * 2

    rl.compile(fn)(rl.ones(2))
    assert builtins.print is theirs
    print("hello")
    monkeypatch.undo()
    assert heard == [("hello",)]
    # monkeypatch puts back what it found, which tells nobody any more.
    builtins.print = plain


def test_draws_of_another_thread_only_put_a_recording_off() -> None:
    draws = [random.random, np.random.rand, random.random]

    def job() -> None:
        if draws:
            draws.pop()()

    with Meeting(job) as meet:

        def fn(x: Any) -> Any:
            meet()
            return x * 2

        compiled = rl.compile(fn, fullgraph=True)
        for _ in range(3):
            compiled(rl.ones(2))
        assert not compiled.replays
        for _ in range(3):
            compiled(rl.ones(2))
        assert compiled.replays


def test_a_function_that_draws_is_told_in_the_end() -> None:
    keep = threading.Event()
    beside = threading.Thread(target=keep.wait)
    beside.start()
    try:

        @rl.compile(fullgraph=True)
        def fn(x: Any) -> Any:
            return x * random.random()

        with pytest.raises(RuntimeError, match="random numbers of Python"):
            for _ in range(10):
                fn(rl.ones(2))
    finally:
        keep.set()
        beside.join()


def test_one_compiled_function_is_shared_by_threads() -> None:
    net = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    compiled = rl.compile(net)
    batches = [rl.full((2, 4), float(i)) for i in range(16)]
    want = [net(b).detach().numpy() for b in batches]

    def work(i: int) -> np.ndarray:
        with rl.no_grad():
            return compiled(batches[i]).numpy()

    for _ in range(4):
        with ThreadPoolExecutor(4) as pool:
            for got, expected in zip(pool.map(work, range(16)), want):
                np.testing.assert_allclose(got, expected, rtol=1e-6)


def test_threads_that_share_a_function_call_it_with_other_shapes() -> None:
    """The kind of the last arguments is remembered: it must not be another thread's."""
    w = rl.randn(4, requires_grad=True)
    compiled = rl.compile(lambda x: (x * w).sum(0))
    start = threading.Barrier(4)

    def work(rows: int) -> None:
        x = rl.full((rows, 4), 1.0)
        want = (w * rows).detach().numpy()
        start.wait()
        for _ in range(60):
            y = compiled(x)
            np.testing.assert_allclose(y.detach().numpy(), want, rtol=1e-5)
            (g,) = rl.autograd.grad(y.sum(), w)
            np.testing.assert_allclose(g.numpy(), np.full(4, float(rows)))

    with ThreadPoolExecutor(4) as pool:
        for job in [pool.submit(work, rows) for rows in (1, 2, 3, 4)]:
            job.result()
