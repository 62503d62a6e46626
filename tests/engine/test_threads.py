"""Threads: modes belong to one, passes meet at leaves, random draws stay whole, kernels are counted."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rushlight as rl
from rushlight import nn
from rushlight.base import config


def in_thread(fn):
    """What fn returns in another thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(fn).result()


@pytest.fixture
def eager_switching():
    """Let threads take turns as often as the interpreter can."""
    import sys

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_grad_mode_belongs_to_a_thread() -> None:
    with rl.no_grad():
        assert in_thread(rl.is_grad_enabled)
        assert not rl.is_grad_enabled()
    with rl.inference_mode():
        assert not in_thread(rl.is_inference_mode_enabled)
        assert in_thread(lambda: (rl.ones(2, requires_grad=True) * 2).requires_grad)
    in_thread(lambda: rl.set_grad_enabled(False))
    assert rl.is_grad_enabled()


def test_two_threads_hold_different_modes_at_once() -> None:
    inside, leave = threading.Event(), threading.Event()
    seen = []

    def quiet() -> None:
        with rl.no_grad():
            inside.set()
            leave.wait(600)
            seen.append((rl.ones(2, requires_grad=True) * 2).requires_grad)

    thread = threading.Thread(target=quiet)
    thread.start()
    assert inside.wait(600)
    assert (rl.ones(2, requires_grad=True) * 2).requires_grad
    leave.set()
    thread.join()
    assert seen == [False]


def test_a_decorated_generator_used_by_two_threads() -> None:
    @rl.no_grad()
    def numbers():
        for _ in range(50):
            yield rl.is_grad_enabled()

    def both() -> bool:
        return all(not inside and rl.is_grad_enabled() for inside in numbers())

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(lambda _: both(), range(8)))


def test_autocast_belongs_to_a_thread() -> None:
    with rl.autocast("cpu", dtype=rl.bfloat16):
        a = rl.ones(2, 2)
        assert (a @ a).dtype is rl.bfloat16
        assert in_thread(lambda: (a @ a).dtype) is rl.float32


def test_passes_of_several_threads_add_up_in_one_leaf(eager_switching) -> None:
    w = rl.zeros(64, requires_grad=True)
    start = threading.Barrier(8)

    def work(k: int) -> None:
        start.wait()
        for _ in range(40):
            (w * float(k)).sum().backward()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_array_equal(w.grad.numpy(), np.full(64, 40.0 * sum(range(8)), np.float32))


def test_independent_networks_train_side_by_side(eager_switching) -> None:
    """Each thread gets what it would get alone."""

    def train(seed: int) -> np.ndarray:
        g = rl.Generator().manual_seed(seed)
        net = nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 1))
        with rl.no_grad():
            for p in net.parameters():
                p.copy_(rl.randn(p.shape, generator=g))
        opt = rl.optim.Adam(net.parameters(), lr=0.01)
        x = rl.randn(16, 3, generator=g)
        for _ in range(10):
            opt.zero_grad()
            net(x).pow(2).mean().backward()
            opt.step()
        return np.concatenate([p.detach().numpy().ravel() for p in net.parameters()])

    alone = [train(seed) for seed in range(6)]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(train, range(6)))
    for a, b in zip(alone, together):
        np.testing.assert_array_equal(a, b)


def test_one_retained_graph_is_walked_by_several_threads(eager_switching) -> None:
    x = rl.linspace(-1, 1, 32).requires_grad_()
    y = (x.exp() * x.sin()).sum()
    want = rl.autograd.grad(y, x, retain_graph=True)[0].numpy()
    with ThreadPoolExecutor(6) as pool:
        jobs = [pool.submit(rl.autograd.grad, y, x, retain_graph=True) for _ in range(60)]
        for job in jobs:
            np.testing.assert_array_equal(job.result()[0].numpy(), want)


def test_hooks_run_in_the_thread_that_walks() -> None:
    x = rl.ones(2, requires_grad=True)
    seen = []
    x.register_hook(lambda g: seen.append((threading.get_ident(), rl.is_grad_enabled())))
    in_thread(lambda: (x * 2).sum().backward())
    assert seen[0][0] != threading.get_ident() and seen[0][1] is False
    assert rl.is_grad_enabled()


def test_backward_leaves_the_mode_of_its_thread() -> None:
    def work() -> tuple[bool, bool]:
        x = rl.ones(2, requires_grad=True)
        y = (x * x).sum()
        with rl.no_grad():
            y.backward()
            inside = rl.is_grad_enabled()
        return inside, rl.is_grad_enabled()

    assert in_thread(work) == (False, True)


def test_an_error_in_one_pass_leaves_the_others() -> None:
    def bad() -> bool:
        x = rl.ones(2, requires_grad=True)
        x.register_hook(lambda g: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            (x * 2).sum().backward()
        return rl.is_grad_enabled()

    def good() -> list[float]:
        x = rl.ones(2, requires_grad=True)
        (x * 2).sum().backward()
        return x.grad.tolist()

    with ThreadPoolExecutor(4) as pool:
        jobs = [pool.submit(bad if i % 2 else good) for i in range(40)]
        results = [job.result() for job in jobs]
    assert all(r is True for r in results[1::2]) and all(r == [2.0, 2.0] for r in results[::2])


def test_draws_of_one_generator_stay_whole(eager_switching) -> None:
    """Whoever comes first, every draw is one of those a single thread would have made."""
    rl.manual_seed(5)
    serial = sorted(tuple(rl.randn(20).tolist()) for _ in range(40))
    rl.manual_seed(5)
    with ThreadPoolExecutor(8) as pool:
        parallel = sorted(pool.map(lambda _: tuple(rl.randn(20).tolist()), range(40)))
    assert parallel == serial


def test_dropout_in_threads_draws_whole_masks(eager_switching) -> None:
    x = rl.ones(50)
    rl.manual_seed(6)
    serial = sorted(tuple(nn.functional.dropout(x).tolist()) for _ in range(24))
    rl.manual_seed(6)
    with ThreadPoolExecutor(6) as pool:
        parallel = sorted(pool.map(lambda _: tuple(nn.functional.dropout(x).tolist()), range(24)))
    assert parallel == serial


def test_a_profiler_sees_its_own_thread(eager_switching) -> None:
    """As PyTorch's: what other threads compute meanwhile is not its matter."""
    x = rl.ones(8)
    (x * 2).tolist()

    def work(_: int) -> int:
        with rl.profiler.profile() as p:
            for _ in range(50):
                x * 2  # noqa: B018
        return {r.key: r.count for r in p.key_averages()}["aten::mul"]

    with rl.profiler.profile() as p, ThreadPoolExecutor(6) as pool:
        assert list(pool.map(work, range(6))) == [50] * 6
        x + 1  # noqa: B018
    assert {r.key: r.count for r in p.key_averages()} == {"aten::add": 1}
    assert {e.thread for e in p.events()} == {threading.get_native_id()}


def test_a_profiler_is_stopped_where_it_was_started() -> None:
    p = rl.profiler.profile()
    p.start()
    with pytest.raises(RuntimeError, match="in the thread that started it"):
        in_thread(p.stop)
    p.stop()
    with pytest.raises(RuntimeError, match="once"):
        p.stop()


def test_profilers_come_and_go_while_others_work(eager_switching) -> None:
    stop = threading.Event()
    started = threading.Barrier(4)

    def work() -> int:
        x, n = rl.ones(8), 0
        started.wait(600)
        while n == 0 or not stop.is_set():
            assert (x + 1).tolist() == [2.0] * 8
            n += 1
        return n

    with ThreadPoolExecutor(3) as pool:
        jobs = [pool.submit(work) for _ in range(3)]
        started.wait(600)
        for _ in range(30):
            with rl.profiler.profile():
                rl.ones(4) * 3  # noqa: B018
        stop.set()
        assert all(job.result() > 0 for job in jobs)


def test_named_blocks_are_profiled() -> None:
    with rl.profiler.profile() as p:
        with rl.profiler.record_function("my block"):
            rl.ones(4) * 3  # noqa: B018
    rows = {r.key: r for r in p.key_averages()}
    assert rows["my block"].count == 1 and rows["my block"].cpu_time_total > 0
    assert "my block" in p.key_averages().table()


def test_first_use_of_an_op_by_many_threads() -> None:
    """Kernels are looked up once, derivatives compiled once: whoever does it, all get the result."""
    source = """
import threading
import rushlight as rl
start = threading.Barrier(8)
got = []
def work():
    x = rl.tensor([0.5, 1.5], requires_grad=True)
    start.wait()
    y = (x.erf() * x.atan2(x + 1)).logsumexp(0)
    got.append((y.item(), rl.autograd.grad(y, x)[0].tolist()))
threads = [threading.Thread(target=work) for _ in range(8)]
[t.start() for t in threads]
[t.join() for t in threads]
assert len(got) == 8 and len(set(map(str, got))) == 1, got
"""
    import subprocess
    import sys

    subprocess.run([sys.executable, "-c", source], check=True)


def test_modules_called_from_threads(eager_switching) -> None:
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 2)).eval()
    batches = [rl.full((2, 1, 8, 8), float(i)) for i in range(12)]
    want = [net(b).tolist() for b in batches]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(lambda b: net(b).tolist(), batches)) == want


@pytest.mark.parametrize(
    ("ours", "openmp", "threads"),
    [("", "", 0), ("3", "2", 3), ("0", "2", 0), ("", "4,2", 4), ("", "true", 0), (" 2 ", "", 2)],
)
def test_the_environment_asks_for_threads(ours, openmp, threads):
    assert config._threads(ours, openmp) == threads


@pytest.mark.parametrize("wrong", ["abc", "-1", "2.5"])
def test_a_wrong_number_of_threads_is_told(wrong):
    with pytest.raises(ValueError, match="RUSHLIGHT_NUM_THREADS=.*whole number"):
        config._threads(wrong, "2")


@pytest.mark.skipif(not rl.cuda.is_available(), reason="no GPU")
@pytest.mark.parametrize(
    "name", ["mul", "add", "sum", "softmax", "cat", "index", "mm", "linear", "where", "layer_norm"]
)
def test_the_first_op_of_a_thread_on_cuda(name: str) -> None:
    """A thread has no CUDA context before its first call of the library, and memory from the pool is no such call."""
    x, w = rl.randn(8, 8, device="cuda"), rl.randn(8, 8, device="cuda")
    at = rl.tensor([1, 3], device="cuda")
    ops = {
        "mul": lambda: x * 2, "add": lambda: x + w, "sum": lambda: x.sum(0), "softmax": lambda: x.softmax(1),
        "cat": lambda: rl.cat([x, w]), "index": lambda: x[at], "mm": lambda: x @ w,
        "linear": lambda: rl.nn.functional.linear(x, w), "where": lambda: rl.where(x > 0, x, w),
        "layer_norm": lambda: rl.nn.functional.layer_norm(x, (8,)),
    }  # fmt: skip
    op = ops[name]
    want, found = [op(), op()][0].tolist(), []
    for _ in range(3):
        thread = threading.Thread(target=lambda: found.append(op()))
        thread.start()
        thread.join()
    assert [t.tolist() for t in found] == [want] * 3


def test_a_launch_that_finds_no_context_is_made_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cupy")
    from types import SimpleNamespace

    from rushlight.runtime.cuda.code import launch

    calls: list[str] = []

    class Refused(RuntimeError):
        status = 201

    def start(*given: object) -> None:
        calls.append("launch")
        if calls.count("launch") == 1:
            raise Refused

    fake = SimpleNamespace(launchKernel=start, CUDADriverError=Refused)
    monkeypatch.setattr(launch, "driver", fake)
    monkeypatch.setattr(launch.runtime, "memGetInfo", lambda: calls.append("bind"), raising=False)
    of = SimpleNamespace(function=0, pack=lambda *a: None, free=[], room=lambda: (None, 0))
    launch._quick(of, None)(1, 256, 5)
    assert calls == ["launch", "bind", "launch"]
