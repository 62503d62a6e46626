"""Stretches that are heard: two that agree become a path, and paths go where what they rest on has changed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from ...base.config import settings
from ...core.exposed import exposed
from ...core.memory import root_array
from ...core.references import frames_are_watched
from ...runtime.door import collecting_replay_hooks, remove_listener
from ...runtime.thread import WHOLE, here, swap
from ..program.slots import MADE
from ..record.recorder import CannotCapture, Recorder
from .described import Told
from .matching import Matching
from .path import Path
from .places import Place
from .quiet import Quiet
from .report import Report
from .updates import Update

# What a tracer does between two places. WAIT: it only sees whether anything is computed.
WATCH, HEAR, MATCH, WAIT = range(4)
_PATHS = 16  # kept; the one that was not used for longest goes
_SHORTEST = 3  # kernels that are worth a program


class Hearing(Matching):
    """What a tracer knows of places, of what was heard behind them, and of the paths it made of that."""

    asked: bool  # whether the user wants loops to be traced
    interrupt: Callable[[str], None]  # run the rest of the stretch as it is

    def __init__(self) -> None:
        super().__init__()
        self.mode = WATCH
        # Values that the last program sends to the host early, by the ids of its arrays. There are some only while
        # nothing has been computed since, which is known in the modes MATCH and WAIT.
        self.sent: dict[int, Any] = {}
        self.places: dict[Any, Place] = {}
        self.place: Place | None = None
        self.recorder: Recorder | None = None  # of the stretch that is heard
        self.distinct: Any = None  # while one is: every result is an array of its own
        self.left: tuple[Any, float] | None = None  # a path that eager runs now, and since when
        self.began = 0.0  # when the stretch began that is being matched
        # By which paths are compared with eager calls.
        self.clock: Callable[[], float] = time.perf_counter
        self.asker: Any = None  # the stretch in which `is_idle` was asked last
        self.times = 0
        self.quiet = Quiet()
        self.report = Report()
        self.exposure = exposed.version
        self.numerics = settings.numerics
        self.untold = False  # whether calls are no longer heard as their callers describe them

    def _hear_call(
        self, make: Callable[[Recorder], Any], go: Callable[[], Any], done: Callable[[Any], None]
    ) -> Any:
        """Run a call that stands for many kernels, and write it down as one, where it can be compared as one."""
        recorder, macro = self.recorder, None
        assert recorder is not None
        with self.quiet:
            try:
                macro = make(recorder)
                macro.start = len(recorder.instructions)
            except CannotCapture as error:  # it has an array that takes no part in programs
                recorder.why = str(error)
                self.interrupt(recorder.why)
        out = go()
        with self.quiet:
            if self.recorder is not recorder or macro is None:
                return out
            if macro.why is None:
                done(macro)
            if macro.why is None:
                macro.end = len(recorder.instructions)
                recorder.macros.append(macro)
            elif macro.is_needed:
                recorder.why = macro.why
        return out

    def _hear_update(self, go: Callable[[], Any], optimizer: Any) -> Any:
        recorder = self.recorder
        with collecting_replay_hooks() as hooks:
            return self._hear_call(
                lambda heard: Update(heard, optimizer),
                go,
                lambda macro: macro.done(recorder, hooks),
            )

    def _hear_told(self, what: Any, go: Callable[[], None]) -> None:
        recorder, noted = self.recorder, None

        def told() -> None:
            nonlocal noted
            what.begin()
            try:
                go()
            finally:
                noted = what.end()

        self._hear_call(
            lambda heard: Told(heard, what), told, lambda macro: macro.done(recorder, what, noted)
        )

    def is_idle(self) -> bool:
        """Whether a stretch has begun, in which nothing was computed yet.

        Nobody knows that of one that is left to eager calls, to be timed: it is if it was when it was replayed.
        """
        if self.mode == HEAR:
            return self.recorder is not None and not self.recorder.instructions
        if self.left is not None:
            return self._asked(self.left) <= getattr(self.left[0], "asked", 0)
        if self.mode != MATCH or self.cursor.at or self.bound or self.cursor.path is None:
            return False
        self.cursor.path.asked = self._asked(self.began)
        return True

    def sees(self, a: Any) -> bool:
        """Whether the memory of an array of the host is as it would be without a tracer, now and where the stretch is replayed."""
        root = root_array(a)
        if self.mode == HEAR and self.recorder is not None and here.recorder is None:
            storage = self.recorder.roots.get(id(root))
            return storage is None or not (
                storage.kind == MADE or storage.number in self.recorder.bounds.written
            )
        path = self.cursor.path
        if self.mode != MATCH or path is None or id(root) in path.changed:
            return False
        if not self._is_pending(root):
            return True
        return any(b is root and v not in path.returned for v, b in self.bound.items())

    def _asked(self, stretch: Any) -> int:
        """How often that was asked in this stretch."""
        if self.asker is not stretch:
            self.asker, self.times = stretch, 0
        self.times += 1
        return self.times

    def _consider(self) -> None:
        recorder, place = self._stop_hearing(), self.place
        assert place is not None
        if frames_are_watched():
            return
        if recorder.why is not None:
            place.listen -= 1
            if place.listen <= 0 and not place.known:
                place.give_up(recorder.why)
            return
        if len(recorder.instructions) < _SHORTEST:
            place.listen -= 1
            if place.listen <= 0:
                place.give_up(f"fewer than {_SHORTEST} kernels")
            return
        for path in self.paths:
            if path.is_same(recorder):
                place.heard_again(path)
                return
        other = place.pair_of(recorder, self._loosen)
        if other is not None:
            self._build(place, other, recorder)

    def _loosen(self, what: tuple[str, str]) -> None:
        """A kernel at a line that takes another part of the data each time is run at once from now on."""
        self.loose.add(what)
        self.loose_names.add(what[0])

    def _stop_hearing(self) -> Recorder:
        recorder = self.recorder
        assert recorder is not None
        self.mode, self.recorder = WATCH, None
        remove_listener(recorder)
        self.distinct.__exit__(None, None, None)
        swap(WHOLE, 0)
        recorder.close()
        return recorder

    def _build(self, place: Place, first: Recorder, second: Recorder) -> None:
        began = time.perf_counter()
        try:
            path = self._path(first, second)
        except Exception as error:  # noqa: BLE001 - the loop itself is right, whatever fails here
            place.give_up(str(error) if isinstance(error, CannotCapture) else repr(error))
            return
        self.paths.insert(0, path)
        for old in self.paths[_PATHS:]:
            self._drop(old)
        place.known, place.last, place.quick, place.listen = True, path, None, 0
        # Where others use the processor, a stretch takes as long as they let it; a GPU works beside this thread.
        on_cpu = all(p.program.device == "cpu" for p in self.paths)
        self.clock = time.thread_time if on_cpu else time.perf_counter
        self.report.built(place, path, time.perf_counter() - began)

    def _path(self, first: Recorder, second: Recorder) -> Path:
        try:
            return Path(first, second, self.paths, self.asked)
        except CannotCapture:
            recorders = (first, second)
            if not any(isinstance(m, Told) for r in recorders for m in r.macros):
                raise
        self.untold = True  # what such a call computes can only be compared kernel by kernel
        for r in recorders:
            r.macros = [m for m in r.macros if not isinstance(m, Told)]
        return Path(first, second, self.paths, self.asked)

    def _drop(self, path: Path) -> None:
        self.sent = {}
        self.paths.remove(path)
        for other in self.paths:
            other.common.pop(id(path), None)
        for place in self.places.values():
            if place.last is path:
                place.last, place.quick, place.known, place.listen = None, None, False, 2

    def _give_up(self, path: Path) -> None:
        """A path that does not pay goes, and so does the listening behind its places."""
        text = path.trial.text()
        places = [p for p in self.places.values() if p.last is path]
        self._drop(path)
        for place in places:
            place.give_up(text)

    def _change_paths(self) -> None:
        """Other settings: what was heard under the old ones is of no use."""
        self.numerics = settings.numerics
        for path in [p for p in self.paths if p.numerics != self.numerics]:
            self._drop(path)
        for place in self.places.values():
            place.recent.clear()

    def _drop_shown(self) -> None:
        """Drop paths that read memory which the user can change by NumPy from now on."""
        self.exposure = exposed.version
        for path in [p for p in self.paths if not exposed.roots.keys().isdisjoint(p.roots)]:
            self._drop(path)
