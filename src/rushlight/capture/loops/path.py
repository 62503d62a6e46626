"""A path: a stretch that was heard twice alike, as steps to compare, a program that computes them, and how it is run."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy as shallow
from typing import Any, NamedTuple

import numpy as np

from ...base.config import settings
from ...core.exposed import exposed
from ...core.memory import data_pointer, root_array
from ...runtime.door import KERNELS, Kernel, run
from ..in_c import native
from ..lower import lower
from ..outlets import Pool, is_reserved, small_addresses
from ..passes import JOINING, optimise
from ..path import Path
from ..program.instructions import Instruction, Program, class_of
from ..program.refuse import look_of
from ..program.slots import ARGUMENT, MADE, STATE, Slot, Storage
from ..record.recorder import CannotCapture, Recorder, WrongKernel, same
from .ahead import Ahead, planned
from .ahead_on_host import OnHost, changes_last, on_host
from .arrivals import Arrivals
from .described import Described, Macro
from .places import AgreementOfStretches
from .stretch import is_host
from .trial import Trial
from .updates import Update

_IDLE_BYTES = 64 << 20  # of arrays on a GPU that are only handed out, where somebody has asked
_UNASKED_BYTES = 16 << 20  # where nobody has: larger programs hold memory that the rest of the script may need
_TRIED_BYTES = 64 << 20  # of an arena on a GPU: beside a larger one eager calls would need their memory, too


KNOWN, FIXED, VALUE, BIND = range(4)  # kinds of operands
FRESH, VIEW, GIVEN = range(3)  # kinds of results
NOT_MET = object()  # stands for an array that the stretch has not come to; an operand may be None


class PathStep(NamedTuple):
    """One kernel of a path; `outs` are numbers of arrays, or of operands where those are given back."""

    kernel: Kernel
    attrs: dict[str, Any]
    operands: tuple[tuple[int, Any], ...]
    how: int
    outs: tuple[int, ...]
    several: bool
    cls: type
    look: Any  # (operand, function): the check of values that is needed before the kernel may wait
    line: str


_PLANS = 16  # ways to copy results that are kept


class PathOfStretch(Path):
    """The path of a stretch: steps, what they hand out, and the program."""

    def __init__(
        self, first: Recorder, second: Recorder, others: Sequence[PathOfStretch], patient: bool = True
    ) -> None:
        agreement = AgreementOfStretches(first, second)
        if agreement.why is not None:
            raise CannotCapture(agreement.why)
        self.number: dict[int, int] = {}  # slot's number -> ours
        self.layouts: list[Slot] = []
        self.renamed: dict[int, Slot] = {}  # slots that have another number in the program
        self.inputs: dict[int, int] = {}  # our number -> which argument of the program
        self.bound_at: dict[int, int] = {}  # our number -> the event that takes it
        self.recorder, self.agreement = second, agreement
        self.events: list[PathStep | Macro] = []
        self.steps: list[PathStep] = []  # all kernels, those of macros included
        self.unseen: set[int] = set()  # numbers that only kernels of macros know
        self.misses = 0
        self.row: Any = None  # of the report
        self.trial = Trial()
        self.numerics = settings.numerics  # that the program is made for
        self.patient = patient  # whether somebody waits for kernels that a GPU's compiler has to make
        self.table: Any = None  # of the cursor in C
        self._read(second)
        self.kernels = len(self.steps)
        self._compile(first, second, others)
        self._let_go()

    # -- what is expected -----------------------------------------------------------------------

    def _new(self, slot: Slot) -> int:
        found = self.number.get(slot.number)
        if found is None:
            found = self.number[slot.number] = len(self.layouts)
            self.layouts.append(slot)
        return found

    def operand(self, value: Any) -> tuple[int, Any]:
        """How one operand is compared."""
        if value.__class__ is not Slot:
            return VALUE, value
        if value.number in self.number:
            number = self.number[value.number]
            return (BIND if number in self.inputs else KNOWN), number
        if value.number in self.agreement.inputs:
            number = self._new(value)
            self.inputs[number] = len(self.inputs)
            self.bound_at[number] = len(self.events)
            return BIND, number
        if value.storage.kind == MADE:
            raise CannotCapture("an array appears from nowhere")
        return FIXED, value.array

    def _read(self, recorder: Recorder) -> None:
        macros = {m.start: m for m in recorder.macros}
        at, code = 0, recorder.instructions
        while at < len(code) or at in macros:
            macro = macros.pop(at, None)
            if macro is None:
                self._add(self._step(code[at]))
                at += 1
                continue
            macro = shallow(macro)  # the recorder's own is compared with stretches to come
            macro.steps = []  # type: ignore[attr-defined]
            # Its own slots first: what comes from outside is bound when the macro is compared.
            new = [s for s in getattr(macro, "new", ()) if s is not None]
            for s in macro.slots():
                if s not in new:
                    self.operand(s)
            bound = set(self.inputs)
            before = len(self.layouts)
            for ins in code[at : macro.end]:
                macro.steps.append(self._step(ins))  # type: ignore[attr-defined]
            if set(self.inputs) - bound:
                raise CannotCapture("a backward or an update reads what nobody can compare")
            macro.settle(self.operand)
            handed = {n for n in getattr(macro, "new", ()) if n is not None}
            fresh = {k for s in macro.steps if s.how == FRESH for k in s.outs}  # type: ignore[attr-defined]
            if isinstance(macro, Described):
                macro.views = _views_of(handed - fresh, macro.steps)  # type: ignore[attr-defined]
                handed |= {base for _, base in macro.views.values()}
            if not handed - set(getattr(macro, "views", ())) <= fresh:
                raise CannotCapture("a gradient is a view of something else")
            self.unseen.update(set(range(before, len(self.layouts))) - handed)
            self.events.append(macro)
            self.steps.extend(macro.steps)  # type: ignore[attr-defined]
            at = macro.end

    def _add(self, step: PathStep) -> None:
        self.events.append(step)
        self.steps.append(step)

    def _step(self, ins: Instruction) -> PathStep:
        operands = tuple([self.operand(i) for i in ins.inputs])
        given = {s.number: i for i, s in enumerate(ins.inputs) if s.__class__ is Slot}
        near = {s.storage.number for s in ins.reads}
        hows = set()
        outs = []
        for o in ins.outputs:
            if o.number in given:
                hows.add(GIVEN)
                outs.append(given[o.number])
            else:
                hows.add(VIEW if o.storage.number in near else FRESH)
                outs.append(self._new(o))
        if len(hows) > 1:
            raise CannotCapture(f"{ins.name} at {ins.line} gives a mixture of results")
        how = hows.pop() if hows else GIVEN
        look = look_of(ins.kernel, [s.array if s.__class__ is Slot else s for s in ins.inputs], (ins.inputs, ins.attrs))
        return PathStep(ins.kernel, ins.attrs, operands, how, tuple(outs), ins.several, class_of(ins), look, ins.line)

    # -- the program ----------------------------------------------------------------------------

    def _compile(self, first: Recorder, second: Recorder, others: Sequence[PathOfStretch]) -> None:
        live = self._live(first, second)
        self._share(others, set(live))
        code, arguments = Rewriting(self, second).program()
        self._note_changes(code)
        device = second.device()
        for slot in arguments:  # what the host makes anew for each call
            slot.storage.fed = slot.storage.device == "cpu" and device == "cuda"
        self._check_size(device, live)
        slots = [self.renamed.get(self.layouts[k].number, self.layouts[k]) for k in live]
        program = Program(code, arguments, slots, device)
        # Results have eager's bits. Who has not asked does not wait for a compiler, either: on a GPU a program is then
        # made of nothing but kernels that eager calls have run.
        own = device == "cpu" or self.patient
        program = optimise(program, exact_only=True, without=frozenset() if own else JOINING)
        super().__init__(changes_last(program) if device == "cpu" else program)
        self.returned = {k for k, i in self.inputs.items() if i in self.written}
        self.counted = [e for e in self.events if isinstance(e, Update)]
        ahead = planned(self)
        self.ahead: Ahead | OnHost | None = ahead  # what may begin before the place is reached
        lent = self.program.result_storages() - (set() if ahead is None else ahead.results)
        try:
            self.low = lower(
                self.program, lent, [], measured=False, early=True,
                ahead=0 if ahead is None else ahead.count,
                save=None if ahead is None else ahead.save,
            )  # fmt: skip
        except WrongKernel as error:
            raise CannotCapture(str(error)) from error
        if self.on_gpu and self.low.arena_bytes > _TRIED_BYTES:
            self.trial.skip()
        # number -> which result of the program, and its array where that is always the same
        self.results = {k: (i, self._lasting(k, i)) for i, k in enumerate(live)}
        for k, (_, array) in self.results.items():
            taken = [array]  # no name of ours may count when references are counted
            del array
            if taken[0] is not None:
                self.pools[k].lend(taken)
        self._note_pools()
        self._note_sent()
        if not self.on_gpu:
            self.ahead = on_host(self)
        self.arrivals = Arrivals(self.changed) if self.on_gpu else None

    def _note_sent(self) -> None:
        """Results that a GPU sends to the host early: number, the arrays that may stand for them, where they arrive."""
        early = {number: value for graph in getattr(self.low, "parts", ()) for number, value in graph.early.items()}
        self.sends = tuple([
            (k, self.pools[k].arrays, early[slot.number])
            for k, (i, _) in self.results.items()
            if k in self.pools and (slot := self.program.results[i]).number in early
        ])  # fmt: skip

    def sent(self, now: list[Any]) -> dict[int, Any]:
        """What the program has sent, by the ids of the arrays that were handed out; only those that a pool keeps alive."""
        return {id(a): value for k, arrays, value in self.sends for a in arrays if a is now[k]}

    def _note_changes(self, code: list[Instruction]) -> None:
        """Which memory from outside is changed, and by which event first."""
        fixed = {s.storage.number: s for ins in code for s in ins.reads if s.array is not None}
        self.roots = {id(root_array(s.array)) for s in fixed.values()}
        self.changed: dict[int, int] = {}
        event_of = [
            at
            for at, e in enumerate(self.events)
            for _ in ([e] if isinstance(e, PathStep) else e.steps)  # type: ignore[attr-defined]
        ]
        for at, ins in zip(event_of, code):
            for s in ins.writes:
                if s.storage.number in fixed:
                    root = id(root_array(fixed[s.storage.number].array))
                    self.changed.setdefault(root, at)

    def arrivals_of_inputs(self) -> dict[int, int] | None:
        """By storage, behind which event each input is known; None where no part of the program may run before its end."""
        if self.returned or not self.events:
            return None
        if not exposed.refilled.keys().isdisjoint(self.roots):
            return None  # arrays that are filled while the stretch goes on, and nobody knows when
        arguments = self.program.arguments
        return {arguments[i].storage.number: self.bound_at[k] for k, i in self.inputs.items()}

    def _lasting(self, k: int, i: int) -> Any:
        """The array that the program fills in every run, if it can stand for the result itself."""
        slot, want = self.program.results[i], self.layouts[k]
        same_layout = (slot.shape, slot.dtype, slot.strides) == (want.shape, want.dtype, want.strides)
        numbers = [s.storage.number for s in self.program.results]
        if not self.lends(i) or not same_layout or slot.storage.kind != MADE:
            return None
        if self.ahead is not None and slot.storage.number in self.ahead.results:
            return None
        if slot.offset or numbers.count(slot.storage.number) > 1:
            return None
        if not self.on_gpu:
            return self.low.array(slot)
        # On a GPU a joined kernel may lay its result out otherwise than the last of its parts.
        array = self.low.env[slot.number]
        return array if array.strides == want.strides else None

    def _live(self, first: Recorder, second: Recorder) -> list[int]:
        """Numbers of the arrays that were held by somebody at the end of either stretch."""
        names = {y: x for x, y in self.agreement.storages.items()}
        found: dict[int, int] = {}
        for number, slot in enumerate(self.layouts):
            s = slot.storage
            if s.kind != MADE or not (s.number in second.live or names.get(s.number) in first.live):
                continue
            if s.number in found:
                continue  # a view of it
            if number in self.unseen:
                raise CannotCapture("somebody holds what backward computes on its way")
            found[s.number] = number
        return list(found.values())

    def _share(self, others: Sequence[PathOfStretch], live: set[int]) -> None:
        """Where to take arrays from: those of a path that begins alike serve both, as far as it does."""
        self.common = {id(o): self._alike_until(o) for o in others}
        for o in others:
            o.common[id(self)] = self.common[id(o)]
        like = max(others, key=lambda o: self.common[id(o)], default=None)
        shared = 0 if like is None else self.common[id(like)]
        self.pools: dict[int, Pool] = {}
        self.views: dict[int, list[int]] = {}  # number of a fresh array -> those of its views
        homes: dict[int, int] = {}
        on_gpu = any(s.storage.device == "cuda" for s in self.layouts)
        chunks = small_addresses() if on_gpu else None
        for at, e in enumerate(self.events):
            steps = [e] if isinstance(e, PathStep) else e.steps  # type: ignore[attr-defined]
            for step in steps:
                for k in step.outs if step.how != GIVEN else ():
                    if k in self.unseen:
                        continue
                    storage = self.layouts[k].storage.number
                    if step.how == FRESH:
                        mine = like.pools.get(k) if like is not None and at < shared else None
                        slot = self.layouts[k]
                        unseen = k not in live and slot.storage.device == "cuda" and slot.nbytes
                        self.pools[k] = mine or Pool(slot, chunks if unseen else None)
                        if storage in homes:
                            raise CannotCapture("results of one kernel share memory")
                        homes[storage] = k
                    elif storage in homes:
                        self.views.setdefault(homes[storage], []).append(k)

    def _alike_until(self, other: PathOfStretch) -> int:
        """How many events at the beginning are the same."""
        for at, (a, b) in enumerate(zip(self.events, other.events)):
            if not isinstance(a, PathStep) or not isinstance(b, PathStep):
                if isinstance(a, PathStep) or isinstance(b, PathStep) or not a.is_same(b):
                    return at
                mine, theirs = a.steps, b.steps  # type: ignore[attr-defined]
                if len(mine) != len(theirs):
                    return at
                if not all(self._layouts_alike(other, x, y) for x, y in zip(mine, theirs)):
                    return at  # the same call for another batch size
                continue
            if a.kernel is not b.kernel or a.how != b.how or a.outs != b.outs:
                return at
            if not same(a.attrs, b.attrs) or len(a.operands) != len(b.operands):
                return at
            for (kind, v), (other_kind, w) in zip(a.operands, b.operands):
                if kind != other_kind or (v is not w if kind == FIXED else not same(v, w)):
                    return at
            if not self._layouts_alike(other, a, b):
                return at
        return min(len(self.events), len(other.events))

    def _layouts_alike(self, other: PathOfStretch, a: PathStep, b: PathStep) -> bool:
        """Whether the inputs that two kernels take and what they make have the same shapes, dtypes and strides."""
        pairs = [(v, w) for (kind, v), (_, w) in zip(a.operands, b.operands) if kind == BIND]
        if a.how != GIVEN:
            pairs += zip(a.outs, b.outs)
        return all(_alike(self.layouts[v], other.layouts[w]) for v, w in pairs)

    def _check_size(self, device: str, live: list[int]) -> None:
        unseen = [p.slot for k, p in self.pools.items() if k not in live]
        idle = sum([s.nbytes for s in unseen if not (self.patient and is_reserved(s))])
        if device == "cuda" and idle > (_IDLE_BYTES if self.patient else _UNASKED_BYTES):
            raise CannotCapture(f"its tensors take {idle >> 20} MB that a program would not need")

    def _let_go(self) -> None:
        """Forget what was only needed while the path was built."""
        for k in self.inputs:
            self.layouts[k].array = None
        del self.number
        self.renamed.clear()
        self.agreement.names.clear()

    def is_same(self, recorder: Recorder) -> bool:
        """Whether this is what a stretch did."""
        return AgreementOfStretches(self.recorder, recorder).why is None

    # -- run as a program -----------------------------------------------------------------------

    def is_settled(self, now: list[Any]) -> bool:
        """Whether nobody holds what the program does not hand out."""
        return native.settled(now, self.hidden)

    def busy(self, now: list[Any]) -> list[Any]:
        """Arrays that the program fills and that somebody holds since an earlier run."""
        return native.busy(now, self.lent)

    def _note_pools(self) -> None:
        """What is looked at after each stretch: arrays that nobody may hold, and the program's own."""
        self.hidden = tuple([
            (k, p.arrays, p.free, tuple(self.views.get(k, ())))
            for k, p in self.pools.items() if k not in self.results
        ])  # fmt: skip
        pools = [(k, self.pools[k], array) for k, (_, array) in self.results.items()]
        self.lent = tuple([(k, p.arrays, p.free) for k, p, a in pools if a is not None and p.lent is a])
        # places of inputs that are copied when the program runs; dense ones by one launch, whatever their order
        self.there = {
            v: self.low.arguments[i] for v, i in self.inputs.items() if self.layouts[v].storage.device != "cpu"
        }
        self.dense = all(a._c_contiguous or a._f_contiguous for a in self.there.values())
        self.into: Any = None  # the launch that brings all of them there, if there is one
        if len(self.there) == len(self.inputs) > 1:
            self.into = self.low.copies_into(list(self.there.values()))
        self.handed = tuple([(k, i) for k, (i, _) in self.results.items()])
        # results whose arrays may have no memory yet
        self.bare = {k for k in self.results if k in self.pools and self.pools[k].is_bare()}
        self.plans: dict[tuple, tuple] = {}  # how results are copied, by which these are

    def launch(self, now: list[Any], bound: dict[int, Any]) -> None:
        """Run the program, and bring results to the arrays that were handed out."""
        low, ahead = self.low, self.ahead
        if ahead is None or not ahead.started:
            self.fill(bound)
        else:
            ahead.started = False
            self.fill({v: a for v, a in bound.items() if v not in ahead.taken})
        kept = self.busy(now)
        if kept:
            kept = [(a, a.copy()) for a in kept]
        made = self.run(low, low.run)
        others = native.others(now, made, self.handed)
        if others:
            self._hand_over(others, now, made)
        for array, old in kept:
            copy(array, old)
        for k in self.returned:
            copy(bound[k], low.arguments[self.inputs[k]])
        self.runs += 1

    def fill(self, bound: dict[int, Any]) -> None:
        """Bring inputs that lie on a GPU to their places in the program."""
        there = self.there
        if self.into is not None and len(bound) == len(there):
            self.into(*[bound[v] for v in there])
            return
        given = [(there[v], a) for v, a in bound.items() if v in there]
        if len(given) > 1 and self.dense:
            self.low.copy_alike(given)
        else:
            for place, a in given:
                self.low.fill(place, a)

    def _hand_over(self, others: list[tuple[int, int]], now: list[Any], made: tuple) -> None:
        """Results to the arrays that were handed out in place of the program's own."""
        for k, _ in others:
            if k in self.bare:
                self.low.back(now[k])
        if not self.on_gpu or self.low.made is not made:
            for k, i in others:
                copy(now[k], made[i])
            return
        key = tuple(others)
        plan = self.plans.get(key)
        if plan is None:
            plan = self._plan(others, now, made)
            if len(self.plans) < _PLANS:
                self.plans[key] = plan
        launches, odd = plan
        for go, some, rest in launches:
            go(*[made[i] for _, i in some], *rest, *[now[k] for k, _ in some], *rest)
        for k, i in odd:
            copy(now[k], made[i])

    def _plan(self, others: list[tuple[int, int]], now: list[Any], made: tuple) -> tuple:
        """How some results of a graph, which always are the same arrays, are copied: by launches, and those that lie otherwise."""
        alike = [
            (k, i) for k, i in others if made[i].strides == now[k].strides and not (is_host(made[i]) or is_host(now[k]))
        ]
        odd = [pair for pair in others if pair not in alike]
        return self.low.copiers(alike, made), odd

    def copy_all(self, pairs: list[tuple[Any, Any]]) -> None:
        """Copy arrays to others (to, from) that are laid out alike, without gaps, by one launch where there are several."""
        if self.on_gpu and len(pairs) > 1:
            self.low.copy_alike(pairs)
        else:
            for target, source in pairs:
                run(KERNELS["copy_into"], target.__class__, (target, source), {}, alone=True)

    # -- run one by one -------------------------------------------------------------------------

    def run_steps(self, upto: int, now: list[Any]) -> int:
        """Compute the first events as an eager program would, into the arrays that were handed out."""
        if self.ahead is not None:
            self.ahead.take_back(self.low)
        ran = 0
        copies = list(now)
        for k, i in self.inputs.items():  # with the values that they had when a kernel read them
            if now[k] is not NOT_MET and is_host(now[k]) and k not in self.returned:
                copies[k] = self.low.arguments[i]
        for e in self.events[:upto]:
            for step in [e] if isinstance(e, PathStep) else e.steps:  # type: ignore[attr-defined]
                seen = [copies[v] is now[v] for kind, v in step.operands if kind in (KNOWN, BIND)]
                if step.how == VIEW and now[step.outs[0]] is not NOT_MET and all(seen):
                    continue  # was made when it was asked for
                ran += 1
                arrays = [copies[v] if kind in (KNOWN, BIND) else v for kind, v in step.operands]
                if step.kernel.name == "as_strided" and not all(seen):
                    out = strided_copy(arrays[0], step.attrs)
                else:
                    out = run(step.kernel, step.cls, arrays, step.attrs, alone=True)
                if step.how == GIVEN:
                    continue
                for k, o in zip(step.outs, out if step.several else (out,)):
                    if isinstance(o, np.generic):
                        o = np.asarray(o)
                    if now[k] is NOT_MET or step.how == VIEW:
                        copies[k] = o
                    else:
                        copy(now[k], o)
        return ran


def _views_of(numbers: set[int], steps: Sequence[PathStep]) -> dict[int, tuple[PathStep, int]]:
    """Results that are views of one whole result: the step that makes each, and of which."""
    return {
        s.outs[0]: (s, s.operands[0][1])
        for s in steps
        if s.how == VIEW and not s.several and s.outs[0] in numbers
        if len(s.operands) == 1 and s.operands[0][0] == KNOWN
    }


def _alike(a: Slot, b: Slot) -> bool:
    return (a.shape, a.dtype, a.strides, a.storage.device) == (b.shape, b.dtype, b.strides, b.storage.device)


class Rewriting:
    """Slots of a heard stretch, with the inputs as arguments of a program."""

    def __init__(self, path: PathOfStretch, recorder: Recorder) -> None:
        self.path, self.recorder = path, recorder
        self.renamed: dict[int, Slot] = {}
        path.renamed = self.renamed
        self.arguments: list[Slot] = []
        for k in path.inputs:
            s = path.layouts[k]
            low, span = s.extent()
            storage = Storage(len(recorder.storages) + 100_000 + k, ARGUMENT, span, f"input {k}")
            storage.device = s.storage.device
            made = Slot(s.number, storage, s.shape, s.dtype, s.strides, -low)
            self.renamed[s.number] = made
            self.arguments.append(made)

    def program(self) -> tuple[list[Instruction], list[Slot]]:
        fed = self.path.agreement.fed[1]
        for s in self.recorder.storages:
            if s.kind == STATE and id(s.array) in fed:
                s.fed = True
        return [self._instruction(ins) for ins in self.recorder.instructions], self.arguments

    def _instruction(self, ins: Instruction) -> Instruction:
        inputs = tuple([self._now(i) if i.__class__ is Slot else i for i in ins.inputs])
        moved = [(old, new) for old, new in zip(ins.inputs, inputs) if new is not old]
        for o in ins.outputs:
            if o.number in self.renamed or o.storage.kind == MADE:
                continue
            for old, new in moved:  # a view of an input
                if old.storage is o.storage:
                    at = new.offset + o.offset - old.offset
                    self.renamed[o.number] = Slot(o.number, new.storage, o.shape, o.dtype, o.strides, at)
                    break
        outputs = tuple([self._now(o) for o in ins.outputs])
        writes = tuple([self._now(w) for w in ins.writes])
        return ins.replaced(inputs=inputs, outputs=outputs, writes=writes)

    def _now(self, s: Slot) -> Slot:
        return self.renamed.get(s.number, s)


def strided_copy(a: Any, attrs: dict[str, Any]) -> Any:
    """What `as_strided` shows of an input, in the copy of it: that has its elements, not the memory around them."""
    root, item = root_array(a), a.itemsize
    at = data_pointer(a) - data_pointer(root) + (attrs["offset"] - attrs["home"][2]) * item
    steps = tuple([s * item for s in attrs["stride"]])
    return np.ndarray(attrs["size"], a.dtype, root.data, at, steps)


def copy(target: Any, source: Any) -> None:
    """The values of an array into another, which may have no memory yet."""
    if not is_host(target):
        from ...runtime.cuda.memory.reserved import back

        back(target)
    run(KERNELS["copy_into"], target.__class__, (target, source), {}, alone=True)
