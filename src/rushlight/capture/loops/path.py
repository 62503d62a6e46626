"""A path: a stretch that was heard twice alike, as steps to compare and a program that computes them."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy as shallow
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from ...core.memory import root_array
from ...runtime.door import KERNELS, Kernel, run
from ..lower.choose import lower
from ..passes import again, optimise
from ..program.instructions import Instruction, Program
from ..program.slots import MADE, Slot
from ..record.recorder import CannotCapture, WrongKernel, same
from .ear import Ear, is_host
from .fragile import look_of
from .macros import Macro
from .pairing import Pairing
from .pool import Pool, array_type
from .rewriting import Rewriting
from .updates import Update

KNOWN, FIXED, VALUE, BIND = range(4)  # kinds of operands
FRESH, VIEW, GIVEN = range(3)  # kinds of results
_IDLE_BYTES = 64 << 20  # of arrays on a GPU that are only handed out


class Step(NamedTuple):
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


class Path:
    """Steps, what they hand out, and the program."""

    def __init__(self, first: Ear, second: Ear, others: Sequence[Path]) -> None:
        pairing = Pairing(first, second)
        if pairing.why is not None:
            raise CannotCapture(pairing.why)
        self.number: dict[int, int] = {}  # slot's number -> ours
        self.layouts: list[Slot] = []
        self.renamed: dict[int, Slot] = {}  # slots that have another number in the program
        self.inputs: dict[int, int] = {}  # our number -> which argument of the program
        self.ear, self.pairing = second, pairing
        self.events: list[Step | Macro] = []
        self.steps: list[Step] = []  # all kernels, those of macros included
        self.inside: set[int] = set()  # numbers that only kernels of macros know
        self.launches = self.misses = 0
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
        if value.number in self.pairing.inputs:
            number = self._new(value)
            self.inputs[number] = len(self.inputs)
            return BIND, number
        if value.storage.kind == MADE:
            raise CannotCapture("an array appears from nowhere")
        return FIXED, value.array

    def _read(self, ear: Ear) -> None:
        macros = {m.start: m for m in ear.macros}
        at, code = 0, ear.instructions
        while at < len(code) or at in macros:
            macro = macros.pop(at, None)
            if macro is None:
                self._add(self._step(code[at]))
                at += 1
                continue
            macro = shallow(macro)  # the ear's own is compared with stretches to come
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
            if not handed <= fresh:
                raise CannotCapture("a gradient is a view of something else")
            self.inside.update(set(range(before, len(self.layouts))) - handed)
            self.events.append(macro)
            self.steps.extend(macro.steps)  # type: ignore[attr-defined]
            at = macro.end

    def _add(self, step: Step) -> None:
        self.events.append(step)
        self.steps.append(step)

    def _step(self, ins: Instruction) -> Step:
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
        arrays = [s.array for s in ins.reads if s.array is not None]
        look = None
        found = look_of(ins.kernel, [s.array if s.__class__ is Slot else s for s in ins.inputs])
        if found is not None:
            look = found
        return Step(
            ins.kernel, ins.attrs, operands, how, tuple(outs), ins.several,
            self._class(ins, arrays), look, ins.line,
        )  # fmt: skip

    def _class(self, ins: Instruction, arrays: list[Any]) -> type:
        """The device's array type, as an eager call would find it."""
        slots = [*ins.outputs, *reversed(ins.reads)]
        return array_type(slots[0].storage.device if slots else "cpu")

    # -- the program ----------------------------------------------------------------------------

    def _compile(self, first: Ear, second: Ear, others: Sequence[Path]) -> None:
        live = self._live(first, second)
        self._share(others)
        code, arguments = Rewriting(self, second).program()
        self._note_changes(code, arguments)
        device = self._device(second)
        for slot in arguments:  # what the host makes anew for each call
            slot.storage.fed = slot.storage.device == "cpu" and device == "cuda"
        self._check_size(device, live)
        slots = [self.renamed.get(self.layouts[k].number, self.layouts[k]) for k in live]
        program = Program(code, arguments, slots, device)
        self.program = optimise(program)
        while True:
            try:
                lent = {s.storage.number for s in self.program.results}
                self.low = lower(self.program, lent, [])
                break
            except WrongKernel as error:
                self.program = again(program, self.program, error)
        # number -> which result of the program, and its array where that is always the same
        self.results = {k: (i, self._lasting(k, i)) for i, k in enumerate(live)}
        for k, (_, array) in self.results.items():
            if array is not None:
                self.pools[k].lend(array)
            del array

    def _note_changes(self, code: list[Instruction], arguments: list[Slot]) -> None:
        """Which memory from outside is changed, and by which event first."""
        written = {s.storage.number for ins in code for s in ins.writes}
        # Inputs that are changed: the program changes its own copy, which goes back afterwards.
        self.returned = {k for k, s in zip(self.inputs, arguments) if s.storage.number in written}
        fixed = {s.storage.number: s for ins in code for s in ins.reads if s.array is not None}
        self.roots = {id(root_array(s.array)) for s in fixed.values()}
        self.changed: dict[int, int] = {}
        event_of = [
            at
            for at, e in enumerate(self.events)
            for _ in ([e] if isinstance(e, Step) else e.steps)  # type: ignore[attr-defined]
        ]
        for at, ins in zip(event_of, code):
            for s in ins.writes:
                if s.storage.number in fixed:
                    root = id(root_array(fixed[s.storage.number].array))
                    self.changed.setdefault(root, at)

    def _lasting(self, k: int, i: int) -> Any:
        """The array that the program fills in every run, if it can stand for the result itself."""
        slot, want = self.program.results[i], self.layouts[k]
        same_layout = (slot.shape, slot.dtype, slot.strides) == (
            want.shape,
            want.dtype,
            want.strides,
        )
        numbers = [s.storage.number for s in self.program.results]
        if self.low.fresh[i] or not same_layout or slot.storage.kind != MADE:
            return None
        if slot.offset or numbers.count(slot.storage.number) > 1:
            return None
        return self.low.array(slot) if self.program.device == "cpu" else self.low.env[slot.number]

    def _live(self, first: Ear, second: Ear) -> list[int]:
        """Numbers of the arrays that were held by somebody at the end of either stretch."""
        names = {y: x for x, y in self.pairing.storages.items()}
        found: dict[int, int] = {}
        for number, slot in enumerate(self.layouts):
            s = slot.storage
            if s.kind != MADE or not (s.number in second.live or names.get(s.number) in first.live):
                continue
            if s.number in found:
                continue  # a view of it
            if number in self.inside:
                raise CannotCapture("somebody holds what backward computes on its way")
            found[s.number] = number
        return list(found.values())

    def _share(self, others: Sequence[Path]) -> None:
        """Where to take arrays from: those of a path that begins alike serve both, as far as it does."""
        self.common = {id(o): self._alike_until(o) for o in others}
        for o in others:
            o.common[id(self)] = self.common[id(o)]
        like = max(others, key=lambda o: self.common[id(o)], default=None)
        shared = 0 if like is None else self.common[id(like)]
        self.pools: dict[int, Pool] = {}
        self.views: dict[int, list[int]] = {}  # number of a fresh array -> those of its views
        homes: dict[int, int] = {}
        for at, e in enumerate(self.events):
            steps = [e] if isinstance(e, Step) else e.steps  # type: ignore[attr-defined]
            for step in steps:
                for k in step.outs if step.how != GIVEN else ():
                    if k in self.inside:
                        continue
                    storage = self.layouts[k].storage.number
                    if step.how == FRESH:
                        mine = like.pools.get(k) if like is not None and at < shared else None
                        self.pools[k] = mine or Pool(self.layouts[k])
                        if storage in homes:
                            raise CannotCapture("results of one kernel share memory")
                        homes[storage] = k
                    elif storage in homes:
                        self.views.setdefault(homes[storage], []).append(k)

    def _alike_until(self, other: Path) -> int:
        """How many events at the beginning are the same."""
        for at, (a, b) in enumerate(zip(self.events, other.events)):
            if not isinstance(a, Step) or not isinstance(b, Step):
                if isinstance(a, Step) or isinstance(b, Step) or not a.is_same(b):
                    return at
                mine, theirs = a.steps, b.steps  # type: ignore[attr-defined]
                if len(mine) != len(theirs):
                    return at
                continue
            if a.kernel is not b.kernel or a.how != b.how or a.outs != b.outs:
                return at
            if not same(a.attrs, b.attrs) or len(a.operands) != len(b.operands):
                return at
            for (kind, v), (other_kind, w) in zip(a.operands, b.operands):
                if kind != other_kind or (v is not w if kind == FIXED else not same(v, w)):
                    return at
                if kind == BIND and not _alike(self.layouts[v], other.layouts[w]):
                    return at
            if a.how != GIVEN and not all(
                _alike(self.layouts[k], other.layouts[k]) for k in a.outs
            ):
                return at
        return min(len(self.events), len(other.events))

    def _device(self, ear: Ear) -> str:
        return "cuda" if any(s.device == "cuda" for s in ear.storages) else "cpu"

    def _check_size(self, device: str, live: list[int]) -> None:
        idle = sum(p.slot.nbytes for k, p in self.pools.items() if k not in live)
        if device == "cuda" and idle > _IDLE_BYTES:
            raise CannotCapture(f"its tensors take {idle >> 20} MB that a program would not need")

    def _let_go(self) -> None:
        """Forget what was only needed while the path was built."""
        for k in self.inputs:
            self.layouts[k].array = None
        del self.number
        self.renamed.clear()
        self.pairing.names.clear()

    def is_same(self, ear: Ear) -> bool:
        """Whether this is what a stretch did."""
        pairing = Pairing(self.ear, ear)
        return pairing.why is None

    # -- run as a program -----------------------------------------------------------------------

    def is_settled(self, now: list[Any]) -> bool:
        """Whether nobody holds what the program does not hand out."""
        for k, pool in self.pools.items():
            if k not in self.results:
                views = self.views.get(k, ())
                if pool.is_held(now[k], 1 + len(views)):
                    return False
                if any(getrefcount(now[v]) != _ONLY_NOW for v in views):
                    return False
        return True

    def launch(self, now: list[Any], bound: dict[int, Any]) -> None:
        """Run the program, and bring results to the arrays that were handed out."""
        low = self.low
        for v, a in bound.items():
            if not is_host(a):
                low.fill(low.arguments[self.inputs[v]], a)
        kept = []
        for k, (_, array) in self.results.items():
            if array is not None and now[k] is not array and self.pools[k].lent is array:
                if self.pools[k].is_held(array, 2):  # handed out before, and still looked at
                    kept.append((array, array.copy()))
        low.ran.clear()
        try:
            made = low.run()
        except BaseException:
            for e in self.events:
                if isinstance(e, Update):
                    e.take_back(low.ran)
            raise
        for k, (i, _) in self.results.items():
            if now[k] is not made[i]:
                copy(now[k], made[i])
        for array, old in kept:
            copy(array, old)
        for k in self.returned:
            copy(bound[k], low.arguments[self.inputs[k]])
        self.launches += 1

    # -- run one by one -------------------------------------------------------------------------

    def run_steps(self, upto: int, now: list[Any]) -> int:
        """Compute the first events as an eager program would, into the arrays that were handed out."""
        ran = 0
        copies = list(now)
        for k, i in self.inputs.items():  # with the values that they had when a kernel read them
            if now[k] is not None and is_host(now[k]) and k not in self.returned:
                copies[k] = self.low.arguments[i]
        for e in self.events[:upto]:
            for step in [e] if isinstance(e, Step) else e.steps:  # type: ignore[attr-defined]
                seen = [copies[v] is now[v] for kind, v in step.operands if kind in (KNOWN, BIND)]
                if step.how == VIEW and now[step.outs[0]] is not None and all(seen):
                    continue  # was made when it was asked for
                ran += 1
                arrays = [copies[v] if kind in (KNOWN, BIND) else v for kind, v in step.operands]
                out = run(step.kernel, step.cls, arrays, step.attrs, alone=True)
                if step.how == GIVEN:
                    continue
                for k, o in zip(step.outs, out if step.several else (out,)):
                    if isinstance(o, np.generic):
                        o = np.asarray(o)
                    if now[k] is None or step.how == VIEW:
                        copies[k] = o
                    else:
                        copy(now[k], o)
        return ran


def _alike(a: Slot, b: Slot) -> bool:
    return (a.shape, a.dtype, a.strides, a.storage.device) == (
        b.shape, b.dtype, b.strides, b.storage.device,
    )  # fmt: skip


def copy(target: Any, source: Any) -> None:
    """The values of an array into another."""
    run(KERNELS["copy_into"], target.__class__, (target, source), {}, alone=True)


def _only_now() -> int:
    now = [object()]
    return getrefcount(now[0])


_ONLY_NOW = _only_now()  # references to what only a list holds
