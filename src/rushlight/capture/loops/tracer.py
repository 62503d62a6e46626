"""The tracer of one thread: from place to place it hears a stretch, matches it with a path, or leaves it alone.

A stretch that is heard is written down while it runs; two that agree become a path. A stretch that is matched is compared
with a path kernel by kernel (`cursor.py`), and its kernels wait until the next place, where the path's program computes them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...base.config import settings
from ...core.exposed import exposed
from ...core.hot import LoopWatch, line_of_user, meeting, read_plainly, uses_gpu
from ...core.memory import root_array
from ...core.modes import switches
from ...core.references import frames_are_watched
from ...core.tensor import tensor_over
from ...runtime import devices
from ...runtime.devices import nothing_reused
from ...runtime.door import Kernel, add_listener, collecting_replay_hooks, remove_listener, run
from ...runtime.thread import FOREIGN, GRAD, PARTS, TRACED, WHOLE, here, swap, tracers
from ..in_c import native
from ..program.slots import MADE, apart, whole
from ..record.recorder import CannotCapture, Recorder, is_array, takes_part, user_line
from .cursor import BY_PAIRS, Cursor
from .described import Described
from .graphs import Backward
from .path import FIXED, NOT_MET, PathOfStretch, PathStep
from .places import PATIENCE, Place, Rest, alone, name_of
from .quiet import Quiet
from .report import Report
from .stretch import RuleOfStretches, is_host, is_place, is_transparent
from .updates import Update, is_rule

# What a tracer does between two places. WAIT: it only sees whether anything is computed.
WATCH, HEAR, MATCH, WAIT = range(4)
SHOWN = TRACED | PARTS | WHOLE  # bits of a thread whose kernels are shown to a cursor
_PATHS = 16  # kept; the one that was not used for longest goes
_SHORTEST = 3  # kernels that are worth a program
_COMPARED = 1 << 20  # bytes of an input that are compared at each kernel


class Tracer:
    """What `here.tracer` is once a place was passed twice."""

    awake = True  # whether backward passes are to be told

    def __init__(self, watch: LoopWatch) -> None:
        self.paths: list[PathOfStretch] = []
        self.cursor: Any = Cursor(self)
        self.loose: set[tuple[str, str]] = set()  # kernels, by name and line, that are run at once
        self.loose_names: set[str] = set()
        self.bound: dict[int, Any] = {}
        self.shown: dict[int, Any] = {}  # those that the user can change by NumPy
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
        self.undescribed = False  # whether calls are no longer heard as their callers describe them
        self.idle = 0  # places in a row behind which nothing is tried any more
        self.rested = 0  # how long the last rest was
        self.thread = threading.get_ident()
        self.arrivals: Any = None  # arrays that stand ready for what is brought to a GPU
        self.asked, self.patience, self.again = watch.asked, watch.patience, 0.0
        self.popped = 0  # id of the array whose early value was read last, in this stretch
        self.reads_twice = False  # whether such values are read more than once
        tracers.append(self)

    # -- from place to place --------------------------------------------------------------------

    def begin(self, key: Any) -> None:
        """A stretch begins behind this place."""
        with self.quiet:
            self._begin(key)

    def _begin(self, key: Any) -> None:
        place = self.places.get(key)
        if place is not None and place.quick is not None and self._is_as_it_was():
            place.seen += 1
            self.place, self.idle, self.rested = place, 0, 0
            self._follow(place.quick)
            return
        self._choose(key)
        if self.sent and self.mode == WATCH:
            if self.left is None and here.tracer is self and self._is_usual():
                self._wait()
            else:
                self.sent = {}
        elif self.mode == HEAR:
            self.sent = {}

    def _is_as_it_was(self) -> bool:
        """Whether nothing has changed that decides what is done behind a place."""
        if self.exposure != exposed.version or self.numerics is not settings.numerics:
            return False
        return here.tracer is self and self._is_usual()

    def _choose(self, key: Any) -> None:
        """What is done behind this place: match, hear, or nothing."""
        place = self.places.get(key)
        if place is None:
            place = self.places[key] = Place(name_of(key))
            if len(self.places) > 1024:
                self.places.pop(next(iter(self.places)))
        place.seen += 1
        self.place = place
        if self.exposure != exposed.version:
            self._drop_shown()
        if self.numerics is not settings.numerics:
            self._change_paths()
        if place.why is not None or not self._is_usual():
            self.idle += 1
            if self.idle >= PATIENCE and here.tracer is self:
                self.idle = PATIENCE - 2  # one more look after the rest
                here.tracer = Rest(self)
            return
        if here.tracer is not self:  # a step, or a loader, went past other places since it was told of
            if getattr(here.tracer, "tracer", None) is not self:
                return  # and somebody has switched tracing off there
            here.tracer = self
        self.idle = self.rested = 0
        last = place.last
        if meeting.timed and place.known and last in self.paths and last.trial.wants_eager():
            self._wait_for(last)
            self.left = (last, self.clock())
        elif self.paths and (place.known or place.seen < 3):
            self._match(place)
        elif place.listen > 0:
            self.quiet.look()
            self.mode, self.recorder = HEAR, Recorder(RuleOfStretches(self))
            self.distinct = nothing_reused()
            self.distinct.__enter__()
            add_listener(self.recorder)
            swap(WHOLE, whole_kernels())

    def _is_usual(self) -> bool:
        """Whether nobody else looks at what this thread computes."""
        if switches.anomaly or here.listeners or here.recorder is not None:
            return False
        if meeting.barred is not None:
            return False
        return here.replay_hooks is None and alone()

    def _match(self, place: Place) -> None:
        path = place.last if place.last in self.paths else self.paths[0]
        self._wait_for(path)
        self._follow(path)

    def _follow(self, path: Any) -> None:
        """Compare what comes with a path."""
        self.mode = MATCH
        self.quiet.look()
        self.began = self.clock()
        self.bound, self.shown = {}, {}
        self.cursor.start(path)
        if path.arrivals is not None:
            self.arrivals = path.arrivals
            self.arrivals.at = 0
        self._show()

    def _wait(self) -> None:
        """Follow no path, and see whether anything is computed: until then values that were sent early are right."""
        self.mode = WAIT
        self.cursor.start(None)
        self._show()

    def _show(self) -> None:
        """Let kernels be shown to the cursor instead of being run."""
        if type(here).state != GRAD | FOREIGN:  # a write loses what is found out about a class
            swap(0, 0)  # this thread's own state, before that of threads to come is changed
            type(here).state = GRAD | FOREIGN
        # `swap`, without its call
        here.state = here.state & ~SHOWN | TRACED | PARTS | (WHOLE if uses_gpu() else 0)

    def end(self) -> None:
        """A place is reached: compute what is waiting, and compare the stretch that was heard with earlier ones."""
        with self.quiet:
            self._end()

    def _end(self) -> None:
        """The same where it is quiet already."""
        if self.left is not None:
            path, began = self.left
            self.left = None
            self._wait_for(path)
            path.trial.took_eager(seconds := self.clock() - began)
            self.report.took(path, seconds)
            if path.trial.is_loss() and path in self.paths:
                self._give_up(path)
        if self.mode == HEAR:
            self._consider()
        elif self.mode == WAIT:  # nothing was computed, or that would have ended it
            self.mode = WATCH
            here.state &= ~SHOWN
        elif self._on_path():
            if not self.cursor.at:
                sent = self.sent
                self._leave()  # nothing was computed, so there is nothing to compare
                self._clear()
                self.sent = sent
            elif self._is_whole() or self._elsewhere(self._is_whole):
                self._launch()
            else:
                self._miss("the stretch ended before its path did")

    def read(self, kernel: Kernel, a: Any) -> Any:
        """A read by the host."""
        with self.quiet:
            if self.mode != WATCH or self.left is not None:
                self._end()
            sent = self._sent_early(id(a)) if self.sent or self.popped else None
            out = read_plainly(kernel, a) if sent is None else sent.value()
            self._begin(line_of_user(2))
        return out

    def _sent_early(self, key: int) -> Any:
        """A value that the last program has sent; it is looked for once, unless this loop reads one twice."""
        sent = self.sent.get(key)
        if sent is not None and not self.reads_twice:
            del self.sent[key]
            self.popped = key
        elif self.popped:
            self.reads_twice, self.popped = key == self.popped, 0
        return sent

    def fetch(self, take: Callable[[], Any]) -> Any:
        """A loader makes the next batch: a place, and what it computes is no part of a stretch."""
        if self.mode != WATCH or self.left is not None:
            self.end()
        self.sent = {}
        out = take()
        with self.quiet:
            self._begin(("a batch", *line_of_user(2)))
        return out

    def at_kernel(self, kernel: Kernel, call: Callable[[], Any]) -> Any:
        """A kernel that cannot wait is a place, too."""
        with self.quiet:
            self._end()
            self.sent = {}
            out = call()
            self._begin((kernel.name, *line_of_user()))
        return out

    def step(self, call: Callable, step: Any, optimizer: Any, args: tuple, kwargs: dict) -> Any:
        """`optimizer.step()`: one comparison if it can be, and a place."""
        alone = len(args) == 1 and not kwargs  # no closure, no scaler's numbers
        if alone and self.mode == MATCH:
            with self.quiet:
                if self._on_path() and self._updated(optimizer):
                    self._end()
                    self._begin(id(optimizer))
                    return None
        go = partial(call, step, optimizer, args, kwargs)
        plain = alone and self.mode == HEAR and is_rule(optimizer)
        out = self._hear_update(go, optimizer) if plain else go()
        self._pass(id(optimizer))
        return out

    def _pass(self, key: Any) -> None:
        with self.quiet:
            self._end()
            self._begin(key)

    def backward(self, walk: Callable, roots: Sequence[Any], options: tuple) -> Any:
        """A backward pass: one comparison if it can be."""
        keep, create_graph, inputs, accumulate = options
        usual = not create_graph and inputs is None and accumulate and not switches.anomaly
        if self._on_path() and usual and self._walked(roots, keep):
            return None
        recorder = self.recorder if self.mode == HEAR else None
        if recorder is None or not usual:
            return walk(roots, *options)
        return self._hear_call(
            lambda heard: Backward(heard, roots, keep),
            lambda: walk(roots, *options),
            lambda macro: macro.done(recorder),
        )

    def backward_of(self, loss: Any) -> bool:
        """Whether `loss.backward()`, with nothing said about it, is the pass that the path expects, as it was the last time.

        Then its kernels wait like all others. Everything else goes the long way, and is looked at there.
        """
        if self.mode != MATCH or switches.anomaly:
            return False
        with self.quiet:
            cursor = self.cursor
            path, at = cursor.path, cursor.at
            if path is None or self.shown or at >= len(path.events):
                return False
            e = path.events[at]
            if e.__class__ is not Backward or not e.is_quick(loss):
                return False
            nodes = native.walk(cursor, [(loss._edge, e.one._a)], *e.rows)
            return bool(nodes) and self._put_off(e, nodes)

    def described(self, describe: Callable[[], Any], go: Callable[[], None]) -> None:
        """A call that its caller describes (None: it cannot): one comparison if it can be."""
        if self._on_path():
            what = describe()
            if what is not None and self._expected(what):
                return
        elif self.mode == HEAR and not self.undescribed:
            what = describe()
            if what is not None:
                self._hear_described(what, go)
                return
        go()

    # -- following a path -------------------------------------------------------------------------

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
                    return self.at_kernel(kernel, lambda: run(kernel, cls, arrays, attrs, alone=True))

                def step() -> bool:
                    events = cursor.path.events
                    e = events[cursor.at] if cursor.at < len(events) else None
                    return e.__class__ is PathStep and cursor.fits(e, kernel, arrays, attrs)

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
            copies = self._next_described(what)
            if copies is None:
                # a list of copies may be empty, which is an answer, too
                found = self._elsewhere(lambda: None if (c := self._next_described(what)) is None else (c,))
                copies = found[0] if found else None
            if copies is None:
                return False
            try:
                self._next_is(Described).carry_out(what, copies, self)
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

    def _next_described(self, what: Any) -> Any:
        e = self._next_is(Described)
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

    # -- what was heard ---------------------------------------------------------------------------

    def _hear_call(self, make: Callable[[Recorder], Any], go: Callable[[], Any], done: Callable[[Any], None]) -> Any:
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
        with collecting_replay_hooks(recorder) as hooks:
            return self._hear_call(
                lambda heard: Update(heard, optimizer), go, lambda macro: macro.done(recorder, hooks)
            )

    def _hear_described(self, what: Any, go: Callable[[], None]) -> None:
        recorder, noted = self.recorder, None

        def noting() -> None:
            nonlocal noted
            what.begin()
            try:
                go()
            finally:
                noted = what.end()

        self._hear_call(lambda heard: Described(heard, what), noting, lambda macro: macro.done(recorder, what, noted))

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
            return storage is None or not (storage.kind == MADE or storage.number in self.recorder.bounds.written)
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

    def _loosen(self, what: tuple[str, str]) -> bool:
        """A kernel at a line that takes another part of the data each time is run at once from now on."""
        if what in self.loose:
            return False
        self.loose.add(what)
        self.loose_names.add(what[0])
        return True

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

    def _path(self, first: Recorder, second: Recorder) -> PathOfStretch:
        try:
            return PathOfStretch(first, second, self.paths, self.asked)
        except CannotCapture:
            recorders = (first, second)
            if not any(isinstance(m, Described) for r in recorders for m in r.macros):
                raise
        self.undescribed = True  # what such a call computes can only be compared kernel by kernel
        for r in recorders:
            r.macros = [m for m in r.macros if not isinstance(m, Described)]
        return PathOfStretch(first, second, self.paths, self.asked)

    def _drop(self, path: PathOfStretch) -> None:
        self.sent = {}
        self.paths.remove(path)
        for other in self.paths:
            other.common.pop(id(path), None)
        for place in self.places.values():
            if place.last is path:
                place.last, place.quick, place.known, place.listen = None, None, False, 2

    def _give_up(self, path: PathOfStretch) -> None:
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

    # -- operands of a path, and other paths ------------------------------------------------------

    def is_loose(self, kernel: Kernel) -> bool:
        return kernel.name in self.loose_names and (kernel.name, user_line()) in self.loose

    def _is_light(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any]) -> bool:
        """Whether a kernel may run now: it reads nothing that still waits, and no memory that waiting kernels will change."""
        if not is_transparent(kernel, arrays, attrs, self._waits):
            if not self.is_loose(kernel) or any(map(self._waits, arrays)):
                return False
        path, at = self.cursor.path, self.cursor.at
        changed, ahead = path.changed, path.ahead
        if not changed and not path.returned:
            return True
        roots = [id(root_array(a)) for a in arrays if is_array(a)]
        if any(id(root_array(b)) in roots for v, b in self.bound.items() if v in path.returned):
            return False
        if ahead is not None and ahead.started and not ahead.roots.isdisjoint(roots):
            return False
        return all(changed.get(root, at) >= at for root in roots)

    def _is_pending(self, a: Any) -> bool:
        return native.among(self.cursor.now, a)

    def _waits(self, a: Any) -> bool:
        """Whether the values of an array are still to be computed: an input has its own, unless the path changes it."""
        if not self._is_pending(a):
            return False
        returned = self.cursor.path.returned
        return not any(b is a and v not in returned for v, b in self.bound.items())

    def is_waiting(self, a: Any) -> bool:
        """Whether an array was handed out in this stretch, or is one of its inputs."""
        return self.cursor.path is not None and self._is_pending(a)

    def _elsewhere(self, expected: Callable[[], Any]) -> Any:
        """Change to another path that began in the same way and goes on as `expected` asks."""
        self._take_back()
        cursor, left = self.cursor, self.cursor.path
        bound = dict(self.bound)
        for other in self.paths:
            if other is left or left.common.get(id(other), 0) < cursor.at:
                continue
            if not all(self._may_hold(other, v, a) for v, a in bound.items()):
                continue
            kept = list(cursor.now)
            cursor.change(other)
            found = expected()
            if found:
                self._bind_again(left, other, bound)
                if left.ahead is not None:
                    left.ahead.take_back(left.low)
                return found
            cursor.now, self.bound = kept, dict(bound)
            cursor.change(left)
        return None

    def _take_back(self) -> None:
        """Forget inputs that a comparison took before it failed: no other path has to know them."""
        cursor, path = self.cursor, self.cursor.path
        for v in [v for v in self.bound if path.bound_at[v] >= cursor.at]:
            del self.bound[v]
            self.shown.pop(v, None)
            cursor.now[v] = NOT_MET

    def _bind_again(self, left: PathOfStretch, other: PathOfStretch, bound: dict[int, Any]) -> None:
        """Inputs with the values they had when they were met."""
        for v, a in bound.items():
            if is_host(a):
                other.low.fill(other.low.arguments[other.inputs[v]], left.low.arguments[left.inputs[v]])

    def bind(self, v: int, a: Any) -> bool:
        """Take an array from outside as an input, with the values it has now."""
        path = self.cursor.path
        slot, host = path.layouts[v], a.__class__ is np.ndarray
        if not (host or takes_part(a)) or self._is_pending(a):
            return False
        if a.shape != slot.shape or a.dtype != slot.dtype or a.strides != slot.strides:
            return False
        if ("cpu" if host else devices.device_of(a).type) != slot.storage.device:
            return False
        if not self._may_hold(path, v, a):
            return False
        host = host or is_host(a)
        if exposed.roots and id(root_array(a)) in exposed.roots:
            # On a GPU nobody can compare it with what it was, and it is copied when the program runs.
            if not host or a.nbytes > _COMPARED or v in path.returned:
                return False
            self.shown[v] = a
            self.cursor.show(a, path.low.arguments[path.inputs[v]])
        if host:
            path.low.fill(path.low.arguments[path.inputs[v]], a)
        self.bound[v] = self.cursor.now[v] = a  # in this order: a handler may raise in between
        return True

    def unchanged(self) -> bool:
        """Whether inputs that the user can change by NumPy are still as they were when they were met."""
        if not self.shown:
            return True
        if self.cursor.wary == BY_PAIRS:
            return native.unchanged(self.cursor.pairs)
        path = self.cursor.path
        return all(same_bytes(a, path.low.arguments[path.inputs[v]]) for v, a in self.shown.items())

    def _may_hold(self, path: PathOfStretch, v: int, a: Any) -> bool:
        """Whether a path may take an array as that input: it would not notice writes into its memory."""
        if not (path.changed or path.returned):
            return True
        root = root_array(a)
        if id(root) in path.changed or (v in path.returned and id(root) in path.roots):
            return False
        inputs = {**self.bound, v: a}
        return apart({w: whole(b) for w, b in inputs.items()}, path.returned)

    def references(self, a: Any) -> int:
        """How many references to an array are the tracer's own."""
        path, now = self.cursor.path, self.cursor.now
        if path is None:
            return 0
        for k, x in enumerate(now):
            if x is a:
                return 1 + (k in path.pools and path.pools[k].ours(a))
        return 0

    def is_operand(self, expected: tuple[int, Any], a: Any) -> bool:
        """Whether an array is what a macro expects."""
        kind, v = expected
        if kind == FIXED:
            return a is v
        now = self.cursor.now[v]
        if now is not NOT_MET:
            return a is now
        return v in self.cursor.path.inputs and self.bind(v, a)

    def _next_is(self, cls: type) -> Any:
        path, at = self.cursor.path, self.cursor.at
        e = path.events[at] if at < len(path.events) else None
        return e if e.__class__ is cls else None

    def hand_out(self, k: int) -> Any:
        """A tensor for a result that is computed later."""
        a = self.cursor.path.pools[k].take()
        self.cursor.now[k] = a
        return tensor_over(a, a.__class__)

    # -- others ---------------------------------------------------------------------------------

    def settle(self) -> None:
        """Memory is about to be looked at without passing the door."""
        if self._on_path() and self.cursor.at:
            with self.quiet:
                self._miss("memory was looked at")
        self.sent = {}

    def settle_from_outside(self) -> None:
        """Another thread begins to compute: compute what is waiting, and let nothing wait any more."""
        with self.quiet.lock:
            cursor, self.sent = self.cursor, {}
            if cursor.path is not None:
                cursor.path.run_steps(cursor.at, cursor.now)
                cursor.start(None)

    def interrupt(self, why: str) -> None:
        """The rest of this stretch runs as it is."""
        if self.mode == WAIT:
            self._leave()
        elif self._on_path():
            with self.quiet:
                self._miss(why)
        elif self.mode == HEAR:
            self._stop_hearing()
            place = self.place
            if place is not None:
                place.listen -= 1
                if place.listen <= 0:
                    place.give_up(why)

    def stop(self) -> None:
        """End tracing in this thread; the memory of programs goes at once."""
        self.interrupt("tracing was switched off")
        for path in list(self.paths):
            self._drop(path)
        self.left = None
        for place in self.places.values():
            place.recent.clear()
        swap(TRACED, 0)
        if self in tracers:
            tracers.remove(self)
        if not tracers:
            type(here).state = GRAD


def whole_kernels() -> int:
    """WHOLE where a GPU is at work: one kernel for several ops rounds otherwise there than they do one by one."""
    return WHOLE if uses_gpu() else 0


def same_bytes(a: Any, b: Any) -> bool:
    """Whether two arrays laid out alike hold the same bits."""
    bits = f"u{a.dtype.itemsize}" if a.dtype.itemsize in (1, 2, 4, 8) else None
    if bits is None:
        return a.tobytes() == b.tobytes()
    return bool((a.view(bits) == b.view(bits)).all())
