"""Places of a program where stretches begin: what was heard there, whether listening is still worth it, who may look on."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import Any

from ...core.exposed import exposed
from ...core.hot import read_plainly
from ...runtime.door import Kernel
from ...runtime.thread import here
from ..program.slots import MADE, Slot
from ..record.agreement import Agreement
from ..record.recorder import Recorder
from .stretch import changes_nothing

# threads that Python started, without the lock and the list of `threading.active_count`
_threads_beside: Callable[[], int] = getattr(_thread, "_count", lambda: 1)
_HARMLESS = ("TMonitor",)  # a progress bar's thread, which never touches a tensor


def alone() -> bool:
    """Whether no other Python thread could read values that are still waiting to be computed."""
    beside = _threads_beside()
    if not beside:
        return True
    me, main, harmless = threading.current_thread(), threading.main_thread(), 0
    for t in threading.enumerate():
        if t is not me and type(t).__name__ not in _HARMLESS and not t.name.startswith("rushlight "):
            return False
        harmless += t is not main
    return beside <= harmless  # there may be threads that `threading` did not start


_LISTEN = 4  # stretches heard before a place is given up, and after one that was not expected
_RECENT = 3  # stretches that wait for one like them
_MISSES = 16  # more than this, and more than matches: not worth it


class AgreementOfStretches(Agreement):
    """Of two stretches: the same array stays, another one, or one that the user sees by NumPy, is an input."""

    def __init__(self, first: Recorder, second: Recorder) -> None:
        self.inputs: set[int] = set()  # slots of the second that are new each time
        self.fed = _fed(first), _fed(second)
        super().__init__(first, second)

    def outside(self, x: Slot, y: Slot) -> str | None:
        if x.array is not y.array or id(y.storage.array) in exposed.roots:
            fed = id(x.array) in self.fed[0], id(y.array) in self.fed[1]
            if any(fed):
                return None if all(fed) else "a number of the host"
            self.inputs.add(y.number)
        return None

    @property
    def loose(self) -> tuple[str, str] | None:
        """The kernel where they part, by name and line, if it only prepares what comes from outside."""
        b = self.parted
        if b is None or not changes_nothing(b.kernel, b.attrs):
            return None
        return None if any(s.storage.kind == MADE for s in b.reads) else (b.name, b.line)


def _fed(recorder: Recorder) -> set[int]:
    """Arrays of numbers that the host brings up to date itself."""
    return {id(a) for m in recorder.macros for a in getattr(m, "fed", ())}


class Place:
    """An optimiser's step or a line that reads a value: the stretch that follows begins there."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.seen = self.matches = self.misses = 0
        self.known = False  # a path begins here
        self.listen = _LISTEN
        self.recent: list[Recorder] = []
        self.why: str | None = None  # why nothing is tried here any more
        self.last: Any = None  # the path that was taken last
        self.quick: Any = None  # the same where it is certain to be tried again

    def missed(self, why: str) -> None:
        """The stretch was none of the known paths."""
        self.misses += 1
        self.listen = _LISTEN
        self.known, self.quick = False, None
        if self.misses > max(_MISSES, self.matches):
            self.give_up(why)

    def heard_again(self, path: Any) -> None:
        """A stretch was one of the paths: after a miss, others are listened for all the same."""
        self.listen = 0 if not self.misses else self.listen - 1
        self.last, self.known, self.quick = path, self.listen <= 0, None

    def give_up(self, why: str) -> None:
        self.why, self.quick = why, None
        self.recent.clear()

    def pair_of(self, recorder: Recorder, loose: Callable[[tuple[str, str]], bool]) -> Recorder | None:
        """A stretch heard before that is like this one; otherwise this one is kept.

        `loose` notes a kernel that is run at once from now on, and says whether it was not so before.
        """
        self.listen -= 1
        why = None
        for other in reversed(self.recent):
            agreement = AgreementOfStretches(other, recorder)
            why = agreement.why
            if why is None:
                self.recent.remove(other)
                return other
            # Stretches heard before, which have that kernel, are of no use.
            if agreement.loose is not None and loose(agreement.loose):
                self.recent.clear()
                self.listen += 1
                return None
        self.recent = [*self.recent[1 - _RECENT :], recorder]
        if self.listen <= 0 and not self.known:
            self.give_up(why or "what follows differs from time to time")
        return None


def name_of(key: Any) -> str:
    """A place as reports name it: the line, or what was called."""
    if key.__class__ is str:
        return key
    if key.__class__ is tuple:
        code = key[-2]
        lines = [line for start, end, line in code.co_lines() if start <= key[-1] < end]
        where = f"{code.co_filename}:{lines[0] if lines else code.co_firstlineno}"
        return where if len(key) == 2 else f"{key[0]} at {where}"
    return "optimizer.step()"


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
