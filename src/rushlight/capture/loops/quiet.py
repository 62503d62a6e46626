"""A lock inside of which nobody else's code runs: what a tracer has begun is done before anybody is asked.

An exception that a handler of a signal raises (Ctrl-C, an alarm) may come between any two instructions of Python, and
so may what a garbage collection calls (`__del__`). In the middle of a program both would find tensors that were handed
out and have no values yet, and the exception would leave them so: they wait until the program is done.
"""

from __future__ import annotations

import _signal
import gc
import signal
import threading
from typing import TYPE_CHECKING, Any

from ...base.locks import new_rlock
from ..in_c import native

_NAMES = "HUP INT QUIT USR1 USR2 ALRM TERM CHLD IO VTALRM PROF WINCH BREAK"
_SIGNALS = tuple([int(n) for s in _NAMES.split() if (n := getattr(signal, f"SIG{s}", None))])


class InPython:
    """What the C extension has, too (`native/quiet.c`)."""

    __slots__ = ("collects", "depth", "handlers", "late", "lock", "note", "watched")

    lock: Any
    note: Any

    def __init__(self) -> None:
        self.depth = 0
        self.collects = False  # whether collections are switched on again at the end
        self.watched: tuple[int, ...] = ()  # signals whose handlers are functions of Python
        self.handlers: list[tuple[int, Any]] = []  # those that are put off now
        self.late: list[tuple[int, Any]] = []  # signals that came meanwhile, and where

    def look_at(self, signals: tuple[int, ...]) -> None:
        """Watch those of some signals that have handlers."""
        get = _signal.getsignal
        self.watched = tuple([n for n in signals if callable(get(n))])

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *error: object) -> None:
        self.leave()

    def enter(self) -> None:
        """From here on nobody else's code runs in this thread."""
        if not self.depth:
            if self.watched:
                self._put_off()
            self.collects = gc.isenabled()
            gc.disable()
        self.depth += 1
        self.lock.acquire()

    def leave(self) -> None:
        """Whoever had to wait is asked now, and may raise."""
        self.lock.release()
        self.depth -= 1
        if not self.depth:
            if self.collects:
                gc.enable()
            if self.handlers:
                self._put_back()

    def _put_off(self) -> None:
        held = self.handlers
        try:
            for n in self.watched:
                held.append((n, _signal.signal(n, self.note)))
        except BaseException:  # a handler that was not put off yet has raised
            self._put_back()
            raise

    def _put_back(self) -> None:
        raise NotImplementedError


if TYPE_CHECKING or native is None:
    Base = InPython
else:
    Base = native.Quiet


class Quiet(Base):
    """The tracer's own thread enters it by `with`; another one takes `lock` itself."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = new_rlock()
        self.note = lambda number, frame: self.late.append((number, frame))
        self.look()

    def look(self) -> None:
        """Find out which signals have handlers; only the main thread runs them."""
        main = threading.get_ident() == threading.main_thread().ident
        self.look_at(_SIGNALS if main else ())

    def _put_back(self) -> None:
        """The handlers are those of the user again, and what came meanwhile is told to them."""
        held, late = self.handlers, self.late
        self.handlers, self.late = [], []
        for n, handler in held:
            if _signal.getsignal(n) is self.note:
                _signal.signal(n, handler)
        late, self.late = late + self.late, []
        before = dict(held)
        for n, frame in late:
            handler = before.get(n) or _signal.getsignal(n)
            if callable(handler):
                handler(n, frame)
