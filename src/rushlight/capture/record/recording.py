"""One recorded call: run a function while a recorder listens, and what the outside saw of it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterable
from types import FunctionType
from typing import Any

from ...core.memory import copy_as_it_lies
from ...core.overriding import DisableTorchFunctionSubclass
from ...core.tensor import Tensor
from ...core.views import current_edge, steps_of
from ...runtime.devices import nothing_reused
from ...runtime.door import collecting_replay_hooks, listening
from ...runtime.thread import here
from ..program.instructions import Program
from ..program.slots import CONSTANT, MADE, Slot, overlap, reach, window
from ..state import tree
from ..state.identity import Identity
from ..state.keys import attributes, mode
from ..state.kinds import hooks_on, isinstance_of
from ..state.known import TENSOR_SECRETS
from ..state.watch import Watch
from .backward import LaterBackward, Uses
from .effects import SEEDING, noticing, random_states
from .executed import Seen, Watching
from .flow import reading_of
from .host_work import HostWork
from .recorder import Recorder, host_read_error, inside, is_array
from .refusals import RuleOfCalls, first_failure, graphs_end_at, spent


def _may_have_one(t: Tensor) -> bool:
    return t._a.dtype.kind in "fcV"


class Recording:
    """What a call computed and how it changed the tensors that outlive it."""

    def __init__(
        self,
        fn: Callable,
        args: tuple,
        kwargs: dict,
        seen: Seen | None = None,
        used: frozenset[int] | None = None,
        anew: Iterable[type] = (),
    ) -> None:
        self.used = used  # results that callers differentiate, by their order; None: not known yet
        self.fn, self.args, self.kwargs = fn, args, kwargs
        self.function = fn
        self.seen = Seen() if seen is None else seen
        self.guessed = not self.seen.calls  # nothing is known yet of what the code does
        self.tensors: list[Tensor] = []
        self.anew = frozenset(anew)  # classes of arguments that are compared by what they hold
        self.records = tree.Records((args, kwargs), self.tensors, self.anew)
        self.shape = self.records.shape
        self.looks = [_look_of(t) for t in self.tensors]
        held = [v for v in tree.leaves((args, kwargs, self.records.contents())) if self.records.place(v) is None]
        self.watch = Watch(fn, held, None if self.guessed else self.seen, self.records.objects)
        self.identity = Identity(self.watch, (args, kwargs), self.records.objects)
        self.leaves = self._leaves()
        places = {id(t): i for i, t in enumerate(self.tensors)}
        self.leaf_keys = [places.get(id(t), id(t)) for t in self.leaves]
        # Gradients that are there already are arguments, too: a backward adds to them. Not held: a
        # step that sets them to None gets their memory back at once, as without a recording.
        self.entry_grads = [None if t.grad is None else weakref.ref(t.grad) for t in self.leaves]
        self.with_grad = [t for t in self.leaves if t.grad is not None]
        self.old_grads = [r for r in self.entry_grads if r is not None]
        self.versions = [(t, t._version) for t in self.known()]
        self.grad_versions = [t._grad._version for t in self.with_grad]
        self.numbers = [_numbers(o) for o in self.watch.optimizers]
        self.states = random_states(self.watch.generators)
        self.live: list[tuple[int, Tensor]] = []  # results whose backward is still to come
        self.made: frozenset[type] = frozenset()  # classes of objects in the result that a replay makes anew
        self.disturbed = False  # this call or another thread drew random numbers meanwhile

    def call(self, fullgraph: bool = False) -> None:
        """Run the function while the recorder listens; `fullgraph` raises at the first obstacle."""
        fed: list[Any] = []
        given = [t._a for t in self.given if t is not None]
        self.reaches = [reach(a) for a in given]
        lasting = [*self.watch.owned_arrays(), *[t._a for t, _ in self.watch.tensors.values()]]
        self.rule = RuleOfCalls(self.watch.owned(), fed)
        self.recorder = Recorder(self.rule, given)
        del given
        self.recorder.strict = fullgraph
        forget_casts()
        before, now = mode(), Seen()
        self.mode = before
        with (
            inside(self.recorder),
            collecting_replay_hooks(self.recorder) as hooks,
            noticing(self._notice),
            listening(self.recorder),
            nothing_reused(),
            graphs_end_at(self.known(), self.tensors, self.recorder),
            Watching(now) as self.recorder.watching,
        ):
            self.result = self.fn(*self.args, **self.kwargs)
        self.recorder.watching = None
        forget_casts()
        if mode() != before:
            now.strange = now.strange or "it changes a mode of the thread or a setting"
        del lasting  # kept alive until here, because the recorder knows them by their ids
        with DisableTorchFunctionSubclass():
            self._look_back(now, hooks)
        for hook in hooks:
            fed.extend(hook.arrays)

    def _look_back(self, now: Seen, hooks: Any) -> None:
        """What the call has done beside computing, right after it."""
        self.changed = self._changed_arguments()
        self.lists = {id(v) for v in tree.containers((self.args, self.kwargs))}
        del self.fn, self.args, self.kwargs
        if self.watch.mentioned & SEEDING:
            self.recorder.complain("sets the seed of random numbers", "its code")
        elif random_states(self.watch.generators) != self.states:
            # The streams are the process's: with other threads at work, one of them may have drawn.
            self.disturbed = threading.active_count() > 1
            if not self.disturbed:
                self.complain_of_draws()
        self.host_work = HostWork(hooks)
        self.after, self.odd = hooks.after, hooks.odd
        self.odd = self.odd or not now.complete
        self.grown = self._absorb(now)
        self.ran, self.strange = list(now.codes), now.strange

    def _changed_arguments(self) -> str | None:
        """What the call has done to its arguments beside writing values into their memory."""
        for i, (t, before) in enumerate(zip(self.tensors, self.looks)):
            now = _look_of(t)
            if now[0] is not before[0] or now[1] is not before[1] or now[2:] != before[2:]:
                return f"the memory, history, hooks or attributes of argument {i}"
        now_there: list[Tensor] = []
        same_shape = tree.Records((self.args, self.kwargs), now_there, self.anew).shape == self.shape
        if not same_shape or list(map(id, now_there)) != list(map(id, self.tensors)):
            return "a container or an object among the arguments"
        return None

    def _notice(self, what: str) -> None:
        """The call prints, logs or opens a file; a first call may well be alone in that."""
        if not self.guessed:
            self.recorder.complain(what)

    def _absorb(self, now: Seen) -> bool:
        """Whether this call ran anything that the watch did not know of."""
        functions = {id(fn): (fn, "") for fn, _ in self.watch.functions.values()}
        kinds = {id(o): type(o) for o in self.records.objects}
        return self.seen.absorb(now, {**self.watch.objects, **self.watch.tensors, **functions}, kinds)

    def unknown(self) -> str | None:
        """What the call touches that no comparison before a replay would notice, or None."""
        if self.recorder.why is not None:
            return None  # that alone prevents a replay, and its message is the better one
        if self.guessed:
            return None  # a first call may do things that later calls do not
        if self.strange is not None or self.grown:
            return self.strange
        if self.watch.refused is not None:
            return f"{self.watch.refused}, which is not compared before a replay"
        if TENSOR_SECRETS & self.watch.mentioned:
            return f"it asks for {min(TENSOR_SECRETS & self.watch.mentioned)} of a tensor"
        unread = self.watch.unread(self.ran)
        return None if unread is None else f"it runs {unread} in a way that cannot be followed"

    def complain_of_draws(self) -> None:
        """The call drew random numbers of a stream that a replay would not advance."""
        self.recorder.complain("draws random numbers of Python or NumPy", "its code")

    def analyse(self) -> None:
        """See what the call did; apart from the call, whose result stands whatever happens here."""
        self.impure = self.watch.changed() or self.changed
        if self.impure is None:
            for o, before in zip(self.watch.optimizers, self.numbers):
                if _numbers(o) != before:
                    self.impure = f"a number of {type(o).__name__} changed"
        self._finish()
        self.trouble = self.recorder.why

    def known(self) -> list[Tensor]:
        """Tensors that exist before the call and may be changed by it."""
        found = {id(t): t for t in self.tensors}
        found.update({id(t): t for t in self.watch.held})
        return list(found.values())

    @property
    def given(self) -> list[Tensor | None]:
        """The arguments and behind them the gradients there were; None for one that is gone."""
        return [*self.tensors, *[r() for r in self.old_grads]]

    def _leaves(self) -> list[Tensor]:
        """Tensors whose `.grad` the call may look at; a frozen parameter may have one, too, or get one later."""
        return [t for t in self.known() if t.is_leaf and (t._edge is not None or _may_have_one(t))]

    # -- what came out --------------------------------------------------------------------------

    def _finish(self) -> None:
        rec = self.recorder
        self.result_slots: list[Slot] = []
        self._describe_results()
        self.exit_grads = [self._grad(t, before) for t, before in zip(self.leaves, self.entry_grads)]
        grads = zip(self.given[len(self.tensors) :], self.grad_versions)
        versions = [*self.versions, *[(t, v) for t, v in grads if t is not None]]
        self.bumps = [(t, t._version - v) for t, v in versions if t._version != v]
        self.backward = self.uses = None
        if self.live and not rec.why:
            shown = frozenset([i for i, (at, _) in enumerate(self.live) if at < self.shown])
            self.backward = LaterBackward(self, self.live, shown if self.used is None else self.used)
            self.uses = Uses(self.live)
        del self.found
        self.program: Program = self.rule.program(rec, self.result_slots)
        self.entry_rules = self._entry_rule()

    def _describe_results(self) -> None:
        """How a replay makes the leaves of the result, and behind them the tensors that they are views of."""
        self.made = tree.new_records(self.result, self._is_lasting)
        found = tree.leaves(self.result, self.made)
        tensors = [t for t in found if isinstance_of(t, Tensor)]
        self.places = {id(t): i for i, t in reversed(list(enumerate(found)))}  # their first places
        bases = [b for t in {id(t): t for t in tensors}.values() if (b := t._base) is not None]
        self.lone = {id(b) for b in bases if sum([b is other for other in bases]) == 1}
        self.shown = len(found)
        for b in bases:
            if id(b) not in self.places and self._is_made(b):
                self.places[id(b)] = len(found)
                found.append(b)
        self.leaf_makers: list[Any] = []
        self.found = found
        for value in found:
            self.leaf_makers.append(self._describe(value))
        given = [reading_of(v) for v in found]
        for reading in self.recorder.readings:
            if not any(r is reading for r in given):  # a function of C between here and there took it
                reading.used("item()")
        kept = tree.containers(self.result, self.made)
        if any(id(o) in self.watch.objects for o in self.records.objects):
            self.recorder.complain("is given an object that it keeps itself", "its arguments")
        if any(isinstance_of(k, Tensor) for v in kept if isinstance(v, dict) for k in v):
            self.recorder.complain("returns a dict with tensors for keys", "its return")
        lists = [id(v) for v in kept]
        if len(set(lists)) != len(lists) or any(n in self.lists or n in self.watch.objects for n in lists):
            self.recorder.complain("returns a list or dict that is elsewhere, too,", "its return")

    def _is_lasting(self, value: Any) -> bool:
        """Whether an object in the result was there before the call, or cannot be told from one that was."""
        known = self.records.place(value) is not None or id(value) in self.watch.objects
        return known or self.seen.returned_before(value)

    def _is_made(self, t: Tensor) -> bool:
        """Whether the call made a tensor, and its memory."""
        slot = self.recorder.slots.get(id(t._a))
        return slot is not None and slot.storage.kind == MADE

    def _source(self, value: Tensor) -> tuple | None:
        """What a result is a view of, as far as it can be seen from outside, and the way from there."""
        base, given, kept = value._ext.base, enumerate(self.tensors), self.watch.held
        found: tuple | None = None
        for source in (*[("argument", i, t) for i, t in given], *[("same", t, t) for t in kept]):
            t, steps, spec = source[2], [], value._ext.spec
            mine = t._ext.spec if t._ext is not None and t._ext.base is base else None
            while (mine is not None or t is base) and spec is not mine and spec is not None:
                steps.append(spec[:2])
                spec = spec[2]
            # The nearest one: where an argument is a view of another, later calls may have one of something else.
            if spec is mine and steps and (found is None or len(steps) < len(found[1])):
                found = source[:2], tuple(reversed(steps))
        if found is not None:
            return found
        if id(base) in self.places and self._is_made(base):
            return ("place", self.places[id(base)]), steps_of(value._ext.spec)
        return None

    def _describe(self, value: Any) -> tuple:
        """How a replay makes one leaf of the result: (kind, ...)."""
        here_at = len(self.leaf_makers)
        if isinstance_of(value, Tensor):
            for i, t in enumerate(self.tensors):
                if t is value:
                    return ("argument", i)
            if id(value) in self.watch.tensors:
                return ("same", value)
            if self.places[id(value)] != here_at:
                return ("again", self.places[id(value)])
            source = None if value._base is None else self._source(value)
            if source is not None and source[0][0] == "place" and source[0][1] >= self.shown:
                if id(value._base) in self.lone:
                    return self._describe_tensor(value, (source[0][1], value._ext.spec, source[1]))
            if source is not None:
                # Made as the function made it, so that both know of what is written into either.
                self._check_result(value)
                return ("view", (*source, value._ext.made))
            return self._describe_tensor(value)
        reading = reading_of(value)
        if reading is not None:
            return ("number", self.add_result(reading.slot), float if isinstance(value, float) else int)
        if is_array(value):
            self.recorder.complain("returns a NumPy array", "its return")
        at = self.records.place(value)
        return ("value", value) if at is None else ("object", at)

    def _describe_tensor(self, value: Tensor, window: tuple | None = None) -> tuple:
        """A new tensor; `window`: of what else that nobody is given it is a view, and how."""
        self._check_result(value)
        slot = self.recorder.slot_of(value._a)
        edge = value._edge
        if edge is not None and not spent(edge[0]):
            self.live.append((len(self.leaf_makers), value))
        failure = None if edge is None else first_failure(edge[0])
        name = None if edge is None else edge[0].name()
        quiet = value.is_inference()
        counter = None if window is not None else self._counter(value)
        if window is not None:
            window = (*window, value._ext.made)
        return ("tensor", self.add_result(slot), name, failure, quiet, counter, window)

    def _counter(self, value: Tensor) -> tuple | None:
        """Whose version counter a result shares, or how far its own has come.

        What `detach()` gives is no view, but has the counter of its source.
        """
        cell = value._ver
        if cell is None:
            return None
        given = [("argument", i, t) for i, t in enumerate(self.tensors)]
        held = [("same", t, t) for t in self.watch.held]
        owners = list({id(o[2]): o for o in reversed((*given, *held)) if o[2]._ver is cell}.values())
        if len(owners) > 1:  # views of one tensor have one counter; in another call they may have two
            here_at = reach(value._a)
            owners = [o for o in owners if overlap(here_at, reach(o[2]._a))]
            if len(owners) != 1:
                self.recorder.complain("returns memory that it has under two names", "its return")
        for kind, which, _ in owners:
            return (kind, which)
        for place, (t, maker) in enumerate(zip(self.found, self.leaf_makers)):
            if maker[0] == "tensor" and maker[6] is None and t._ver is cell:
                return ("place", place)
        return ("count", cell[0]) if cell[0] else None

    def _check_result(self, value: Tensor) -> None:
        """A replay makes plain tensors: results of graphs, or without any history."""
        edge = current_edge(value)
        what = None
        if value.__class__ is not Tensor:
            what = f"a new {value.__class__.__name__}"
        elif vars(value):
            what = f"a tensor with an attribute {min(map(str, vars(value)))}"
        elif edge is not None and (value.is_leaf or value.retains_grad):
            what = "a new leaf" if value.is_leaf else "a tensor that retains its gradient"
        if what is not None:
            self.recorder.complain(f"returns {what}", "its return")

    def add_result(self, slot: Slot) -> int:
        """The place of a slot among the results."""
        for i, s in enumerate(self.result_slots):
            if s is slot:
                return i
        self.result_slots.append(slot)
        return len(self.result_slots) - 1

    def _grad(self, t: Tensor, before: Any) -> tuple:
        """How a leaf's gradient looks afterwards: unchanged, None, or a result of the program."""
        old = None if before is None else before()
        if t.grad is old and (old is not None or before is None):
            return ("kept",)
        if t.grad is None:
            return ("none",)
        return ("made", self.add_result(self.recorder.slot_of(t.grad._a)), t.grad._version)

    def _entry_rule(self) -> list[tuple[Tensor, bool]]:
        """Which leaves must have a `.grad` when a replay starts, and which must not.

        A gradient that was there and was replaced must have been set to None by the function itself: where nothing asks for
        gradients, it does not matter what the next call finds.
        """
        touched = {s.number for ins in self.recorder.instructions for s in ins.reads}
        slots = self.recorder.arguments[len(self.tensors) :]
        self.added_to = [
            (t, len(self.tensors) + i) for i, (t, s) in enumerate(zip(self.with_grad, slots)) if s.number in touched
        ]
        used = {id(t) for t, _ in self.added_to}
        # Functions of ours that look at gradients say so in their names, whatever a script calls them.
        watch = self.watch
        values = [row[-1] for row in (*watch.rows, *watch.cells.values())]
        called = [getattr(fn, "__name__", "") for fn in values if issubclass(type(fn), FunctionType)]
        asked = [name for _, names in watch.asked.values() for name in names]  # by getattr
        names = (*watch.mentioned, *called, *asked)
        asks = bool(watch.optimizers) or any("grad" in n for n in names)
        rules: list[tuple[Tensor, bool]] = []
        for t, before, after in zip(self.leaves, self.entry_grads, self.exit_grads):
            if before is None:
                if asks or after[0] != "kept":
                    rules.append((t, False))
            elif id(t) in used or asks:
                rules.append((t, True))
        return rules

    def plain_result(self) -> Any:
        """The result for this call's caller: watched numbers become ordinary ones."""

        def leaf(value: Any) -> Any:
            if reading_of(value) is None:
                return value
            # The bare methods: those of a watched number would report its use.
            if isinstance(value, float):
                return float.__pos__(value)
            return int.__pos__(value) if isinstance(value, int) else value

        if not self.recorder.readings:
            return self.result
        numbers = [v for v in tree.leaves(self.result, self.made) if reading_of(v) is not None]
        return tree.rebuild(self.result, leaf, self.made) if numbers else self.result

    def forget(self) -> None:
        """Free the arrays of the call: only its program is compared with that of the next call."""
        self.recorder.close()
        del self.result, self.tensors, self.live, self.records
        self.entry_grads, self.versions, self.old_grads = [], [], []

    def settle_constants(self, other: Recording) -> None:
        """Constants seen twice at the same place of memory are state that nobody watches."""
        lasting = {id(s.array) for s in other.program.storages if s.array is not None}
        for s in self.program.storages:
            if s.kind == CONSTANT and id(s.array) in lasting:
                s.kind, s.rewritten = "state", False
            elif s.rewritten:
                s.saved = self.recorder.first_values[s.number]
        self._own_constants()

    def _own_constants(self) -> None:
        """Memory of the program's own for constants that the caller of this call was given: he may write into them."""
        given = self.program.result_storages()
        own = {
            s.number: copy_as_it_lies(self.recorder.first_values[s.number])
            for s in self.program.storages
            if s.kind == CONSTANT and s.number in given and not s.fed
        }
        for slot in self.program.slots:
            array = own.get(slot.storage.number)
            if array is not None:
                slot.storage.array = array
                slot.array = window(array, slot.offset, slot) if slot.size else slot.array


def forget_casts() -> None:
    """What autocast keeps of parameters would be taken for memory that lasts."""
    if here.casts is not None:
        here.casts.cache.clear()


def _look_of(t: Tensor) -> tuple:
    """What a call may change of a tensor beside its values."""
    edge = t._edge
    hooks = (t.retains_grad, None if edge is None else hooks_on(edge[0]))
    return t._a, edge, hooks, attributes(t) if vars(t) else (), t.__class__


def _numbers(o: Any) -> list:
    """The numbers among an optimiser's options: a step must not change them."""
    return [{k: v for k, v in g.items() if isinstance(v, (int, float)) or isinstance(v, tuple)} for g in o.param_groups]


def check(recording: Recording) -> None:
    """Raise when a recording can never be replayed."""
    if recording.trouble is not None:
        raise host_read_error(recording.trouble)
