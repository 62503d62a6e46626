"""The worker processes as the main process sees them: started, watched, fed and ended."""

from __future__ import annotations

import mmap
import multiprocessing
import os
import selectors
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Iterable
from typing import Any

from .channel import Channel, pair
from .fetch import COLLATING, WHOLE_BATCH
from .worker import CELLS, IDLE, PLACE_CELL, STOP, STOP_CELL, TASK, TASK_CELL, Setup, run_worker

# How often a silent wait looks whether everybody is alive.
CHECK_S = 1.0
# A sample that takes this long is worth a warning: it may never end.
SLOW_S = 10.0
# What a worker gets to finish its sample before it is terminated, and then killed.
GRACE_S = 2.0


class Worker:
    """One process, our end of its channel, the page it notes its place on, and its open tasks."""

    def __init__(self, number: int, context: Any, setup: Setup, others: Iterable[Worker]) -> None:
        ours, theirs = pair()
        self.channel = Channel(ours)
        forked = context.get_start_method() == "fork"
        self.page = _shared_page() if forked else context.RawArray("q", CELLS)
        self.page[TASK_CELL] = IDLE
        self.tasks: dict[int, Any] = {}
        self.first_task = 0  # of this epoch; tasks are numbered on and on
        self.seen = (IDLE, 0)  # task and place at the last look, and since when
        self.since = time.monotonic()
        self.warned = False
        inherited = [ours, *[w.channel.sock for w in others]] if forked else []
        self.process = context.Process(
            target=run_worker, args=(number, theirs, self.page, setup if forked else None, inherited), daemon=True
        )
        with warnings.catch_warnings():
            # Python 3.12 warns of fork beside threads; those of the array libraries survive it.
            warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
            self.process.start()
        self.pid = self.process.pid
        theirs.close()
        if not forked:
            self.channel.send(setup)

    def doing(self, task: int | None = None, place: int | None = None) -> str:
        """What the worker is at (or was, when it died), in words; empty when it is idle."""
        task = self.page[TASK_CELL] if task is None else task
        place = self.page[PLACE_CELL] if place is None else place
        if task == IDLE or task not in self.tasks:
            return ""
        indices = self.tasks[task]
        task -= self.first_task
        if place == COLLATING:
            return f"collating batch {task}"
        if place == WHOLE_BATCH or place < 0:
            return f"fetching the samples {_shortened(indices)} of batch {task}"
        if not isinstance(indices, (list, tuple)):
            return "fetching the next sample" if indices is None else f"fetching sample {indices!r}"
        sample = indices[place] if place < len(indices) else None
        if sample is None:  # of an iterable dataset
            return f"fetching item {place} of batch {task}"
        return f"fetching sample {sample!r} (place {place} of batch {task})"

    def stuck_for(self) -> float:
        """Seconds without visible progress."""
        seen = (self.page[TASK_CELL], self.page[PLACE_CELL])
        if seen != self.seen:
            self.seen = seen
            self.since = time.monotonic()
        return time.monotonic() - self.since

    def epitaph(self) -> str:
        """How the process ended and at what."""
        self.process.join()
        code = self.process.exitcode
        doing = self.doing()
        at = f" while {doing}" if doing else ""
        if code is not None and code < 0:
            name = signal.strsignal(-code) or f"signal {-code}"
            return (
                f"DataLoader worker (pid {self.pid}) is killed by signal: {name}{at}. {_ADVICE.get(-code, '')}"
            ).rstrip()
        return (
            f"DataLoader worker (pid(s) {self.pid}) exited unexpectedly with exit code {code}{at}. "
            "num_workers=0 runs the dataset in the main process, where its error can be seen."
        )


def _shared_page() -> Any:
    """Cells that a forked child shares; unlike multiprocessing's they need no /dev/shm."""
    return memoryview(mmap.mmap(-1, 8 * CELLS)).cast("q")


_ADVICE = {
    signal.SIGKILL: "The system may have run out of memory: ask for fewer workers, smaller batches or "
    "a smaller prefetch_factor.",
    signal.SIGSEGV: "A native library crashed; num_workers=0 runs the dataset in the main process, "
    "where a debugger can see it.",
    signal.SIGBUS: "The memory or the disk behind a mapped file may be full.",
}


def default_context() -> Any:
    """The start method the program has set, or fork where the system has it (as PyTorch)."""
    chosen = multiprocessing.get_start_method(allow_none=True)
    if chosen is None and sys.platform == "linux":
        chosen = "fork"  # Python 3.14 would take forkserver, which must pickle the dataset
    return multiprocessing.get_context(chosen)


def _shortened(indices: Any) -> str:
    many = list(indices)
    return repr(many) if len(many) <= 8 else f"[{', '.join(map(repr, many[:6]))}, ...]"


class WorkerPool:
    """All workers of one iterator."""

    def __init__(self, context: Any, setup: Setup) -> None:
        self.owner = os.getpid()
        self.workers: list[Worker] = []
        self.selector = selectors.DefaultSelector()
        self.arrived: deque[tuple[int, tuple]] = deque()
        self.closed = False
        context = context or default_context()
        try:
            for number in range(setup.num_workers):
                worker = Worker(number, context, setup, self.workers)
                self.workers.append(worker)
                self.selector.register(worker.channel, selectors.EVENT_READ, number)
                self.selector.register(worker.process.sentinel, selectors.EVENT_READ, None)
        except BaseException:
            self.shutdown()
            raise

    def send(self, number: int, message: tuple) -> None:
        """Send to a worker; that it has died is noticed when its answer is waited for."""
        worker = self.workers[number]
        if message[0] == TASK:
            worker.tasks[message[1]] = message[2]
        try:
            worker.channel.send(message)
        except (BrokenPipeError, ConnectionResetError):
            pass

    def receive(self, awaited: int, timeout: float = 0) -> tuple[int, tuple]:
        """The next message of any worker; `awaited` is the one the caller needs most."""
        started = time.monotonic()
        while not self.arrived:
            wait = CHECK_S
            if timeout > 0:
                wait = min(wait, max(0.0, started + timeout - time.monotonic()))
            events = self.selector.select(wait)
            self._collect(events)
            if self.arrived:
                break
            self._check_alive()
            if timeout > 0 and time.monotonic() - started >= timeout:
                raise RuntimeError(self._overdue(self.workers[awaited], timeout))
            self._check_progress(self.workers[awaited])
        number, message = self.arrived.popleft()
        self.workers[number].warned = False
        return number, message

    def _collect(self, events: list) -> None:
        """Take one message from each worker that has sent."""
        for key, _ in events:
            if key.data is None:
                continue
            try:
                self.arrived.append((key.data, self.workers[key.data].channel.receive()))
            except (EOFError, ConnectionResetError):
                self.selector.unregister(key.fileobj)

    def _check_alive(self) -> None:
        for worker in self.workers:
            if worker.process.exitcode is not None:
                raise RuntimeError(worker.epitaph())

    def _overdue(self, worker: Worker, timeout: float) -> str:
        doing = worker.doing()
        text = f"DataLoader timed out after {timeout} seconds"
        if not doing:
            return text
        return f"{text}: worker (pid {worker.pid}) is {doing}{_state(worker)}"

    def _check_progress(self, worker: Worker) -> None:
        stuck = worker.stuck_for()
        if stuck < SLOW_S or worker.warned:
            return
        worker.warned = True
        warnings.warn(
            f"DataLoader worker (pid {worker.pid}) has been {worker.doing() or 'silent'} for "
            f"{stuck:.0f} seconds{_state(worker)}. If it hangs: num_workers=0 shows where, "
            "multiprocessing_context='spawn' avoids locks copied by fork, and timeout= turns the "
            "wait into an error.",
            RuntimeWarning,
            stacklevel=7,
        )

    def shutdown(self) -> None:
        """End all workers and wait for them; safe to call twice, and in a forked child (no effect)."""
        if self.closed or os.getpid() != self.owner:
            return
        self.closed = True
        for worker in self.workers:
            worker.page[STOP_CELL] = 1
            try:
                worker.channel.sock.setblocking(False)
                worker.channel.send((STOP, 0, None))
            except OSError:
                pass
            worker.channel.close()  # wakes a worker that waits for a message, or to send one
        deadline = time.monotonic() + GRACE_S
        for worker in self.workers:
            worker.process.join(max(0.0, deadline - time.monotonic()))
        for worker in self.workers:
            if worker.process.exitcode is None:
                worker.process.terminate()
                worker.process.join(GRACE_S / 2)
            if worker.process.exitcode is None:
                worker.process.kill()
                worker.process.join()
            worker.process.close()
        self.selector.close()
        self.arrived.clear()


def _state(worker: Worker) -> str:
    """A remark on a process that the system has stopped."""
    try:
        with open(f"/proc/{worker.pid}/stat", "rb") as f:
            state = f.read().rsplit(b")", 1)[1].split()[0]
    except (OSError, IndexError):
        return ""
    return f" (it is stopped; `kill -CONT {worker.pid}` wakes it)" if state in (b"T", b"t") else ""
