"""A lock inside of which nobody else's code runs: what a tracer has begun is done before anybody is asked.

An exception that a handler of a signal raises (Ctrl-C, an alarm) may come between any two instructions of Python, and
so may what a garbage collection calls (`__del__`). In the middle of a program both would find tensors that were handed
out and have no values yet, and the exception would leave them so: they wait until the program is done.
"""

from __future__ import annotations

import _signal
import signal
import threading
from typing import Any

from ...base.locks import new_rlock
from ..in_c import native

_NAMES = "HUP INT QUIT USR1 USR2 ALRM TERM CHLD IO VTALRM PROF WINCH BREAK"
_SIGNALS = tuple([int(n) for s in _NAMES.split() if (n := getattr(signal, f"SIG{s}", None))])


class Quiet(native.Quiet):  # type: ignore[misc]
    """The tracer's own thread enters it by `with` (`native/quiet.c`); another one takes `lock` itself."""

    lock: Any
    note: Any
    handlers: list[tuple[int, Any]]  # those that are put off now
    late: list[tuple[int, Any]]  # signals that came meanwhile, and where

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
