"""A thread beside NCCL's work: a collective that does not end in the group's time, or whose peer is gone, is broken off.

Who waits for a stream waits inside of CUDA, where no error of ours arrives. So the error is left with the thread that
began the collective, then NCCL is told to give up: the wait returns, and the error is raised before anybody reads.
Work inside of a CUDA graph is not watched.
"""

from __future__ import annotations

import collections
import ctypes
import threading
import time
from typing import Any, NamedTuple

from ..base.locks import new_lock
from .errors import DistBackendError

__all__ = ["NcclWatch"]

_LOOK_S = 0.1


class Begun(NamedTuple):
    """A collective under way."""

    doing: str
    number: int
    ended: Any  # its event
    until: float
    thread: int


class NcclWatch:
    """What one group's NCCL has begun and not ended; `error` is why it was broken off."""

    def __init__(self, group: Any, comm: Any) -> None:
        self._group, self._comm = group, comm
        self._begun: collections.deque[Begun] = collections.deque()
        self._thread: threading.Thread | None = None
        self._closing = threading.Condition(new_lock())
        self._closed = False
        self.error: DistBackendError | None = None

    def begun(self, doing: str) -> None:
        """Watch what was just put into the current stream."""
        import cupy

        if self.error is not None:
            raise self.error
        stream = cupy.cuda.get_current_stream()
        if stream.is_capturing():
            return
        ended = cupy.cuda.Event(disable_timing=True)
        ended.record(stream)
        until = time.monotonic() + self._group.timeout.total_seconds()
        self._begun.append(Begun(doing, self._group.number, ended, until, threading.get_ident()))
        if self._thread is None:
            self._thread = threading.Thread(target=self._look, name="rushlight nccl", daemon=True)
            self._thread.start()

    def _is_closed(self) -> bool:
        """After a moment, or as soon as it is closed."""
        with self._closing:
            return self._closed or (self._closing.wait(_LOOK_S) and self._closed)

    def _look(self) -> None:
        while not self._is_closed():
            while self._begun and self._begun[0].ended.done:
                self._begun.popleft()
            if self._begun:
                first = self._begun[0]
                try:
                    self._group.still_waits(first.doing, first.number, time.monotonic() > first.until)
                except DistBackendError as error:
                    self.error = error
                    _raise_in(first.thread, str(error))
                    self._comm.abort()
                    return

    def close(self) -> None:
        """End the thread."""
        with self._closing:
            self._closed = True
            self._closing.notify_all()
        if self._thread is not None:
            self._thread.join(5.0)


def _raise_in(thread: int, words: str) -> None:
    """Let another thread raise an error; Python takes a class there, and makes the object itself."""
    told = type("DistBackendError", (DistBackendError,), {"__init__": lambda self: RuntimeError.__init__(self, words), "__module__": DistBackendError.__module__})  # fmt: skip
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(told))
