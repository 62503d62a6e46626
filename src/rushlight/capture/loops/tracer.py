"""The tracer of one thread: from place to place it hears a stretch, matches it with a path, or leaves it alone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ...base.config import settings
from ...core.exposed import exposed
from ...core.hot import Watch, line_of_user, meeting, read_plainly, uses_gpu
from ...core.modes import switches
from ...runtime.devices import nothing_reused
from ...runtime.door import Kernel, add_listener
from ...runtime.thread import FOREIGN, GRAD, PARTS, TRACED, WHOLE, here, swap, tracers
from ..record.recorder import Recorder
from .following import SHOWN, Following
from .graphs import Backward
from .hearing import HEAR, MATCH, WAIT, WATCH
from .piece import native
from .places import PATIENCE, Place, Rest, alone, name_of
from .stretch import RuleOfStretches
from .updates import is_rule


class Tracer(Following):
    """What `here.tracer` is once a place was passed twice."""

    awake = True  # whether backward passes are to be told

    def __init__(self, watch: Watch) -> None:
        super().__init__()
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
        if (
            here.tracer is not self
        ):  # a step, or a loader, went past other places since it was told of
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

    def told(self, describe: Callable[[], Any], go: Callable[[], None]) -> None:
        """A call that its caller describes (None: it cannot): one comparison if it can be."""
        if self._on_path():
            what = describe()
            if what is not None and self._expected(what):
                return
        elif self.mode == HEAR and not self.untold:
            what = describe()
            if what is not None:
                self._hear_told(what, go)
                return
        go()

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
