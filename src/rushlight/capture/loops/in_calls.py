"""Calls of a compiled function that reads values in the middle: they are traced as the iterations of a loop are."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from ...base.locks import new_lock
from ...core.hot import LoopWatch, settle_before_forks
from ...runtime.thread import here, tracers
from .path import PathOfStretch
from .tracer import Tracer


class TracedCalls:
    """A function with a tracer of its own, which is this thread's while a call goes on.

    The beginning of a call is a place, as are the lines that read values; behind its end nothing waits.
    """

    def __init__(self, fn: Callable, reason: str) -> None:
        self.fn, self.reason = fn, reason
        self.name = f"a call of {getattr(fn, '__qualname__', type(fn).__name__)}"
        self.tracer: Tracer | None = None  # of the thread that called first
        self.current: Any = None  # that tracer, or what stands in its place while it rests
        self.busy = new_lock()

    @property
    def paths(self) -> list[PathOfStretch]:
        """The programs between the places, the newest first."""
        return [] if self.tracer is None else self.tracer.paths

    @property
    def failed(self) -> str | None:
        """Why the function is better run as it is, where nothing is tried any more; otherwise None."""
        if self.tracer is None or self.current is self.tracer or self.paths:
            return None
        whys = [place.why for place in self.tracer.places.values()]
        return whys[0] if None not in whys else None

    def __call__(self, args: tuple, kwargs: dict) -> Any:
        if not self.busy.acquire(blocking=False):
            return self.fn(*args, **kwargs)  # another thread, or the function itself, is at it
        try:
            if self.tracer is None:
                settle_before_forks()
                self.tracer = self.current = Tracer(LoopWatch())
            elif self.tracer.thread != threading.get_ident():
                return self.fn(*args, **kwargs)
            return self._call(self.tracer, args, kwargs)
        finally:
            self.busy.release()

    def _call(self, tracer: Tracer, args: tuple, kwargs: dict) -> Any:
        outer, here.tracer = here.tracer, self.current
        if tracer not in tracers:
            tracers.append(tracer)
        try:
            if here.tracer is tracer:
                tracer.begin(self.name)
            result = self.fn(*args, **kwargs)
            tracer.end()
            return result
        except BaseException:
            tracer.interrupt("a call raised")
            raise
        finally:
            self.current = here.tracer
            if getattr(here.tracer, "tracer", here.tracer) is not tracer:
                self.tracer = self.current = None  # the function has switched tracing off
            here.tracer = outer
            if tracer in tracers:
                tracers.remove(tracer)
