"""A thread whose loops are all given up is hardly watched: a rest that costs next to nothing, and ends now and then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...core.hot import read_plainly
from ...runtime.door import Kernel
from ...runtime.thread import here

PATIENCE = 16  # places in a row behind which nothing is tried any more, before a rest
_SHORT, _LONG = 64, 1024  # places that a rest lasts; each is twice as long as the one before
_BETWEEN = 128  # at most, where another loop of the program has a path


class Rest:
    """Stands where the tracer would be asked, and wakes it after so many places or at the step of a loop that it knows."""

    __slots__ = ("known", "left", "tracer")
    awake = False  # whether backward passes are to be told
    arrivals = None  # no array stands ready

    def __init__(self, tracer: Any) -> None:
        self.tracer = tracer
        most = _BETWEEN if tracer.paths else _LONG
        self.left = tracer.rested = min(max(2 * tracer.rested, _SHORT), most)
        self.known = {key for key, place in tracer.places.items() if place.known}

    def _wake(self) -> Any:
        here.tracer = self.tracer
        return self.tracer

    def read(self, kernel: Kernel, a: Any) -> Any:
        """A read by the host."""
        self.left -= 1
        if self.left < 0:
            return self._wake().read(kernel, a)
        return read_plainly(kernel, a)

    def step(self, go: Callable, step: Any, optimizer: Any, args: tuple, kwargs: dict) -> Any:
        """`optimizer.step()`."""
        self.left -= 1
        if self.left < 0 or id(optimizer) in self.known:
            return self._wake().step(go, step, optimizer, args, kwargs)
        return go(step, optimizer, args, kwargs)

    def fetch(self, take: Callable[[], Any]) -> Any:
        """A loader makes the next batch."""
        self.left -= 1
        if self.left < 0:
            return self._wake().fetch(take)
        return take()

    def sees(self, a: Any) -> bool:
        """Nobody knows: somebody else may be recording."""
        return False

    def settle(self) -> None:
        """No kernel is waiting to be computed."""

    settle_from_outside = settle

    def interrupt(self, why: str) -> None:
        """No path is being followed."""

    def stop(self) -> None:
        """End tracing in this thread."""
        self._wake().stop()

    @property
    def asked(self) -> bool:
        """Whether the user wants loops to be traced."""
        return self.tracer.asked

    @property
    def report(self) -> Any:
        """What the tracer did."""
        return self.tracer.report

    @property
    def places(self) -> Any:
        """Those that the tracer knows."""
        return self.tracer.places
