"""Following a path: kernels, backward passes and updates beside those that it expects, and what is done at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.hot import meeting
from ...runtime.door import Kernel, run
from ...runtime.thread import PARTS, TRACED, WHOLE, here, swap
from ..record.recorder import user_line
from .described import Told
from .graphs import Backward
from .hearing import MATCH, WAIT, WATCH, Hearing
from .running import Step
from .stretch import is_place, is_transparent
from .updates import Update, is_rule

SHOWN = TRACED | PARTS | WHOLE  # bits of a thread whose kernels are shown to a cursor


class Following(Hearing):
    """What a tracer does while a path is followed."""

    arrivals: Any  # arrays that stand ready for what is brought to a GPU
    popped: int  # id of the array whose early value was read last, in this stretch
    at_kernel: Callable[..., Any]  # a kernel that is a place

    def _on_path(self) -> bool:
        """Whether a stretch is being matched; not if another thread has ended that."""
        if self.mode != MATCH:
            return False
        if self.cursor.path is None:
            self._leave()
        return self.mode == MATCH

    def _wait_for(self, path: Any) -> None:
        """While a path is compared with eager calls: let the GPU come to an end, so that its time is counted where it belongs."""
        if path.on_gpu and meeting.timed and not path.trial.is_over:
            path.low.wait()

    # -- matching -------------------------------------------------------------------------------

    def differs(self, kernel: Kernel, cls: type, arrays: Sequence[Any], given: dict | None) -> Any:
        """A kernel that the path does not expect next."""
        attrs = given or {}
        with self.quiet:
            if self.mode == WAIT:
                if is_transparent(kernel, arrays, attrs, lambda a: False):
                    return run(kernel, cls, arrays, attrs, alone=True)
                self._leave()
            if self._on_path():
                self._take_back()
            if self._on_path() and self._is_light(kernel, arrays, attrs):
                return run(kernel, cls, arrays, attrs, alone=True)
            cursor = self.cursor
            if self._on_path():
                if is_place(kernel, arrays, self._is_pending):
                    return self.at_kernel(
                        kernel, lambda: run(kernel, cls, arrays, attrs, alone=True)
                    )

                def step() -> bool:
                    events = cursor.path.events
                    e = events[cursor.at] if cursor.at < len(events) else None
                    return e.__class__ is Step and cursor.fits(e, kernel, arrays, attrs)

                if self._elsewhere(step):
                    return cursor.hand_out(cursor.path.events[cursor.at], cls, arrays)
                self._miss(f"{kernel.name} differs", line=user_line())
            elif here.state & TRACED:  # somebody put an old state back
                swap(SHOWN, 0)
            return run(kernel, cls, arrays, attrs)

    def _walked(self, roots: Sequence[Any], keep: bool) -> bool:
        """Whether a backward pass is the one that the path expects; if so, its kernels wait like all others."""
        with self.quiet:
            # asked again: the last handler that was let in may have ended the path
            if not self._on_path() or (self.shown and not self.unchanged()):
                return False
            nodes = self._next_walk(roots, keep)
            if not nodes:
                nodes = self._elsewhere(lambda: self._next_walk(roots, keep))
            if not nodes:
                return False
            e = self._next_is(Backward)
            if not self._put_off(e, nodes):
                return False
            e.remember(roots)
            return True

    def _put_off(self, e: Backward, nodes: Any) -> bool:
        """Let the kernels of a backward pass wait."""
        try:
            e.carry_out(nodes, self)
        except Exception as error:  # noqa: BLE001 - the pass itself says what is wrong, if anything is
            self._miss(f"backward could not be put off: {error!r}")
            return False
        self.cursor.at += 1
        path = self.cursor.path
        if path.ahead is not None and not path.on_gpu:
            self.start_ahead()  # gradients of before may be gone since the last time
        return True

    def _expected(self, what: Any) -> bool:
        """Whether a call is the one that the path expects; if so, its kernels wait like all others."""
        with self.quiet:
            # asked again: the last handler that was let in may have ended the path
            if not self._on_path() or (self.shown and not self.unchanged()):
                return False
            copies = self._next_told(what)
            if copies is None:
                # a list of copies may be empty, which is an answer, too
                found = self._elsewhere(
                    lambda: None if (c := self._next_told(what)) is None else (c,)
                )
                copies = found[0] if found else None
            if copies is None:
                return False
            try:
                self._next_is(Told).carry_out(what, copies, self)
            except Exception as error:  # noqa: BLE001 - the call itself says what is wrong, if anything is
                self._miss(f"a call could not be put off: {error!r}")
                return False
            self.cursor.at += 1
            return True

    def _updated(self, optimizer: Any) -> bool:
        """Whether a step is the one that the path expects; if so, its kernels wait like all others."""
        if self.shown and not self.unchanged():
            return False
        if not self._next_update(optimizer):
            if not is_rule(optimizer) or not self._elsewhere(lambda: self._next_update(optimizer)):
                return False
        cursor = self.cursor
        cursor.path.events[cursor.at].carry_out()
        cursor.at += 1
        return True

    def _next_walk(self, roots: Sequence[Any], keep: bool) -> Any:
        """The nodes of a backward pass, if the path expects it here."""
        cursor = self.cursor
        events, at = cursor.path.events, cursor.at
        if at >= len(events) or events[at].__class__ is not Backward:
            return None
        return events[at].matches(roots, keep, self)

    def _next_told(self, what: Any) -> Any:
        e = self._next_is(Told)
        return None if e is None else e.matches(what, self)

    def _next_update(self, optimizer: Any) -> bool:
        cursor = self.cursor
        events, at = cursor.path.events, cursor.at
        if at >= len(events) or events[at].__class__ is not Update:
            return False
        return events[at].matches(optimizer, self)

    def start_ahead(self) -> None:
        """The cursor has come so far that the beginning of the program may run."""
        with self.quiet:
            path = self.cursor.path
            if self.mode != MATCH or path is None or path.ahead is None:
                return
            if self.shown and path.on_gpu:
                return  # inputs are copied there when the program runs
            self.sent = {}
            try:
                path.ahead.start(path, self.bound, self.cursor)
            except BaseException:  # nobody knows how much of it ran
                self._drop(path)
                self._miss("it could not be started")
                raise

    # -- the end of a stretch -------------------------------------------------------------------

    def _is_whole(self) -> bool:
        path = self.cursor.path
        if self.cursor.at != len(path.events):
            return False
        return path.is_settled(self.cursor.now)

    def _launch(self) -> None:
        """Run the program of a path that is complete."""
        cursor, place = self.cursor, self.place
        path = cursor.path
        self._leave()
        if not path.steps:
            return
        try:
            path.launch(cursor.now, self.bound)
        except BaseException:
            # Reported to the user, since nobody knows how many kernels of the program ran.
            self._drop(path)
            self._clear()
            raise
        if path.trial.is_over and path.row is not None:
            path.row["replayed"] += 1
        else:
            self._wait_for(path)
            seconds = self.clock() - self.began
            path.trial.took_replay(seconds)
            self.report.launched(path, seconds)
        assert place is not None
        place.matches += 1
        place.known, place.last = True, path
        place.quick = path if path.trial.is_over or not meeting.timed else None
        if path.sends:
            self.sent, self.popped = path.sent(cursor.now), 0
        self._clear()

    def _leave(self) -> None:
        self.mode, self.sent, self.arrivals = WATCH, {}, None
        here.state &= ~SHOWN

    def _clear(self) -> None:
        self.bound = {}
        self.cursor.start(None)

    def _miss(self, why: str, line: str | None = None) -> None:
        """The path does not fit: run the waiting kernels one by one, and run eagerly until the next place."""
        cursor, place = self.cursor, self.place
        path, at, now = cursor.path, cursor.at, cursor.now
        self._leave()
        if at:
            ran = path.run_steps(at, now)
            self.report.fell_back(why, line or user_line(), ran)
            path.misses += 1
        if place is not None and (at or place.known):
            place.missed(why)
        self._clear()
