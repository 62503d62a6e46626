"""Replaying a program as a call: guards, arguments in, the run, gradients and results out."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import Any

from ...base.locks import new_lock
from ...core.inplace import bump
from ...core.memory import copy_as_it_lies, data_pointer, root_array
from ...core.tensor import Tensor, tensor_over
from ...core.views import current_edge, extra
from ...runtime.thread import WATCHED, here
from ..lower import lower
from ..outlets import Counters, Gradients
from ..passes import again, optimise
from ..path import Path
from ..program.refuse import Checks
from ..program.slots import ARGUMENT, CONSTANT, MADE, STATE, Slot, Storage, apart, reach, touches, window
from ..record.recorder import CannotCapture, WrongKernel
from ..record.recording import Recording
from ..state import tree
from ..state.identity import order_of
from .node import Remaking, ReplayNode
from .results import Leaves, SpentNode, on_base, timed

_IN_FLIGHT = 8  # calls of one program that may wait for their backward


class Unfinished(Exception):
    """A kernel of a program refused its values before anything that lasts was changed."""


class SharedArguments(CannotCapture):
    """Two arguments of this call share memory that the program writes; later calls may still be replayed."""


class Replay(Path):
    """The path of a call: a recording made ready to run again and again."""

    def __init__(self, recording: Recording) -> None:
        began = time.perf_counter()
        self.lock = new_lock()
        r = recording
        self.name = f"program of {getattr(r.function, '__qualname__', type(r.function).__name__)}"
        self.watch, self.intact = r.watch, r.watch.quick.unchanged
        self.identity = r.identity
        self.host_work = r.host_work
        self.counted = [r.host_work]
        self.after = r.after
        self.makers = r.leaf_makers
        self.made = r.made
        self.shape = tree.rebuild(r.result, lambda v: None, r.made)
        self.recorded = r.program
        checks = Checks(r.program)
        self.checks = checks if checks.rows or checks.values else None
        lone = self.shape is None and [m[0] for m in self.makers[1:]] in ([], ["tensor"])
        first: tuple = self.makers[0] if lone else ("",)
        self.alone = first[0] == "tensor" and r.backward is None and first[5] is None
        if len(self.makers) > 1:  # a view, and what it is a view of
            self.alone = self.alone and self.makers[1][2] is first[2] is self.makers[1][5] is None
        self.spent = self._spent_node(first) if self.alone and first[2] else SpentNode("")
        self.complaint: str | None = None  # what had to be left out of the program
        _drop_unread(r)
        super().__init__(optimise(r.program))
        places = {id(t): i for i, t in enumerate(r.given)}
        self.entry = [(places.get(id(t)), t, there) for t, there in r.entry_rules]
        arguments = r.program.arguments
        self.added_to = [(places.get(id(t)), t, i, arguments[i]) for t, i in r.added_to]
        self.grads = [
            (places.get(id(t)), t, *(how[1:] or (None, 0)))
            for t, how in zip(r.leaves, r.exit_grads)
            if how[0] != "kept"
        ]
        self.counters = Counters(r.bumps, lambda t: places.get(id(t)))
        self._check_arguments(r)
        self._note_memory(r)
        self.backward: Any = r.backward
        self.unfit: str | None = None  # why callers' derivatives need another program, or none
        self.wanted: frozenset[int] | None = None  # results that they came to, where that was all
        self.needed_later: set[int] = set()  # results that the backward half reads, too
        if r.backward is not None:
            self.program.handed = r.backward.handed
            held = {id(t) for t in r.watch.held}
            self._note_late_reads(r)
            self.remade = Remaking(self, r)
            self.reached = [
                (None if id(t) in held else places[id(t)], t) for t in (*r.backward.targets, *r.backward.others)
            ]
        self.returned = [self._way(s, r) for s in self.program.results]
        lasting = {i for _, _, i, _ in self.grads if i is not None}
        self.exclusive = {self.program.results[i].storage.number for i in lasting}
        self.apart = not self.on_gpu  # whether gradients have memory that nothing else uses
        while True:
            try:
                self.lower()
                break
            except WrongKernel as error:
                self.complaint = str(error)
                handed = self.program.handed
                self.program = again(r.program, self.program, error)
                self.program.handed = handed
        self.seconds = time.perf_counter() - began  # what optimising and lowering took

    def lower(self) -> None:
        """Prepare memory and code; again when somebody holds on to the old memory."""
        seeds = [] if self.backward is None else self.backward.seeds
        self.low = lower(self.program, self._exclusive(), seeds)
        self.program.arena_bytes = self.low.arena_bytes
        self.pool = [self.low]
        # Parameters show gradients in the program's own memory; arguments get theirs for themselves.
        self.lent = Gradients(self.low.array_type)
        self.lent_grads: list[tuple[Tensor, int, int]] = []
        self.loose_grads: list[tuple[int | None, Tensor, int | None, int]] = []
        for at, t, place, version in self.grads:
            if at is None and place is not None and self.lends(place):
                self.lent_grads.append((t, place, version))
            else:
                self.loose_grads.append((at, t, place, version))

    def _exclusive(self) -> set[int]:
        """Storages that share memory with nothing.

        Gradients are given up when the next call begins, so their memory may serve that call until it
        makes new ones. Once somebody was seen to hold an array over it, it is kept apart: a whole arena
        must not stay for the sake of one gradient.
        """
        return self.exclusive if self.apart else set()

    def _free(self, most: int | None = _IN_FLIGHT) -> Any:
        """A lowered program whose last backward is over; another one where all are waiting."""
        for found in self.pool:
            if found.user is None or found.user() is None:
                return found
        if most is not None and len(self.pool) >= most:
            return None
        self.pool.append(lower(self.program, self._exclusive(), self.backward.seeds))
        return self.pool[-1]

    def _note_late_reads(self, r: Recording) -> None:
        """What the backward half reads: tensors that outlive the call, results, and arguments.

        Of an argument it finds what the caller's memory holds by then.
        """
        later = self.program.late_reads
        numbers, arrays = {s.storage.number for s in later}, {id(s.array) for s in later}
        self.lasting = [t for t in r.watch.held if id(t._a) in arrays]
        results = self.program.results[: self.program.handed]
        self.needed_later = {i for i, s in enumerate(results) if s.storage.number in numbers}
        given = enumerate(self.program.arguments[: len(r.tensors)])
        read = [i for i, s in given if s.storage.number in numbers]
        self.late = [i for i in read if i not in self.written]

    def _check_arguments(self, r: Recording) -> None:
        slots = self.program.arguments
        spans = {id(s): span for s, span in zip(slots, r.reaches)}
        changed = {id(slots[i]) for i in self.written}
        if not apart(spans, changed):
            raise SharedArguments("it changes an argument that shares memory with another")
        # An argument is copied where the program begins, so that of it and of memory that the function keeps neither
        # would see the other's writes.
        written = {s.number for ins in self.program.instructions for s in ins.writes}
        kept = {
            s.number: s
            for ins in self.program.instructions
            if not ins.is_view  # of a view, its window counts, where that is read or written
            for s in (*ins.reads, *ins.writes)
            if s.storage.kind in (STATE, CONSTANT) and s.storage.array is not None
        }
        for slot in kept.values():
            root, (low, span_bytes) = slot.storage.array, slot.extent()
            start = data_pointer(root) + slot.offset + low
            near = {id(s): span for s, span in zip(slots, r.reaches) if s.storage is not slot.storage}
            near[id(slot)] = (root.__class__, start, start + span_bytes)
            if not apart(near, {id(slot)} if slot.number in written else changed):
                raise SharedArguments("it changes memory that an argument shares with what the function keeps")

    def _way(self, slot: Slot, r: Recording) -> Any:
        """How a result leaves the program: None as it is, or what must be done to it."""
        kind = slot.storage.kind
        if kind == MADE or kind == CONSTANT:
            return None
        if kind == STATE:
            return "live"
        at = next(i for i, s in enumerate(self.program.arguments) if s.storage is slot.storage)
        base = self.program.arguments[at]
        return (at, slot.offset - base.offset, slot)

    # -- guards ---------------------------------------------------------------------------------

    def obstacle(self, tensors: Sequence[Tensor], given: tuple[tuple, dict], objects: Sequence[Any] = ()) -> str | None:
        """Why this program cannot run now, or None: something that it depends on is not as it was."""
        if not self.intact():
            why = self.unfit or self.watch.changed()
            if why is not None:
                return why
        if self.identity.recorded and not self.identity.same(given, objects):
            return "arguments are one object, or the function's own, otherwise than they were"
        if self._shared(tensors):
            return "an argument shares memory with what the function keeps, or with another one"
        if self.counters.shared and self.counters.differ(self._with_grads(tensors)):
            return "arguments do not share a version counter as they did"
        if not (self.backward or self.entry or self.added_to):
            return None
        if self.backward is not None and self._free() is None:
            return "too many calls wait for their backward"
        if self.backward is not None and self.backward.own and self.backward.replaced():
            return "a derivative was replaced"
        for at, t, there in self.entry:
            if ((t if at is None else tensors[at])._grad is not None) is not there:
                return "a gradient was kept or set to None"
        for at, t, _, slot in self.added_to:
            a = (t if at is None else tensors[at])._grad._a
            if a.shape != slot.shape or a.dtype != slot.dtype or a.strides != slot.strides:
                return "a gradient has another layout"
        if self.added_to and self._grads_shared(tensors):
            return "gradients share memory with each other, with arguments or with what the function keeps"
        return None

    def _note_memory(self, r: Recording) -> None:
        """Which memory is the function's own; an argument that lies there is known by identity."""
        self.kept = [*r.watch.owned_arrays(), *[t._a for t in r.watch.held]]
        self.own = {id(root_array(a)) for a in self.kept}
        arrays = [t._a for t in r.tensors]
        self.inside = [a if id(root_array(a)) in self.own else None for a in arrays]
        self.alien = not self.written and not any(a is not None for a in self.inside)
        self.known = {id(t) for t in r.watch.held}  # they live as long as the watch
        self.who = [id(t) if id(t) in self.known else None for t in r.tensors]
        grads = [g for _, i in r.added_to if (g := r.given[i]) is not None]
        if self.written and any(self._is_own(g._a) for g in grads):
            raise SharedArguments("a gradient lies in memory that the function keeps")
        slots = r.program.arguments
        self.order = order_of([*slots[: len(r.tensors)], *[slots[i] for _, i in r.added_to]])

    def _shared(self, tensors: Sequence[Tensor]) -> bool:
        """Whether memory is shared otherwise than it was when the call was recorded."""
        own = self.own
        if self.alien:  # the usual case
            for t in tensors:
                a = t._a
                if a.base is None:
                    if id(a) in own:
                        return True
                elif self._is_own(a):
                    return True
            return False
        for t, same, who in zip(tensors, self.inside, self.who):
            if t._a is not same and (same is not None or self._is_own(t._a)):
                return True
            if same is not None and who != (id(t) if id(t) in self.known else None):
                return True  # another tensor over the same memory
        return bool(self.written) and self._overlapping(tensors)

    def _is_own(self, a: Any) -> bool:
        """Whether an array lies in memory of the function's own."""
        root = root_array(a)
        return id(root) in self.own or touches(a, root, self.kept)

    def _overlapping(self, tensors: Sequence[Tensor]) -> bool:
        """Whether an argument that is written has bytes in common with another one.

        None had when the call was recorded, but for one array given twice, which is part of the key.
        """
        arrays = [None if t is None else t._a for t in tensors]
        spans = {id(a): reach(a) for a in arrays if a is not None}
        return not apart(spans, {id(arrays[i]) for i in self.written if i < len(arrays)})

    def _grads_shared(self, tensors: Sequence[Tensor]) -> bool:
        """Whether gradients that are added to share memory otherwise than they did: one for two parameters, parts of another."""
        full = self._with_grads(tensors)
        arrays = [t._a for t in (*tensors, *[full[i] for _, _, i, _ in self.added_to])]
        if order_of(arrays) != self.order:
            return True
        if any(i in self.written and self._is_own(full[i]._a) for _, _, i, _ in self.added_to):
            return True
        return bool(self.written) and self._overlapping(full)

    def _stamps(self, tensors: Sequence[Tensor]) -> list[tuple]:
        """The versions now of what the graph of this call would have saved."""
        found = []
        for kind, of, words in self.backward.stamps:
            if kind != "place":
                t = tensors[of] if kind == "argument" else of
                if t._ver is None:
                    t._ver = [0]
                found.append((t._ver, t._ver[0], words))
        return found

    def retire(self, why: str, wanted: frozenset[int] | None) -> None:
        """Be run no more: callers differentiate results otherwise, these alone or in ways that no program knows."""
        self.unfit, self.wanted = why, wanted
        self.intact = _never

    # -- the call -------------------------------------------------------------------------------

    def __call__(self, tensors: Sequence[Tensor], args: tuple, kwargs: dict, objects: Sequence[Any] = ()) -> Any:
        with self.lock:  # threads that share a program take turns
            return self._run(tensors, args, kwargs, objects)

    def _run(self, tensors: Sequence[Tensor], args: tuple, kwargs: dict, objects: Sequence[Any]) -> Any:
        if self.checks and not self.checks.fit(tensors):
            raise Unfinished
        self.runs += 1
        if self.lent_grads and not self.lent.take_back():
            self.apart = True
            self.lower()
        # Without a bound: another thread may have taken the last one since `obstacle` looked.
        low = self.low if self.backward is None else self._free(most=None)
        given = tensors
        if tensors:
            low.fill_all([t._a for t in tensors])
        if self.added_to:
            tensors = self._with_grads(tensors)
            for _, _, i, _ in self.added_to:
                low.fill(low.arguments[i], tensors[i]._a)
        seen = timed(low, self.name) if here.state & WATCHED else low
        self.host_work.do()  # this counts the optimiser's step, so everything that may fail for want of memory comes before it
        try:
            if self.backward is None:
                outs, node = self.run(low, seen.run), None
                self.counters.count(tensors)
            else:
                states = self.remade.states()
                outs, saved = self.run(low, seen.forward)
                edges = [current_edge(t if at is None else tensors[at]) for at, t in self.reached]
                self.counters.count(tensors)  # what the call wrote itself is no change since then
                noted = self.remade.note(args, kwargs, given, states)
                node = ReplayNode(self, low, edges, saved, noted, self._stamps(tensors))
                node.late = [(i, tensors[i]._a) for i in self.late]
        except BaseException as error:
            self._fail(error, seen, tensors)
            raise
        for settle in self.after:
            settle()
        # A gradient that was written, replaced, and that nobody holds: the new one lies there now.
        lent = {id(a) for a in self.lent.arrays}
        low.give_all([(a, low.arguments[i]) for i in self.written if id(a := tensors[i]._a) not in lent])
        for at, t, place, version in self.loose_grads:
            t = t if at is None else tensors[at]
            if place is None:
                t._grad = None
            else:
                array = outs[place] if low.fresh[place] else copy_as_it_lies(outs[place])
                t._grad = tensor_over(array, low.array_type)
                bump(t._grad, version)
        # Others run while results of earlier calls wait for their backward.
        first = low is self.low
        if self.lent_grads and first:
            self.lent.attach(self.lent_grads, outs)
        elif self.lent_grads:
            for t, place, version in self.lent_grads:
                t._grad = tensor_over(copy_as_it_lies(outs[place]), low.array_type)
                bump(t._grad, version)
        result = self._one(outs, tensors) if self.alone else self._results(outs, tensors, objects, node)
        del outs
        if first:
            self.lent.measure()
        return result

    def _fail(self, error: BaseException, low: Any, tensors: Sequence[Tensor]) -> None:
        """A kernel refused its values: where nothing has happened yet the function runs anew, with its own handlers.

        Otherwise arguments show what was written until then, as they would without a program. A graph runs as a whole
        or not at all.
        """
        if low.left_traces is None:
            return
        if isinstance(error, Exception) and not low.left_traces(error):
            raise Unfinished from error
        for i in self.written:
            if i < len(tensors) and tensors[i] is not None:
                tensors[i]._a[...] = low.arguments[i]
        self.counters.count(tensors)

    def _spent_nodes(self, live: Sequence[int]) -> dict[int, SpentNode]:
        """By place, in the order of the nodes that would fail: a pass comes to the youngest first."""
        found = [
            (0 if m[3] is None else m[3][0], place)
            for place, m in enumerate(self.makers)
            if m[0] == "tensor" and m[2] is not None and place not in live
        ]
        return {place: self._spent_node(self.makers[place]) for _, place in sorted(found)}

    @staticmethod
    def _spent_node(maker: tuple) -> SpentNode:
        """The history of a result that a backward pass from outside cannot use; it fails as the eager one would."""
        return SpentNode(maker[2], maker[3][1] if maker[3] is not None else "freed")

    def _one(self, outs: tuple, tensors: Sequence[Tensor]) -> Tensor:
        """The result that is one tensor alone, most often the loss after its backward."""
        _, place, label, _, inference, _, window = self.makers[0]
        t = self._tensor(place, outs, tensors, inference)
        if window is not None:
            _, at, _, _, quiet, _, _ = self.makers[1]
            return on_base(t, self._tensor(at, outs, tensors, quiet), *window[1:])
        if label is not None:
            if self.spent.hooks or self.spent.pre_hooks:
                self.spent = self._spent_node(self.makers[0])  # somebody hung a hook on an earlier result
            t._edge = (self.spent, 0)
        return t

    def _with_grads(self, tensors: Sequence[Tensor]) -> list[Any]:
        """The arguments, and in their places behind them the gradients that are added to."""
        found: list[Any] = [*tensors, *[None] * (len(self.program.arguments) - len(tensors))]
        for at, t, i, _ in self.added_to:
            found[i] = (t if at is None else tensors[at]).grad
        return found

    def _results(self, outs: tuple, tensors: Sequence[Tensor], objects: Sequence[Any], node: Any) -> Any:
        leaves = Leaves(self, outs, tensors, objects, node)
        if node is not None:
            node.stamps += [leaves.stamp(of, words) for kind, of, words in self.backward.stamps if kind == "place"]
        if self.shape is None:
            return leaves.make(0)
        places = itertools.count()
        return tree.rebuild(self.shape, lambda _: leaves.make(next(places)), self.made)

    def _tensor(self, i: int, outs: tuple, tensors: Sequence[Tensor], inference: bool) -> Tensor:
        array, way = outs[i], self.returned[i]
        if way is None:
            if not self.low.fresh[i] or i in self.needed_later:
                array = self.low.copied(i, array)
        elif way != "live":
            at, shift, slot = way
            array = window(tensors[at]._a, shift, slot)
        t = tensor_over(array, self.low.array_type)
        if inference:
            extra(t).inference = True
        return t


def _never() -> bool:
    return False


def _drop_unread(r: Recording) -> None:
    """Gradients that were there and that the call does not look at need no memory of the program's."""
    arguments, first = r.program.arguments, len(r.tensors)
    read = {i for _, i in r.added_to}
    results = r.program.result_storages()
    for i in range(first, first + len(r.with_grad)):
        slot = arguments[i]
        if i not in read and slot.storage.number not in results:
            nothing = Storage(slot.storage.number, ARGUMENT, 0, slot.storage.label)
            nothing.device = slot.storage.device
            arguments[i] = Slot(slot.number, nothing, (0,), slot.dtype, (slot.dtype.itemsize,))
