"""Hot loops: the places where iterations end are counted, and the tracer is loaded when one is passed again.

A place is an optimiser whose `step()` was called, or a line of the program at which the host read a value. Nothing
else is looked at until a place comes again: then the tracer of `capture/loops` takes over in this thread.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from ..base.config import settings
from ..runtime import devices
from ..runtime.door import Kernel, run
from ..runtime.thread import FOREIGN, TRACED, WATCHED, here, settle, tracers
from .glance import Glance

_PACKAGE = __name__.split(".")[0] + "."
_PATIENCE = 1.0  # seconds that a loop goes on before it is traced without being asked for
_MOST = 4096  # places that are remembered
_LONGEST = 60.0  # seconds at most between two glances at a program that does not repeat


class LoopLinks:
    """What `capture` fills in when it is first needed."""

    tracer: Callable[[LoopWatch], Any]
    forks = False  # whether forks are waited for
    barred: str | None = None  # why no loop of this process may be traced
    timed = True  # whether each path is left out a few times, and let alone where eager is quicker


meeting = LoopLinks()


class LoopWatch:
    """Takes the place of the tracer in a thread in which nothing has repeated yet."""

    awake = False  # whether backward passes are to be told
    arrivals: Any = None  # arrays that stand ready for what is brought to a GPU

    def __init__(self, patience: float = 0.0) -> None:
        self.seen: dict[Any, float] = {}  # places, and when they were first passed
        self.loading = False  # a handler of a signal may pass a place while the tracer is imported
        # Loading the tracer takes as long as hundreds of iterations: not for what is soon over.
        self.patience = patience
        self.asked = not patience  # whether the user wants loops to be traced
        self.began = time.perf_counter()
        self.again = 0.0  # until then no place is looked at
        self.glance: Glance | None = None

    def _pass(self, place: Any, now: float) -> None:
        first = self.seen.get(place)
        if first is None and self.glance is None:
            if len(self.seen) >= _MOST:
                self.seen.clear()
            self.seen[place] = now
            return
        if meeting.barred is not None or self.loading:
            return
        if here.tracer is not self:  # a place inside of a step, or of a loader, has called the tracer
            return
        if not self.asked and not self._repeats(place, now, first):
            return
        self._look_no_more()
        load, self.loading = meeting.tracer, True
        try:
            tracer = load(self)
        finally:
            self.loading = False
        if tracer is not None:
            here.tracer = tracer
            tracer.begin(place)

    def _repeats(self, place: Any, now: float, first: float | None) -> bool:
        """Whether a program that did not ask for it has gone on for long enough, and does the same again and again."""
        if self.glance is None:
            if first is None or now - first < self.patience:
                return False
            self.glance = Glance()
        if self.glance.ends(place):
            return True
        if not self.glance.left:
            self._look_no_more()
            self.again = now + min(now - self.began, _LONGEST)
        return False

    def _look_no_more(self) -> None:
        glance, self.glance = self.glance, None
        if glance is not None:
            glance.close()

    def read(self, kernel: Kernel, a: Any) -> Any:
        """A read by the host."""
        out = read_plainly(kernel, a)
        now = time.perf_counter()
        if now >= self.again:
            self._pass(line_of_user(), now)
        return out

    def step(self, go: Callable, step: Any, optimizer: Any, args: tuple, kwargs: dict) -> Any:
        """`optimizer.step()`: what `go` does with the rest."""
        out = go(step, optimizer, args, kwargs)
        now = time.perf_counter()
        if now >= self.again:
            self._pass(id(optimizer), now)
        return out

    def fetch(self, take: Callable[[], Any]) -> Any:
        """A loader makes the next batch."""
        out = take()
        now = time.perf_counter()
        if now >= self.again:
            self._pass(("a batch", *line_of_user()), now)
        return out

    def sees(self, a: Any) -> bool:
        """Nobody knows: somebody else may be recording."""
        return False

    def settle(self) -> None:
        """No kernel is waiting to be computed."""

    settle_from_outside = settle

    def stop(self) -> None:
        """End watching in this thread."""
        self._look_no_more()

    def interrupt(self, why: str) -> None:
        """No path is being followed; somebody else may want to look."""
        self._look_no_more()


def read_plainly(kernel: Kernel, a: Any) -> Any:
    """A read that no tracer has to do with: memory of the host is read where it lies, unless somebody looks on."""
    if a.__class__ is np.ndarray and not here.state & (WATCHED | TRACED | FOREIGN):
        return a
    return run(kernel, a.__class__, (a,), {})


def uses_gpu() -> bool:
    """Whether this process has a GPU at work."""
    return "cuda" in devices.known.by_name


def line_of_user(above: int = 1) -> tuple[Any, int]:
    """The place in the user's code that led here: a code object and how far it has come.

    `above`: how many frames up ours are known to end at the earliest.
    """
    frame: Any = sys._getframe(above)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        frame = frame.f_back
    return frame.f_code, frame.f_lasti


def tracing(mode: bool | None = None) -> bool:
    """Whether loops of this thread are recorded and run as programs; with `mode`, switch that on or off.

    A loop that repeats is recorded, while Python runs every line of it: see docs/hot-loops.md.
    Scripts, and `rushlight run`, do so for loops that go on for a second, unless a path
    turns out to be slower than eager calls. RUSHLIGHT_TRACE=1 switches it on for all loops when
    rushlight is imported, RUSHLIGHT_TRACE=0 keeps it off whatever is asked for.

    Args:
        mode: True or False; None only asks. What was set before is returned.

    Example:
        >>> torch.tracing() in (False, True)
        True
    """
    before = here.tracer is not None
    if mode is not None and bool(mode) != before:
        if mode:
            _watch(0.0)
        else:
            here.tracer.stop()
            here.tracer = None
    elif mode:
        watcher = getattr(here.tracer, "tracer", here.tracer)
        watcher.asked, watcher.patience, watcher.again = True, 0.0, 0.0
    return before


def trace_by_itself() -> None:
    """Have loops of this thread traced that go on for long enough; at once, or not at all, where the environment says so.

    Example:
        >>> from rushlight.core import hot
        >>> before = torch.tracing(False)
        >>> hot.trace_by_itself()
        >>> torch.tracing(before) == (hot.settings.trace != "0")
        True
    """
    if here.tracer is None:
        _watch(0.0 if settings.trace == "1" else _PATIENCE)


def trace_scripts() -> None:
    """Have loops traced by themselves where rushlight is imported by a script, and not by somebody who looks on."""
    if settings.trace == "1" or (not settings.trace and _is_script()):
        trace_by_itself()


def _is_script() -> bool:
    """Whether this is the main thread of a program that runs from a file: no prompt, test, debugger or child process."""
    known = sys.modules
    if getattr(known.get("__main__"), "__file__", None) is None or sys.flags.interactive:
        return False  # a prompt, -c, or Python inside of another program
    if hasattr(sys, "ps1") or "IPython" in known or "pytest" in known:
        return False
    if sys.gettrace() is not None or sys.getprofile() is not None:
        return False
    family = known.get("multiprocessing.process")
    if family is not None and family.parent_process() is not None:
        return False
    return threading.current_thread() is threading.main_thread()


def _watch(patience: float) -> None:
    if settings.trace != "0":
        here.tracer = LoopWatch(patience)
        settle_before_forks()


def bar(why: str) -> None:
    """Trace no loop of this process from now on; what waits is computed first.

    Args:
        why: what `rushlight run --explain` says about it.

    Example:
        >>> from rushlight.core import hot
        >>> before, _ = hot.meeting.barred, hot.bar("an example")
        >>> hot.meeting.barred
        'an example'
        >>> hot.meeting.barred = before
    """
    meeting.barred = why
    _interrupt(why)


def settle_before_forks() -> None:
    """Compute what is waiting before a fork, so that the child process finds the values, and before settings change."""
    if not meeting.forks and hasattr(os, "register_at_fork"):
        meeting.forks = True
        os.register_at_fork(before=settle, after_in_child=_is_child)
    if _interrupt not in settings.before_change:
        settings.before_change += (_interrupt,)


def _is_child() -> None:
    """A child process shares memory with others, who would not see what waits: it has to ask."""
    tracer = here.tracer
    if tracer is not None and not getattr(tracer, "tracer", tracer).asked:
        meeting.barred = "a child process"


def _interrupt(why: str = "a setting was changed") -> None:
    """A kernel that waits must not be computed under settings that are made after its call."""
    for tracer in list(tracers):
        if tracer is getattr(here.tracer, "tracer", here.tracer):
            tracer.interrupt(why)
        else:
            tracer.settle_from_outside()
