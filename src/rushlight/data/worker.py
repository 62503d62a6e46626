"""The worker process: receives index batches, fetches them, sends the batches back."""

from __future__ import annotations

import os
import queue
import selectors
import signal
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..base import tracebacks
from .channel import Channel
from .fetch import make_fetcher
from .seeding import seed_worker

# What a message says: (kind, number, content).
TASK = "task"  # to the worker: fetch batch `number` of these indices
RESUME = "resume"  # to the worker: a new epoch begins
STOP = "stop"
DATA = "data"
ERROR = "error"
END = "end"  # the worker's iterable dataset is exhausted

# The cells of the page that both processes see.
TASK_CELL, PLACE_CELL, STOP_CELL, CELLS = 0, 1, 2, 3
IDLE = -1

_PARENT_CHECK_S = 2.0
# What is left to a worker when the main process has hung up; that itself would wait less.
_LAST_S = 4.0


@dataclass(frozen=True)
class WorkerInfo:
    """Who a worker is: its number, how many there are, its seed, its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any

    def __repr__(self) -> str:
        return f"WorkerInfo(id={self.id}, num_workers={self.num_workers}, seed={self.seed}, dataset={self.dataset})"


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Who this worker process of a `DataLoader` is: `id`, `num_workers`, `seed`, `dataset`; None in the main process.

    Example:
        >>> print(torch.utils.data.get_worker_info())
        None
    """
    return _info


class Setup(NamedTuple):
    """What a worker needs to know."""

    dataset: Any
    batched: bool
    collate: Any
    drop_last: bool
    base_seed: int
    num_workers: int
    init_fn: Callable[[int], None] | None
    whole: bool


class Failure(NamedTuple):
    """An exception on its way to the main process."""

    type: Any
    where: str
    text: str
    place: int

    def reraise(self, told: str) -> None:
        """Raise it as PyTorch does: the same type, with the worker's traceback as its message."""
        name = self.type if isinstance(self.type, str) else self.type.__name__
        message = f"Caught {name} {self.where}.\nOriginal {self.text}{told}"
        if isinstance(self.type, str):
            raise RuntimeError(message)
        if issubclass(self.type, KeyError):
            raise self.type(_Verbatim(message))
        try:
            error = self.type(message)
        except Exception:  # its constructor wants something else
            raise RuntimeError(message) from None
        raise error


class _Verbatim(str):
    """A message that KeyError shows as it is, line by line."""

    def __repr__(self) -> str:
        return str(self)


class _Stopped(BaseException):
    """The main process wants no more."""


def run_worker(
    worker_id: int, sock: socket.socket, page: Any, setup: Setup | None, inherited: list[socket.socket]
) -> None:
    """The whole life of a worker; `setup` comes over the channel where the process was spawned."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the main process's to handle
    for other in inherited:  # or this process would keep the others' connections open
        other.close()
    channel = Channel(sock)
    inbox: queue.SimpleQueue = queue.SimpleQueue()
    try:
        told = channel.receive() if setup is None else setup
        listener = threading.Thread(target=_listen, args=(channel, inbox, page), daemon=True)
        listener.start()
        _work(worker_id, channel, inbox, page, told)
    except (_Stopped, EOFError, BrokenPipeError, ConnectionResetError):
        pass


def _listen(channel: Channel, inbox: queue.SimpleQueue, page: Any) -> None:
    """Move messages into the inbox, so that the main process never waits for a busy worker."""
    selector = selectors.DefaultSelector()
    selector.register(channel, selectors.EVENT_READ)
    first_parent = os.getppid()
    try:
        while True:
            if selector.select(_PARENT_CHECK_S):
                inbox.put(channel.receive())
            elif os.getppid() != first_parent:
                break  # the parent died, and a process it forked holds its end open
    except (EOFError, OSError):
        pass
    page[STOP_CELL] = 1
    inbox.put((STOP, 0, None))
    time.sleep(_LAST_S)  # the work ends between two samples, and the process with it
    os._exit(1)  # it is stuck in one, and there may be nobody left to end it


def _work(worker_id: int, channel: Channel, inbox: queue.SimpleQueue, page: Any, setup: Setup) -> None:
    fetch: Any = None
    failure = None
    where = f"in DataLoader worker process {worker_id}"

    def note(place: int) -> None:
        page[PLACE_CELL] = place
        if page[STOP_CELL]:
            raise _Stopped

    def begin() -> Any:
        return make_fetcher(setup.dataset, setup.batched, setup.collate, setup.drop_last, note, setup.whole)

    try:
        _settle(worker_id, setup)
        fetch = begin()
    except Exception as error:
        failure = _failure(error, where, IDLE)
    while True:
        kind, number, content = inbox.get()
        if kind == STOP:
            return
        if kind == RESUME:
            try:
                fetch = begin()
            except Exception as error:
                failure = _failure(error, where, IDLE)
            continue
        page[PLACE_CELL] = IDLE
        page[TASK_CELL] = number
        if failure is not None:
            answer = (ERROR, number, failure)
            failure = None
        else:
            answer = _fetch(fetch, number, content, page, where)
        _send(channel, answer, page, where)
        del answer, content
        page[TASK_CELL] = IDLE


def _settle(worker_id: int, setup: Setup) -> None:
    """Threads, seeds, identity, and the user's own preparations."""
    global _info
    from ..core.hot import tracing
    from ..operators.memory.query import set_num_threads

    set_num_threads(1)  # the workers are the parallelism
    tracing(False)  # as it came from the parent
    seed_worker(setup.base_seed, worker_id)
    _info = WorkerInfo(worker_id, setup.num_workers, setup.base_seed + worker_id, setup.dataset)
    if setup.init_fn is not None:
        setup.init_fn(worker_id)


def _fetch(fetch: Any, number: int, indices: Any, page: Any, where: str) -> tuple:
    try:
        return (DATA, number, fetch(indices))
    except StopIteration as error:
        if hasattr(fetch, "ended"):  # of an iterable dataset; elsewhere it is an error like others
            fetch.ended = True
            return (END, number, None)
        return (ERROR, number, _failure(error, where, page[PLACE_CELL]))
    except Exception as error:
        return (ERROR, number, _failure(error, where, page[PLACE_CELL]))


def _send(channel: Channel, answer: tuple, page: Any, where: str) -> None:
    try:
        channel.send(answer)
    except (BrokenPipeError, ConnectionResetError):
        raise
    except Exception as error:  # it cannot be pickled
        failure = _failure(error, where, page[PLACE_CELL])
        try:
            channel.send((ERROR, answer[1], failure))
        except (BrokenPipeError, ConnectionResetError):
            raise
        except Exception:  # nor can the exception's type
            channel.send((ERROR, answer[1], failure._replace(type=type(error).__name__)))


def _failure(error: Exception, where: str, place: int) -> Failure:
    return Failure(type(error), where, tracebacks.text(error), place)
