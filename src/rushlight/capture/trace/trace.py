"""One call under a tracer: a listener at the door that matches kernels, or hears them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...core.memory import root_array
from ...core.tensor import Tensor
from ...core.values import HOST_READ
from ...runtime.door import KERNELS, Kernel, add_listener, remove_listener, run
from ...runtime.thread import here
from ..loops.fragile import breaks, look_of
from ..record.recorder import CannotCapture, is_array, overlap, reach, same, values_decide
from .nodes import Node
from .segment import FIXED, GIVEN, KNOWN, MADE, VALUE, Expected, Segment, blank
from .stretch import Stretch, alike

_BRANCHES = 8  # kinds of values read at one place
_RUN, _HEAR, _MATCH = range(3)
_PACKAGE = __name__.split(".")[0] + "."


class Trace:
    """One call under a tracer: listens at the door, matches or hears."""

    wants_parts = True  # as the recorder

    def __init__(self, tracer: Any, learns: bool) -> None:
        self.tracer = tracer
        self.learns = learns  # whether stretches are heard that nobody expects
        self.attached = False  # whether it listens at the door
        self.known: dict[
            int, Any
        ] = {}  # array given out, by id -> the segment's array it stands for
        # By the id of the array that owns the memory: an array and its copy.
        self.stand_ins: dict[int, tuple[Any, Any]] = {}
        self.replaced: set[int] = set()  # the segments' arrays that have one, and views of them
        self.kept: list[Any] = []
        self.filled: set[int] = set()  # stand-ins that have values already
        self.idle = False  # true while our own kernels run, which are not part of the stretch
        self.begin(tracer.root)

    def complain(self, what: str, line: str | None = None) -> None:
        """What no program can do runs as Python asks, and what waits is computed first."""
        if self.mode == _MATCH:
            self._miss()
        self._leave()

    def begin(self, node: Node | None) -> None:
        """The next stretch begins at `node`; without one the rest of the call is run as it is."""
        self.node = node
        self.at = 0
        self.changed: list[tuple] = []  # memory that kernels of the stretch write into
        if node is None or node.why is not None or not (node.segments or self.learns):
            self._leave()
        elif self.learns and (node.listen > 0 or not node.segments):
            self.mode, self.stretch = _HEAR, Stretch()
        else:
            self.mode, self.segment = _MATCH, node.segments[0]
            self.segment.look_up()
            self.now: list[Any] = [None] * len(self.segment.arrays)
            self.pending: list[tuple[Expected, Sequence[Any]]] = []
            self.given: set[int] = set()
            self.bound: dict[int, Any] = {}

    # -- listening ------------------------------------------------------------------------------

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Listen at the door, until the rest of the call is nobody's business."""
        if here.tracer is not None:
            here.tracer.interrupt("somebody listens")
        if self.mode != _RUN:
            self.attached = True
            add_listener(self)
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        """The rest of the call runs as it is: a listener would only make it slower."""
        self.mode = _RUN
        if self.attached:
            self.attached = False
            remove_listener(self)

    def __call__(
        self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]
    ) -> Any:
        if self.idle:
            return call()
        if kernel is HOST_READ or values_decide(kernel, arrays) or self._breaks(kernel, arrays):
            return self._read(kernel, arrays, call)
        if self.mode == _MATCH:
            e = self._expected(kernel, arrays, attrs)
            if e is None:
                e = self._elsewhere(lambda: self._expected(kernel, arrays, attrs))
            if e is not None and _harmless(kernel, arrays, attrs):
                self.at += 1
                out = self._hand_out(e, arrays, call)
                self.pending.append((e, arrays))
                self._note_writes(kernel, arrays, attrs)
                return out
            self._miss()
        self.tracer.ran += 1
        if self.mode == _HEAR:
            self._note_writes(kernel, arrays, attrs)
            return self._hear(kernel, arrays, attrs, call)
        return call()

    def _note_writes(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any]) -> None:
        places = kernel.mutates(arrays, attrs) if callable(kernel.mutates) else kernel.mutates
        written = [arrays[i] for i in places]
        # Not the arrays themselves: who else holds one is seen from its reference count.
        self.changed.extend([reach(a) for a in written if a.__class__ is np.ndarray])

    def _breaks(self, kernel: Kernel, arrays: Sequence[Any]) -> bool:
        """Whether a kernel may raise because of values that are still to come: its error must come from its line."""
        if self.mode == _RUN:
            return False
        return breaks(kernel, arrays, self._is_made)

    def _is_made(self, a: Any) -> bool:
        """Whether the stretch under way made an array, or changes it under whatever name."""
        if self.changed:
            here_at = reach(a)
            if any(overlap(here_at, there) for there in self.changed):
                return True
        if self.mode == _HEAR:
            return any(a is o for o in self.stretch.kept)
        return id(a) in self.given and not any(a is b for b in self.bound.values())

    def _hear(
        self, kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]
    ) -> Any:
        out = call()
        several = isinstance(out, (tuple, list))
        outs = tuple(out) if several else (out,)
        given = tuple([self.known.get(id(a), a) for a in arrays]) if self.known else tuple(arrays)
        if any(a is not b for a, b in zip(given, arrays)):
            outs = self._translate(kernel, arrays, attrs, outs, given)
        self.stretch.note(kernel, given, attrs, outs, several)
        return out

    def _translate(
        self, kernel: Kernel, arrays: Sequence[Any], attrs: dict, outs: tuple, given: tuple
    ) -> tuple:
        """Results in terms of the segments' arrays, where a kernel was called with stand-ins."""
        found = list(outs)
        views: Any = None
        for i, o in enumerate(outs):
            for a, g in zip(arrays, given):
                if a is o:
                    found[i] = g
                    break
                if a is not g and root_array(a) is root_array(o):
                    if views is None:
                        self.idle = True
                        views = run(kernel, g.__class__, given, attrs)
                        self.idle = False
                    found[i] = views[i] if isinstance(views, (tuple, list)) else views
                    self.known[id(o)] = found[i]
                    self.kept.extend((o, found[i]))
                    break
        return tuple(found)

    def _read(self, kernel: Kernel, arrays: Sequence[Any], call: Callable[[], Any]) -> Any:
        """The host wants to see values: everything so far is computed, then something new begins."""
        segment = self.end(final=False)
        out = call()
        if segment is None or (kernel is HOST_READ and _shares_memory(out, arrays[0])):
            self.begin(None)
            return out
        key = _outcome(kernel, out)
        node = segment.children.get(key)
        if node is None and self.learns and len(segment.children) < _BRANCHES:
            node = segment.children[key] = Node(self.tracer.books)
        self.begin(node)
        return out

    def _expected(self, kernel: Kernel, arrays: Sequence[Any], attrs: dict) -> Expected | None:
        """The segment's next kernel, if this call is it."""
        segment = self.segment
        if self.at == len(segment.steps):
            return None
        e = segment.steps[self.at]
        if e.kernel is not kernel or len(arrays) != len(e.operands):
            return None
        if not (attrs == e.attrs if e.plain else same(attrs, e.attrs)):
            return None
        now = self.now
        for (kind, v), a in zip(e.operands, arrays):
            if kind == KNOWN:
                if a is not now[v]:
                    return None
            elif kind == FIXED:
                if a is not v and self.known.get(id(a)) is not v:
                    return None
                if id(a) in self.replaced:
                    return None
            elif kind == VALUE:
                if a is not v and not same(a, v):
                    return None
            elif now[v] is not a and (now[v] is not None or not self._bind(v, a)):
                return None
        return e

    def _elsewhere(self, expected: Callable[[], Any]) -> Any:
        """Change to another segment that began in the same way and goes on as `expected` asks."""
        assert self.node is not None
        left = self.segment
        for other in self.node.segments:
            if other is left or left.common.get(id(other), 0) < self.at:
                continue
            if not other.takes_all(self.bound):
                continue
            bound, given = dict(self.bound), set(self.given)
            now = self.now[: len(other.arrays)] + [None] * (len(other.arrays) - len(self.now))
            other.look_up()
            self.segment, kept = other, self.now
            self.now = now
            found = expected()
            if found:
                for v in bound:  # with the values that they had at that time
                    mine = other.low.arguments[other.places[v]]
                    other.low.fill(mine, left.low.arguments[left.places[v]])
                return found
            self.segment, self.now, self.bound, self.given = left, kept, bound, given
        return None

    def _bind(self, v: int, a: Any) -> bool:
        """Take an array from outside as an input, with the values it has now."""
        segment = self.segment
        if not is_array(a) or id(a) in self.given or id(a) in self.known:
            return False
        place = segment.low.arguments[segment.places[v]]
        if not alike(a, place) or not segment.takes(a, self.bound):
            return False
        segment.low.fill(place, a)
        self.now[v] = self.bound[v] = a
        self.given.add(id(a))
        return True

    def _hand_out(self, e: Expected, arrays: Sequence[Any], call: Callable[[], Any]) -> Any:
        """Arrays for the results of a kernel that is yet to run."""
        ours, now = self.segment.arrays, self.now
        if e.how == GIVEN:
            outs = [arrays[k] for k in e.outs]
        elif e.how == MADE:
            free = self.segment.is_free
            outs = [ours[k] if free(k) else self._stand_in(k) for k in e.outs]
        elif ours[e.outs[0]] is not None and arrays[e.source] is self._ours(e):
            outs = [ours[k] for k in e.outs]
        else:  # a view of what came from outside, or of a stand-in
            made = call()
            outs = list(made) if e.several else [made]
            for k, o in zip(e.outs, outs):
                if ours[k] is not None:
                    self.known[id(o)] = ours[k]
            self.kept.extend(outs)
        if e.how != GIVEN:
            for k, o in zip(e.outs, outs):
                now[k] = o
                self.given.add(id(o))
        return tuple(outs) if e.several else outs[0]

    def _ours(self, e: Expected) -> Any:
        """The array that a prepared view looks at."""
        kind, v = e.operands[e.source]
        return v if kind == FIXED else self.segment.arrays[v]

    def _stand_in(self, k: int) -> Any:
        """Another array for one that the caller still holds from an earlier call."""
        array = self.segment.arrays[k]
        made = blank(array)
        self.stand_ins[id(root_array(array))] = (array, made)
        self.known[id(made)] = array
        self.replaced.update(map(id, self.segment.held[k]))
        return made

    # -- the end of a stretch -------------------------------------------------------------------

    def end(self, final: bool) -> Segment | None:
        """Compute what is pending; the segment it was, if it was one."""
        mode, self.mode = self.mode, _RUN
        if mode == _HEAR:
            self._heard(final)
        elif mode == _MATCH:
            if self._is_whole(final) or self._elsewhere(lambda: self._is_whole(final)):
                self._launch()
                return self.segment
            self.mode = mode
            self._miss()
        return None

    def _is_whole(self, final: bool) -> bool:
        segment = self.segment
        whole = self.at == len(segment.steps) and segment.final == final
        return whole and segment.is_settled()

    def _heard(self, final: bool) -> None:
        assert self.node is not None
        paying = self.tracer.paying
        began = None if paying is None else paying.clock()
        self.stretch.close(final)
        self.idle = True
        self.tracer.heard += 1
        try:
            self.tracer.built += self.node.consider(self.stretch)
        except Exception as error:  # noqa: BLE001 - the call itself is right, whatever fails here
            text = str(error) if isinstance(error, CannotCapture) else repr(error)
            self.node.give_up(text)
        finally:
            self.idle = False
            del self.stretch
            if paying is not None:
                paying.took(paying.clock() - began)

    def _launch(self) -> None:
        """Run the program of the segment that is complete."""
        segment, low = self.segment, self.segment.low
        swapped = [p for key, p in self.stand_ins.items() if key in segment.touched]
        before = [(array, made, blank(array)) for array, made in swapped]
        self.idle = True
        for array, made, old in before:
            _copy(old, array)
            if id(made) in self.filled:
                _copy(array, made)
        low.run()
        for array, made, old in before:
            _copy(made, array)
            _copy(array, old)
            self.filled.add(id(made))
        for i in segment.written:
            _copy(self.bound[segment.inputs[i]], low.arguments[i])
        self.idle = False
        assert self.node is not None
        self.node.matches += 1
        self.tracer.launched += 1
        self.tracer.replayed += len(segment.steps)

    def _miss(self) -> None:
        """The segment does not fit: run the waiting kernels one by one, and run eagerly from here on."""
        assert self.node is not None
        self.node.missed()
        self.tracer.missed += 1
        self._leave()
        self._run_pending()

    def _run_pending(self) -> None:
        self.idle = True
        for e, arrays in self.pending:
            if e.how != GIVEN and e.how != MADE:
                continue  # a view needs no values
            self.tracer.ran += 1
            cls = _class_of(e, arrays, self.now)
            out = run(e.kernel, cls, arrays, e.attrs)
            if e.how == MADE:
                for k, o in zip(e.outs, out if e.several else (out,)):
                    _copy(self.now[k], o)
        self.idle = False
        self.filled.update([id(made) for _, made in self.stand_ins.values()])

    def abandon(self) -> None:
        """The function raised: what it had asked for until then is computed."""
        if self.mode == _MATCH:
            self._leave()
            self._run_pending()


def _harmless(kernel: Kernel, arrays: Sequence[Any], attrs: dict[str, Any]) -> bool:
    """Whether a kernel will not raise because of values that come from outside."""
    look = look_of(kernel, arrays, (arrays, attrs))
    return look is None or look[1](arrays, attrs)


def _class_of(e: Expected, arrays: Sequence[Any], now: list[Any]) -> type:
    """The device's array type: that of the results, else of the last array, as updates begin with
    numbers of the host; what brings values to another device runs where they are."""
    if e.kernel.name == "move":
        return arrays[0].__class__
    if e.how == MADE and e.outs:
        return now[e.outs[0]].__class__
    return next(a.__class__ for a in reversed(arrays) if is_array(a))


def _copy(target: Any, source: Any) -> None:
    if isinstance(source, np.generic):
        source = np.asarray(source)
    run(KERNELS["copy_into"], target.__class__, (target, source), {})


def _outcome(kernel: Kernel, out: Any) -> Any:
    """What of a value decides how the function goes on, as far as one can guess: flags do."""
    if kernel is not HOST_READ:
        return tuple([o.shape for o in (out if isinstance(out, tuple) else (out,))])
    if out.size != 1:
        return None
    value = out.item() if out.dtype.kind != "V" else float(out.astype(np.float32).item())
    if isinstance(value, (bool, int)):
        return value if -8 <= value <= 8 else None
    return value if value in (0.0, 1.0) else None


def _shares_memory(out: Any, a: Any) -> bool:
    """Whether the user was given a NumPy array over a tensor's memory, to read or change any time."""
    if not isinstance(a, np.ndarray) or not np.may_share_memory(out, a):
        return False
    frame: Any = sys._getframe(2)
    last = None
    while frame is not None and frame.f_globals.get("__name__", "").startswith(_PACKAGE):
        last, frame = frame.f_code, frame.f_back
    return last in (Tensor.numpy.__code__, Tensor.__array__.__code__)
