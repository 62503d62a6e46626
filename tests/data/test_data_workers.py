"""Worker processes: order, seeds, errors, deaths, hangs, and that nothing of them stays behind."""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

import rushlight
from rushlight.data import channel, pool
from rushlight.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


class Numbers(Dataset):
    """0, 1, 2, ..., with something happening at one index."""

    def __init__(self, n: int = 20, at: int = -1, event=None, each=None) -> None:
        self.n, self.at, self.event, self.each = n, at, event, each

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int):
        if i == self.at:
            self.event()
        return i if self.each is None else self.each(i)


class Share(IterableDataset):
    """A stream of a different length in each worker."""

    def __init__(self, *lengths: int) -> None:
        self.lengths = lengths

    def __iter__(self):
        info = get_worker_info()
        return iter([info.id * 100 + i for i in range(self.lengths[info.id])])


def values(loader) -> list:
    return [b.tolist() for b in loader]


_others: set[int | None] = set()  # processes that were there before the test


@pytest.fixture(autouse=True)
def _children_of_this_test() -> None:
    _others.clear()
    _others.update(child.pid for child in multiprocessing.active_children())


def children() -> list:
    return [child for child in multiprocessing.active_children() if child.pid not in _others]


def no_children() -> bool:
    gc.collect()  # a traceback that was looked at may hold an iterator in a cycle
    deadline = time.monotonic() + 600
    while children() and time.monotonic() < deadline:
        time.sleep(0.01)
    return not children()


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def crash() -> None:
    faulthandler.disable()  # pytest's would print into the output
    os.kill(os.getpid(), signal.SIGSEGV)


def leave() -> None:
    os._exit(3)


def hang() -> None:
    time.sleep(1000)


def fail() -> None:
    raise ValueError("sample is bad")


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("prefetch", [1, 2, 5])
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_order_is_kept(workers: int, prefetch: int) -> None:
    def slow_when_even(i: int) -> int:
        time.sleep(0.002 * (i % 3 == 0))
        return i

    dataset = Numbers(each=slow_when_even)
    loader = DataLoader(dataset, batch_size=3, num_workers=workers, prefetch_factor=prefetch)
    assert values(loader) == values(DataLoader(dataset, batch_size=3))
    assert no_children()


def test_out_of_order_is_allowed() -> None:
    came = multiprocessing.get_context("fork").Event()  # something of the other worker

    def slow_first(i: int) -> int:
        assert i or came.wait(600)
        return i

    seen = []
    for batch in DataLoader(Numbers(6, each=slow_first), num_workers=2, in_order=False):
        seen += batch.tolist()
        came.set()
    assert sorted(seen) == list(range(6)) and seen[0] != 0


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_all_kinds_of_data_travel(method: str) -> None:
    loader = DataLoader(Mixed(), batch_size=3, num_workers=2, multiprocessing_context=method)
    for mine, wanted in zip(loader, DataLoader(Mixed(), batch_size=3), strict=True):
        assert mine.keys() == wanted.keys()
        for key in mine:
            if key == "name":
                assert tuple(mine[key]) == tuple(wanted[key])
                continue
            assert mine[key].dtype == wanted[key].dtype
            assert (mine[key] == wanted[key]).all()
        mine["big"].add_(1)  # writable memory of its own
    assert no_children()


class Mixed(Dataset):
    def __len__(self) -> int:
        return 7

    def __getitem__(self, i: int) -> dict:
        big = rushlight.full((50, 1000), float(i))
        return {
            "big": big,
            "half": big[:2, :2].to(rushlight.bfloat16),
            "array": np.full((200, 200), i, np.int16),
            "strided": big.t(),
            "nothing": rushlight.zeros(0, 3),
            "scalar": rushlight.tensor(i),
            "name": f"sample {i}",
            "number": i,
        }


@pytest.mark.parametrize("lengths", [(1, 5), (5, 1), (0, 7), (7, 0, 3), (0, 0), (4, 4)])
@pytest.mark.parametrize("drop_last", [False, True])
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_iterable_datasets_end_one_by_one(lengths: tuple, drop_last: bool) -> None:
    expected = {
        (1, 5): [[0], [100, 101], [102, 103], [104]],
        (5, 1): [[0, 1], [100], [2, 3], [4]],
        (0, 7): [[100, 101], [102, 103], [104, 105], [106]],
        (7, 0, 3): [[0, 1], [200, 201], [2, 3], [202], [4, 5], [6]],
        (0, 0): [],
        (4, 4): [[0, 1], [100, 101], [2, 3], [102, 103]],
    }[lengths]  # what PyTorch yields
    options = {"batch_size": 2, "num_workers": len(lengths), "drop_last": drop_last}
    options["persistent_workers"] = True
    loader = DataLoader(Share(*lengths), **options)
    for _ in range(2):
        assert values(loader) == [b for b in expected if len(b) == 2 or not drop_last]


def _who(i: int) -> tuple:
    info = get_worker_info()
    drawn = (random.random(), int(np.random.randint(0, 2**31)), rushlight.rand(1).item())
    return (info.id, info.num_workers, info.seed, rushlight.initial_seed(), *drawn)


def test_seeds_and_identity_are_pytorchs() -> None:
    rushlight.manual_seed(0)
    told = list(DataLoader(Numbers(4, each=_who), num_workers=2, batch_size=None))
    base = 900450186894289455
    assert [t[:4] for t in told] == [[i % 2, 2, base + i % 2, base + i % 2] for i in range(4)]
    # printed by torch 2.13 for the same seed
    assert told[0][4:] == [0.21315340548154382, 1448108554, 0.7821398973464966]
    assert told[3][4:] == [0.1634220007200502, 433669527, 0.29795897006988525]
    assert get_worker_info() is None


def test_worker_info_cannot_be_changed() -> None:
    def change(i: int) -> str:
        with pytest.raises(AttributeError):
            get_worker_info().id = 5
        return repr(get_worker_info())

    (text,) = DataLoader(Numbers(1, each=change), num_workers=1, batch_size=None)
    assert text.startswith("WorkerInfo(id=0, num_workers=1, seed=")


def test_init_function_runs_in_each_worker() -> None:
    def init(worker_id: int) -> None:
        get_worker_info().dataset.n = worker_id + 50

    each = lambda i: get_worker_info().dataset.n  # noqa: E731
    loader = DataLoader(Numbers(4, each=each), num_workers=2, worker_init_fn=init)
    assert values(loader) == [[50], [51], [50], [51]]


def test_persistent_workers_are_the_same_processes() -> None:
    dataset = Numbers(4, each=lambda i: os.getpid())
    loader = DataLoader(dataset, num_workers=2, persistent_workers=True)
    assert values(loader) == values(loader)
    next(iter(loader))  # an epoch left early does not leak into the next
    dataset.each = None
    assert len(values(loader)) == 4
    del loader
    gc.collect()
    assert no_children()


# -- errors --------------------------------------------------------------------------------------


class Awkward(Exception):
    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


def _raise(error: BaseException) -> None:
    raise error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ValueError("x"), ValueError),
        (KeyError("k"), KeyError),
        (Awkward(1, 2), RuntimeError),
        (StopIteration("x"), StopIteration),
    ],
    ids=lambda e: getattr(e, "__name__", type(e).__name__),
)
def test_an_error_is_raised_here_with_the_workers_traceback(error, kind) -> None:
    dataset = Numbers(5, 2, lambda: _raise(error))
    it = iter(DataLoader(dataset, num_workers=1, batch_size=1))
    assert [next(it).item(), next(it).item()] == [0, 1]
    with pytest.raises(kind) as caught:
        next(it)
    text = str(caught.value)
    name = type(error).__name__
    assert text.startswith(f"Caught {name} in DataLoader worker process 0.\nOriginal Traceback (most")
    assert "in __getitem__" in text and "fetching sample 2 (place 0 of batch 2)" in text
    assert [b.item() for b in it] == [3, 4]  # the loader goes on, as PyTorch's does


def test_an_error_of_the_init_function() -> None:
    with pytest.raises(ValueError, match=r"Caught ValueError in DataLoader worker process 0\.\nOrig"):
        list(DataLoader(Numbers(), num_workers=2, worker_init_fn=lambda w: fail()))
    assert no_children()


def test_what_cannot_be_pickled_says_so() -> None:
    loader = DataLoader(Numbers(2, each=lambda i: lambda: i), num_workers=1, collate_fn=list)
    with pytest.raises(Exception, match="(?s)worker process 0.*[Pp]ickle"):
        list(loader)
    loader = DataLoader(Numbers(2, each=_with_graph), num_workers=1)
    with pytest.raises(RuntimeError, match="Cowardly refusing to serialize non-leaf tensor"):
        list(loader)


def _with_graph(i: int) -> rushlight.Tensor:
    return rushlight.ones(2, requires_grad=True) * i


# -- deaths and hangs ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (die, r"DataLoader worker \(pid \d+\) is killed by signal: Killed while fetching sample 7 "),
        (crash, r"DataLoader worker \(pid \d+\) is killed by signal: Segmentation fault while fetch"),
        (leave, r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly with exit code 3 while fetch"),
        (sys.exit, r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly with exit code 0 while"),
    ],
)
@pytest.mark.parametrize("persistent", [False, True])
def test_a_death_is_told_with_pid_signal_and_sample(event, text: str, persistent: bool) -> None:
    loader = DataLoader(Numbers(at=7, event=event), batch_size=2, num_workers=2, persistent_workers=persistent)
    it = iter(loader)
    pids = {w.pid for w in it._pool.workers}
    with pytest.raises(RuntimeError, match=text) as caught:
        for _ in it:
            pass
    assert "sample 7 (place 1 of batch 3)" in str(caught.value)
    assert any(f"{pid})" in str(caught.value) for pid in pids)
    assert list(it) == []
    assert no_children()


def test_a_death_while_collating() -> None:
    loader = DataLoader(Numbers(4), batch_size=2, num_workers=1, collate_fn=lambda b: die())
    with pytest.raises(RuntimeError, match="Killed while collating batch 0"):
        list(loader)


def test_a_death_between_tasks_is_noticed() -> None:
    it = iter(DataLoader(Numbers(100), num_workers=1))
    next(it)
    os.kill(it._pool.workers[0].pid, signal.SIGTERM)
    with pytest.raises(RuntimeError, match="is killed by signal: Terminated"):
        list(it)


def test_a_loader_with_dead_workers_starts_new_ones() -> None:
    dataset = Numbers(6, 3, die)
    loader = DataLoader(dataset, num_workers=1, persistent_workers=True)
    with pytest.raises(RuntimeError, match="Killed"):
        list(loader)
    dataset.at = -1
    assert values(loader) == [[i] for i in range(6)]


def test_timeout_names_the_sample() -> None:
    at_3, past_1 = (multiprocessing.get_context("fork").Event() for _ in range(2))
    dataset = Numbers(each=lambda i: past_1.set() if i == 4 else i)
    dataset.at, dataset.event = 3, lambda: (at_3.set(), hang())
    it = iter(DataLoader(dataset, batch_size=2, num_workers=2, timeout=0.5, collate_fn=list))
    assert at_3.wait(600) and past_1.wait(600)  # the first batch is there, the second will never be
    assert next(it) == [0, 1]
    with pytest.raises(RuntimeError, match=r"timed out after 0.5 seconds: worker \(pid \d+\) is fetching sample 3 "):
        next(it)
    del it
    assert no_children()


def test_a_hang_without_timeout_is_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, told = (multiprocessing.get_context("fork").Event() for _ in range(2))
    caught = []

    def show(message: Warning, category: type, filename: str, *where: object) -> None:
        caught.append((str(message), filename))
        monkeypatch.setattr(pool, "SLOW_S", 1e9)  # samples that are slow by themselves
        told.set()

    it = iter(DataLoader(Numbers(6, 1, lambda: (begun.set(), told.wait(60))), num_workers=1))
    assert begun.wait(600) and next(it).tolist() == [0]
    monkeypatch.setattr(pool, "CHECK_S", 0.1)
    monkeypatch.setattr(pool, "SLOW_S", 0.3)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        assert [b.tolist() for b in it] == [[i] for i in range(1, 6)]
    ((text, filename),) = caught
    assert "has been fetching sample 1 (place 0 of batch 1) for" in text
    assert filename == __file__


def test_a_stopped_worker_is_recognised() -> None:
    stop = lambda: os.kill(os.getpid(), signal.SIGSTOP)  # noqa: E731
    it = iter(DataLoader(Numbers(at=1, event=stop), num_workers=1, timeout=0.5))
    (worker,) = it._pool.workers
    deadline = time.monotonic() + 600
    while _state(worker.pid) != "T" and time.monotonic() < deadline:
        time.sleep(0.01)
    assert next(it).tolist() == [0]
    with pytest.raises(RuntimeError, match=r"sample 1 .*it is stopped; `kill -CONT \d+` wakes it"):
        next(it)
    del it
    assert no_children()


# -- nothing stays behind ------------------------------------------------------------------------


def test_dropping_the_iterator_ends_the_workers() -> None:
    it = iter(DataLoader(Numbers(100), num_workers=2))
    next(it)
    del it
    gc.collect()
    assert not children()


def test_a_slow_batch_is_given_up_between_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "GRACE_S", 300)  # nobody is killed
    begun = [multiprocessing.get_context("fork").Event() for _ in range(2)]
    done = [multiprocessing.get_context("fork").Event() for _ in range(2)]

    def slow(i: int) -> int:
        begun[i // 5000].set()
        if i % 5000 == 4999:
            done[i // 5000].set()
        return time.sleep(0.02) or i

    it = iter(DataLoader(Numbers(10_000, each=slow), batch_size=5000, num_workers=2))
    assert all(event.wait(600) for event in begun)
    del it
    assert not children() and not any(event.is_set() for event in done)


def test_a_worker_that_will_not_stop_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "GRACE_S", 0.3)

    is_deaf = multiprocessing.get_context("fork").Event()

    def deaf() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        is_deaf.set()
        time.sleep(1000)

    it = iter(DataLoader(Numbers(at=1, event=deaf), num_workers=1))
    next(it)
    assert is_deaf.wait(600)
    del it
    assert not children()


def test_an_exception_in_the_loop_leaves_nothing() -> None:
    with pytest.raises(ZeroDivisionError):
        for _ in DataLoader(Numbers(100), num_workers=2):
            raise ZeroDivisionError
    gc.collect()
    assert no_children()


def test_descriptors_and_shared_memory_are_given_back() -> None:
    def used() -> dict[str, int]:
        """This process's own; what lies in /dev/shm may be another's."""
        gc.collect()
        mapped = Path("/proc/self/maps").read_text()
        counts = {name: mapped.count(name) for name in ("/dev/shm", "rushlight-batch")}
        return counts | {"open": len(os.listdir("/proc/self/fd"))}

    big = Numbers(6, each=lambda i: rushlight.zeros(300, 300))
    list(DataLoader(big, num_workers=2))  # multiprocessing opens some of its own, once
    before = used()
    kept = [b for _ in range(3) for b in DataLoader(big, num_workers=2)]
    it = iter(DataLoader(big, num_workers=2))
    next(it)
    for worker in it._pool.workers:
        os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="Killed"):
        list(it)
    del it
    assert len(kept) == 18
    del kept
    assert all(now <= before[name] for name, now in used().items())


SCRIPT = """
import os, signal, sys, time, threading
import rushlight
from rushlight.utils.data import DataLoader, Dataset

class Slow(Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, i):
        time.sleep({sleep} if i > 1 else 0)
        return i

if __name__ == "__main__":
    loader = DataLoader(Slow(), num_workers=2, persistent_workers={persistent})
    it = iter(loader)
    next(it)
    print(*[w.pid for w in it._pool.workers], flush=True)
    {end}
"""


def _run(end: str, sleep: float = 0.01, persistent: bool = False):
    source = textwrap.dedent(SCRIPT).format(end=end, sleep=sleep, persistent=persistent)
    folder = str(Path(rushlight.__file__).parents[1])
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", source],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": folder},
        start_new_session=True,
    )
    pids = [int(p) for p in process.stdout.readline().split()]
    assert len(pids) == 2, process.stderr.read()
    return process, pids


def _gone(pids: list[int]) -> bool:
    deadline = time.monotonic() + 600
    while any(_state(pid) not in "Z" for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    return all(_state(pid) in "Z" for pid in pids)


def _state(pid: int) -> str:
    """The letter by which Linux tells what a process does; none for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


@pytest.mark.parametrize("sleep", [0.01, 1000])
def test_workers_do_not_outlive_a_killed_program(sleep: float) -> None:
    process, pids = _run("time.sleep(1000)", sleep=sleep)
    process.kill()
    process.communicate(timeout=600)  # reads to the end, which comes when the last worker is gone
    assert _gone(pids)


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("end", ["pass", "sys.exit(0)", "os.kill(os.getpid(), signal.SIGINT)"])
def test_a_program_that_ends_early_ends_quietly(end: str, persistent: bool) -> None:
    process, pids = _run(end, persistent=persistent)
    _, errors = process.communicate(timeout=600)
    assert _gone(pids)
    if "SIGINT" in end:
        assert "KeyboardInterrupt" in errors and errors.count("Traceback") == 1
    else:
        assert errors == "" and process.returncode == 0


def test_ctrl_c_reaches_the_whole_group() -> None:
    process, pids = _run("list(it)", sleep=0.05)
    time.sleep(0.2)  # in the middle of the list, or before it
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=600)
    assert _gone(pids)
    assert errors.count("Traceback") == 1 and "KeyboardInterrupt" in errors


# -- the channel ---------------------------------------------------------------------------------


def test_messages_of_any_size() -> None:
    a, b = (channel.Channel(s) for s in channel.pair())
    for size in (0, 1, 1000, channel.SHARED_FROM, 3 * 10**6):
        array = np.arange(size, dtype=np.uint8)
        a.send({"array": array, "tensor": rushlight.from_numpy(array), "text": "x" * size})
        got = b.receive()
        assert (got["array"] == array).all() and (got["tensor"].numpy() == array).all()
        assert len(got["text"]) == size
        got["tensor"].add_(1)
    a.close()
    with pytest.raises(EOFError):
        b.receive()
    b.close()


def test_a_leaf_keeps_its_wish_for_a_gradient() -> None:
    a, b = (channel.Channel(s) for s in channel.pair())
    a.send(rushlight.ones(3, requires_grad=True))
    got = b.receive()
    assert got.requires_grad and got.is_leaf
    a.close()
    b.close()
