"""`torch.futures`: a result that somebody sets and others wait for."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from .base.locks import new_lock, new_rlock

__all__ = ["Future", "collect_all", "wait_all"]

T = TypeVar("T")


class Future(Generic[T]):
    """A result to come; callbacks run in the thread that sets it.

    Args:
        devices: accepted and not needed.

    Example:
        >>> future = torch.futures.Future()
        >>> doubled = future.then(lambda done: done.value() * 2)
        >>> future.set_result(21)
        >>> doubled.wait()
        42
    """

    def __init__(self, *, devices: Any = None) -> None:
        self._changed = threading.Condition(new_rlock())
        self._done = False
        self._value: Any = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[Future], Any]] = []

    def done(self) -> bool:
        """Whether there is a result or an exception."""
        return self._done

    def set_result(self, result: Any) -> None:
        """Give the result to everyone who waits; it can be given once."""
        self._finish(result, None)

    def set_exception(self, result: BaseException) -> None:
        """Let everyone who waits raise this."""
        if not isinstance(result, BaseException):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def _finish(self, value: Any, error: BaseException | None) -> None:
        with self._changed:
            if self._done:
                raise RuntimeError("Future can only be marked completed once")
            self._value, self._error, self._done = value, error, True
            waiting, self._callbacks = self._callbacks, []
            self._changed.notify_all()
        for callback in waiting:
            callback(self)

    def wait(self) -> Any:
        """The result, when it is there; its exception is raised."""
        with self._changed:
            self._changed.wait_for(lambda: self._done)
        return self.value()

    def value(self) -> Any:
        """The result that is there already."""
        if not self._done:
            raise RuntimeError("Future has not been completed: wait() for it")
        if self._error is not None:
            raise self._error
        return self._value

    def add_done_callback(self, callback: Callable[[Future], Any]) -> None:
        """Call `callback(self)` when the result is there; at once, if it is."""
        with self._changed:
            if not self._done:
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback: Callable[[Future], Any]) -> Future:
        """The future of what `callback(self)` returns."""
        after: Future = Future()

        def run(done: Future) -> None:
            try:
                result = callback(done)
            except Exception as error:  # raised again in the thread that waits
                after.set_exception(error)
            else:
                after.set_result(result)

        self.add_done_callback(run)
        return after


def collect_all(futures: list[Future]) -> Future:
    """The future of the list itself, ready when all of its members are.

    Args:
        futures: a list.

    Example:
        >>> a, b = torch.futures.Future(), torch.futures.Future()
        >>> both = torch.futures.collect_all([a, b])
        >>> a.set_result(1)
        >>> b.set_result(2)
        >>> [one.value() for one in both.wait()]
        [1, 2]
    """
    all_done: Future = Future()
    left = len(futures)
    lock = new_lock()

    def count(_: Future) -> None:
        nonlocal left
        with lock:
            left -= 1
            last = not left
        if last:
            all_done.set_result(list(futures))

    if not futures:
        all_done.set_result([])
    for future in futures:
        future.add_done_callback(count)
    return all_done


def wait_all(futures: list[Future]) -> list[Any]:
    """The results of all, in order.

    Args:
        futures: a list; the first exception among them is raised.

    Example:
        >>> a, b = torch.futures.Future(), torch.futures.Future()
        >>> a.set_result(1)
        >>> b.set_result(2)
        >>> torch.futures.wait_all([a, b])
        [1, 2]
    """
    return [future.wait() for future in collect_all(futures).wait()]
