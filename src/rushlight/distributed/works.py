"""Works: collectives under way, and the thread of a group that carries them out in order."""

from __future__ import annotations

import datetime
import queue
import threading
from collections.abc import Callable
from typing import Any

from ..base.locks import new_lock
from ..futures import Future
from .errors import DistBackendError
from .mpiexec import library_of

__all__ = ["RequestWork", "StreamWork", "Work", "GroupThread"]


class Work:
    """A collective that was started by `async_op=True`; `wait()` for it before you use its tensors.

    Example:
        >>> t = torch.ones(2)
        >>> work = dist.all_reduce(t, async_op=True)
        >>> work.wait()
        True
    """

    _results: Any = None

    def wait(self, timeout: Any = None) -> bool:
        """Wait for the end; raises what went wrong."""
        return True

    def is_completed(self) -> bool:
        """Whether it has ended."""
        return True

    def is_success(self) -> bool:
        """Whether it has ended without an error."""
        return self.is_completed() and self.exception() is None

    def exception(self) -> BaseException | None:
        """What went wrong, or None."""
        return None

    def synchronize(self) -> None:
        """The same as `wait()`."""
        self.wait()

    def source_rank(self) -> int:
        """The rank that a received message came from."""
        raise RuntimeError("sourceRank() may only be called on work objects that correspond to a recv")

    def result(self) -> Any:
        """The tensors the collective wrote."""
        self.wait()
        return self._results

    def get_future(self) -> Future:
        """A future that has the tensors when the work is done."""
        future: Future = Future()
        try:
            self.wait()
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(self._results)
        return future


class ThreadWork(Work):
    """A job in a group's thread."""

    def __init__(self, job: Callable[[], None], doing: str) -> None:
        self._job = job
        self._doing = doing
        self._done = False
        self._error: BaseException | None = None
        self._futures: list[Future] = []
        self._changed = threading.Condition(new_lock())

    def run(self) -> None:
        """Called by the group's thread."""
        try:
            self._job()
        except BaseException as error:
            self._error = error
        self._job = _nothing  # lets go of the arrays
        with self._changed:
            self._done = True
            self._changed.notify_all()
            futures, self._futures = self._futures, []
        for future in futures:
            self._settle(future)

    def _settle(self, future: Future) -> None:
        if self._error is None:
            future.set_result(self._results)
        else:
            future.set_exception(self._error)

    def get_future(self) -> Future:
        future: Future = Future()
        with self._changed:
            if not self._done:
                self._futures.append(future)
                return future
        self._settle(future)
        return future

    def wait(self, timeout: Any = None) -> bool:
        seconds = timeout.total_seconds() if isinstance(timeout, datetime.timedelta) else timeout
        with self._changed:
            ended = self._changed.wait_for(lambda: self._done, seconds)
        if not ended:
            raise DistBackendError(f"{self._doing} did not end within the {seconds} s of wait()")
        if self._error is not None:
            raise self._error
        return True

    def is_completed(self) -> bool:
        return self._done

    def exception(self) -> BaseException | None:
        return self._error if self._done else None


def _nothing() -> None:
    """The job of a work that is done."""


class GroupThread:
    """A group's thread: jobs one after the other, in the order in which they were given."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[ThreadWork | None] = queue.SimpleQueue()
        self._open = 0
        self._lock = new_lock()
        self._thread: threading.Thread | None = None

    @property
    def idle(self) -> bool:
        """Whether the caller may do a collective itself: nothing waits, or it is this thread."""
        return self._open == 0 or threading.current_thread() is self._thread

    def submit(self, job: Callable[[], None], doing: str) -> ThreadWork:
        work = ThreadWork(job, doing)
        with self._lock:
            self._open += 1
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name=f"rushlight {self._name}", daemon=True)
                self._thread.start()
        self._jobs.put(work)
        return work

    def _work(self) -> None:
        while (work := self._jobs.get()) is not None:
            work.run()
            with self._lock:
                self._open -= 1
            del work

    def close(self) -> None:
        """Finish what was given and end the thread."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(5.0)
            self._thread = None


class RequestWork(Work):
    """A message between two ranks: MPI's request, and what follows when it is done."""

    def __init__(
        self,
        request: Any,
        finish: Callable[[], None] | None,
        wait: Callable[[Any, Any], None],
        keep: Any,
        receives: bool,
    ) -> None:
        self._request, self._finish, self._wait, self._keep = request, finish, wait, keep
        self._receives = receives
        self._source = -1
        self._done = False

    def wait(self, timeout: Any = None) -> bool:
        if not self._done:
            self._wait(self._test, timeout)
        return True

    def _test(self) -> bool:
        if self._done:
            return True
        status = library_of(self._request).Status()
        if not self._request.Test(status):
            return False
        self._done = True
        if self._receives:
            self._source = status.Get_source()
        if self._finish is not None:
            self._finish()
        self._keep = self._finish = None
        return True

    def is_completed(self) -> bool:
        return self._test()

    def source_rank(self) -> int:
        if not self._receives:
            return super().source_rank()
        self.wait()
        return self._source


class StreamWork(Work):
    """A collective in a stream of the GPU: waiting lets the current stream wait, not the host."""

    def __init__(self, event: Any, current: Callable[[], Any], keep: Any) -> None:
        self._event, self._current, self._keep = event, current, keep

    def wait(self, timeout: Any = None) -> bool:
        self._current().wait_event(self._event)
        self._keep = None
        return True

    def is_completed(self) -> bool:
        return bool(self._event.done)
