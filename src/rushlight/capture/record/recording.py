"""One recorded call: run a function while a recorder listens, and what the outside saw of it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from types import FunctionType
from typing import Any

from ...core.op import FREED
from ...core.tensor import Tensor
from ...runtime.devices import nothing_reused
from ...runtime.door import collecting_replay_hooks, listening
from ...runtime.thread import here
from ..program.instructions import Program
from ..program.slots import CONSTANT, Slot
from ..state import tree
from ..state.keys import mode
from ..state.known import TENSOR_SECRETS
from ..state.watch import Watch
from .backward import Backward
from .effects import SEEDING, noticing, random_states
from .executed import Seen, Watching
from .host_work import HostWork
from .inside import inside
from .outside import graphs_end_at
from .recorder import Recorder, host_read_error, is_array, reach, same


def _may_have_one(t: Tensor) -> bool:
    return t._a.dtype.kind in "fcV"


class Recording:
    """What a call computed and how it changed the tensors that outlive it."""

    def __init__(self, fn: Callable, args: tuple, kwargs: dict, seen: Seen | None = None) -> None:
        self.fn, self.args, self.kwargs = fn, args, kwargs
        self.seen = Seen() if seen is None else seen
        self.guessed = not self.seen.calls  # nothing is known yet of what the code does
        self.tensors: list[Tensor] = []
        tree.flatten((args, kwargs), self.tensors)
        self.watch = Watch(fn, tree.leaves((args, kwargs)), None if self.guessed else self.seen)
        self.leaves = self._leaves()
        places = {id(t): i for i, t in enumerate(self.tensors)}
        self.leaf_keys = [places.get(id(t), id(t)) for t in self.leaves]
        # Gradients that are there already are arguments, too: a backward adds to them. Not held: a
        # step that sets them to None gets their memory back at once, as without a recording.
        self.entry_grads = [None if t.grad is None else weakref.ref(t.grad) for t in self.leaves]
        self.with_grad = [t for t in self.leaves if t.grad is not None]
        self.old_grads = [r for r in self.entry_grads if r is not None]
        self.versions = [(t, t._version) for t in self.known()]
        self.grad_versions = [t.grad._version for t in self.with_grad]
        self.numbers = [_numbers(o) for o in self.watch.optimizers]
        self.states = random_states(self.watch.generators)
        self.live: list[tuple[int, Tensor]] = []  # results whose backward is still to come
        self.disturbed = False  # this call or another thread drew random numbers meanwhile

    def call(self, fullgraph: bool = False) -> None:
        """Run the function while the recorder listens; `fullgraph` raises at the first obstacle."""
        fed: list[Any] = []
        given = [t._a for t in self.given if t is not None]
        self.reaches = [reach(a) for a in given]
        lasting = [*self.watch.owned_arrays(), *[t._a for t, _ in self.watch.tensors.values()]]
        self.recorder = Recorder(given, self.watch.owned(), fed)
        del given
        self.recorder.strict = fullgraph
        forget_casts()
        before, now = mode(), Seen()
        with (
            inside(self.recorder),
            collecting_replay_hooks() as hooks,
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
        for hook in hooks:
            fed.extend(hook.arrays)

    def _notice(self, what: str) -> None:
        """The call prints, logs or opens a file; a first call may well be alone in that."""
        if not self.guessed:
            self.recorder.complain(what)

    def _absorb(self, now: Seen) -> bool:
        """Whether this call ran anything that the watch did not know of."""
        functions = {id(fn): (fn, "") for fn, _ in self.watch.functions.values()}
        return self.seen.absorb(now, {**self.watch.objects, **self.watch.tensors, **functions})

    def unknown(self) -> str | None:
        """What the call touches that no comparison before a replay would notice, or None."""
        if self.recorder.trouble is not None:
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
        self.impure = self.watch.changed()
        if self.impure is None:
            for o, before in zip(self.watch.optimizers, self.numbers):
                if _numbers(o) != before:
                    self.impure = f"a number of {type(o).__name__} changed"
        self._finish()
        self.trouble = self.recorder.trouble

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
        self.leaf_makers: list[Any] = []
        for value in tree.leaves(self.result):
            self.leaf_makers.append(self._describe(value))
        self.exit_grads = [
            self._grad(t, before) for t, before in zip(self.leaves, self.entry_grads)
        ]
        grads = zip(self.given[len(self.tensors) :], self.grad_versions)
        versions = [*self.versions, *[(t, v) for t, v in grads if t is not None]]
        self.bumps = [(t, t._version - v) for t, v in versions if t._version != v]
        self.backward = Backward(self, self.live) if self.live and not rec.trouble else None
        self.program: Program = rec.program(self.result_slots)
        self.entry_rules = self._entry_rule()

    def _describe(self, value: Any) -> tuple:
        """How a replay makes one leaf of the result: (kind, ...)."""
        if isinstance(value, Tensor):
            for i, t in enumerate(self.tensors):
                if t is value:
                    return ("argument", i)
            if id(value) in self.watch.tensors:
                return ("same", value)
            slot = self.recorder.slot_of(value._a)
            edge = value._edge
            if edge is not None and not _spent(edge[0]):
                self.live.append((len(self.leaf_makers), value))
            failure = None if edge is None else _first_failure(edge[0])
            name = None if edge is None else edge[0].name()
            return ("tensor", self.add_result(slot), name, failure)
        reading = getattr(value, "reading", None)
        if reading is not None and isinstance(value, (int, float)):
            return (
                "number",
                self.add_result(reading.slot),
                float if isinstance(value, float) else int,
            )
        if is_array(value):
            self.recorder.complain("returns a NumPy array", "its return")
        return ("value", value)

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
        return ("made", self.add_result(self.recorder.slot_of(t.grad._a)))

    def _entry_rule(self) -> list[tuple[Tensor, bool]]:
        """Which leaves must have a `.grad` when a replay starts, and which must not.

        A gradient that was there, was never looked at and was replaced must have been set to None
        by the function itself: then it does not matter what the next call finds.
        """
        touched = {s.number for ins in self.recorder.instructions for s in ins.reads}
        slots = self.recorder.arguments[len(self.tensors) :]
        self.added_to = [
            (t, len(self.tensors) + i)
            for i, (t, s) in enumerate(zip(self.with_grad, slots))
            if s.number in touched
        ]
        used = {id(t) for t, _ in self.added_to}
        # Functions of ours that look at gradients say so in their names, whatever a script calls them.
        watch = self.watch
        values = [row[-1] for row in (*watch.rows, *watch.cells.values())]
        called = [
            getattr(fn, "__name__", "") for fn in values if issubclass(type(fn), FunctionType)
        ]
        asks = bool(watch.optimizers) or any("grad" in n for n in (*watch.mentioned, *called))
        rules: list[tuple[Tensor, bool]] = []
        for t, before, after in zip(self.leaves, self.entry_grads, self.exit_grads):
            if before is None:
                if asks or after[0] != "kept":
                    rules.append((t, False))
            elif id(t) in used or (asks and after[0] == "kept"):
                rules.append((t, True))
        return rules

    def plain_result(self) -> Any:
        """The result for this call's caller: watched numbers become ordinary ones."""

        def leaf(value: Any) -> Any:
            if getattr(value, "reading", None) is None:
                return value
            # The bare methods: those of a watched number would report its use.
            if isinstance(value, float):
                return float.__pos__(value)
            return int.__pos__(value) if isinstance(value, int) else value

        return tree.rebuild(self.result, leaf)

    def forget(self) -> None:
        """Free the arrays of the call: only its program is compared with that of the next call."""
        self.recorder.forget()
        del self.result, self.tensors, self.live
        self.entry_grads, self.versions, self.old_grads = [], [], []

    # -- agreement ------------------------------------------------------------------------------

    def differs(self, other: Recording) -> str | None:
        """Why two recordings are not the same program, or None."""
        mine, theirs = self.program.instructions, other.program.instructions
        names: dict[int, int] = {}
        for a, b in zip(mine, theirs):
            if a.kernel is not b.kernel:
                return f"{a.name} at {a.line} was {b.name} at {b.line} the call before"
            if not same(a.attrs, b.attrs):
                return f"options of {a.name} at {a.line} differ from call to call"
            for x, y in zip((*a.inputs, *a.outputs), (*b.inputs, *b.outputs)):
                why = self._slot_differs(other, x, y, names)
                if why is not None:
                    return f"{why} of {a.name} at {a.line} differs from call to call"
        if len(mine) != len(theirs):
            return f"{len(mine)} instructions, {len(theirs)} the call before"
        if self._grads() != other._grads():
            return "the gradients it leaves differ from call to call"
        if not _same_makers(self.leaf_makers, other.leaf_makers):
            return "what it returns differs from call to call"
        return None

    def _grads(self) -> dict[int, tuple]:
        """What became of gradients, by tensor: those that stayed as they were are left out."""
        return {k: m[:1] for k, m in zip(self.leaf_keys, self.exit_grads) if m[0] != "kept"}

    def _slot_differs(self, other: Recording, x: Any, y: Any, names: dict[int, int]) -> str | None:
        if x.__class__ is not Slot or y.__class__ is not Slot:
            return None if same(x, y) else "a number"
        if (x.shape, x.dtype, x.strides) != (y.shape, y.dtype, y.strides):
            return "a shape"
        if names.setdefault(x.storage.number, y.storage.number) != y.storage.number:
            return "an operand"
        if x.storage.fed or y.storage.fed:
            return None
        if x.storage.kind == CONSTANT and x.storage.array is not y.storage.array:
            first = self.recorder.first_values[x.storage.number]
            second = other.recorder.first_values[y.storage.number]
            if not _same_values(first, second):
                return "a value made by Python"
        elif x.storage.array is not y.storage.array and x.storage.kind != CONSTANT:
            return "memory" if x.storage.array is not None else None
        return None

    def settle_constants(self, other: Recording) -> None:
        """Constants seen twice at the same place of memory are state that nobody watches."""
        lasting = {id(s.array) for s in other.program.storages if s.array is not None}
        for s in self.program.storages:
            if s.kind == CONSTANT and id(s.array) in lasting:
                s.kind, s.rewritten = "state", False
            elif s.rewritten:
                s.saved = self.recorder.first_values[s.number]


def forget_casts() -> None:
    """What autocast keeps of parameters would be taken for memory that lasts."""
    if here.casts is not None:
        here.casts.cache.clear()


def _same_values(a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if hasattr(a, "get"):  # CuPy
        a, b = a.get(), b.get()
    return a.tobytes() == b.tobytes()


def _same_makers(a: list[tuple], b: list[tuple]) -> bool:
    return len(a) == len(b) and all(same(x[:2], y[:2]) for x, y in zip(a, b))


def _spent(node: Any) -> bool:
    """Whether backward has run through this graph already."""
    stack, seen = [node], set()
    while stack:
        node = stack.pop()
        if node.seq in seen:
            continue
        seen.add(node.seq)
        if FREED in (getattr(node, "saved", None), getattr(node, "outputs", None)):
            return True
        stack.extend([e[0] for e in node.edges if e is not None])
    return False


def _first_failure(node: Any) -> tuple[int, str] | None:
    """Which node of a graph a backward pass would fail at first, by its number, and why; None where it would not."""
    nodes, stack = {}, [node]
    while stack:
        node = stack.pop()
        if node.seq not in nodes:
            nodes[node.seq] = node
            stack.extend([e[0] for e in node.edges if e is not None])
    for seq in sorted(nodes, reverse=True):  # the order in which a pass comes to them
        saved, outputs = (getattr(nodes[seq], name, None) for name in ("saved", "outputs"))
        if FREED in (saved, outputs):
            return seq, "freed"
        kept = [*(saved.values() if isinstance(saved, dict) else ()), *(outputs or ())]
        for k in kept:
            if k.__class__ is tuple and len(k) == 3 and k[1].__class__ is list and k[1][0] != k[2]:
                return seq, f"a tensor {list(k[0].shape)} that a compiled function used"
    return None


def _numbers(o: Any) -> list:
    """The numbers among an optimiser's options: a step must not change them."""
    return [
        {k: v for k, v in g.items() if isinstance(v, (int, float)) or isinstance(v, tuple)}
        for g in o.param_groups
    ]


def check(recording: Recording) -> None:
    """Raise when a recording can never be replayed."""
    if recording.trouble is not None:
        raise host_read_error(recording.trouble)
