"""A stretch made ready to be replayed: what to expect of each kernel, what to hand out, the program.

While Python runs, kernels are not run but compared with the expected ones, and arrays are handed out whose
values the program will fill in when the stretch is over. Those that nobody needs then stay empty.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ...base.device import device
from ...base.dtypes import dtype
from ...core.memory import root_array
from ...runtime.door import KERNELS, Kernel, run
from ..lower.choose import lower
from ..passes import again, optimise
from ..program.instructions import Instruction
from ..program.slots import ARGUMENT
from ..record.recorder import CannotCapture, Recorder, WrongKernel, extent, is_array, same, touches
from .books import Books, references
from .stretch import Pairing, Step, Stretch, alike

VALUE, FIXED, KNOWN, BIND = range(4)  # kinds of operands
MADE, VIEW, GIVEN = range(3)  # kinds of results


class Expected(NamedTuple):
    """One kernel of a segment; `operands` are (kind, which), `outs` numbers of arrays or operands."""

    kernel: Kernel
    attrs: dict[str, Any]
    operands: tuple[tuple[int, Any], ...]
    how: int
    outs: tuple[int, ...]
    source: int  # of a view: which operand it looks at
    several: bool
    plain: bool  # attributes that `==` can compare


class Segment:
    """What a node of the tracer's tree expects, and the program that computes it."""

    def __init__(
        self, first: Stretch, second: Stretch, others: Sequence[Segment], books: Books, new: list
    ) -> None:
        pairing = Pairing(first, second)
        if pairing.why is not None:
            raise CannotCapture(pairing.why)
        self.final = second.final
        self.children: dict[Any, Any] = {}  # by what the host read at the end
        self.number: dict[int, int] = {}  # of arrays, by id, while this is made
        self.layouts: list[tuple] = []  # of arrays, by number
        self.inputs: list[int] = []
        self.roots: dict[int, int] = {}  # root of an array made here, by id -> number
        self.steps = [self._expected(step, pairing) for step in second.steps]
        self.state_roots = {id(root_array(a)) for a in pairing.states.values()}
        self.kept_states = list(pairing.states.values())
        self.books, self.version = books, -1
        self._prepare(second, others, new)
        alive = [a or b for a, b in zip(first.alive, second.alive)]
        self._compile(second, pairing, alive)
        self.numbers = [j for k, g in self.groups.items() if k not in self.live for j in g]
        self.dead = [self.arrays[j] for j in self.numbers]
        self.uses = Counter([v for e in self.steps for kind, v in e.operands if kind == KNOWN])
        del self.number, self.roots

    # -- what is expected -----------------------------------------------------------------------

    def _new(self, a: Any) -> int:
        if id(a) not in self.number:
            self.number[id(a)] = len(self.number)
            self.layouts.append((a.__class__, a.shape, a.dtype, a.strides, a.base is None))
        return self.number[id(a)]

    def _expected(self, step: Step, pairing: Pairing) -> Expected:
        operands: list[tuple[int, Any]] = []
        for a in step.arrays:
            if not is_array(a):
                operands.append((VALUE, a))
            elif id(a) in self.number:
                operands.append((KNOWN, self.number[id(a)]))
            elif id(a) in pairing.states:
                operands.append((FIXED, a))
            else:
                self.inputs.append(self._new(a))
                operands.append((BIND, self.inputs[-1]))
        kinds = {self._kind(o, step) for o in step.outs}
        if len(kinds) > 1:
            raise CannotCapture(f"{step.kernel.name} at {step.line} gives a mixture of results")
        how, at = kinds.pop() if kinds else (GIVEN, -1)
        if how == GIVEN:
            outs = tuple([at for _ in step.outs])
        else:
            outs = tuple([self._new(o) for o in step.outs])
        if how == MADE:
            self._add_roots(step)
        return Expected(
            step.kernel,
            step.attrs,
            tuple(operands),
            how,
            outs,
            at,
            step.several,
            _plain(step.attrs),
        )

    def _kind(self, out: Any, step: Step) -> tuple[int, int]:
        """How a result comes about, and from which operand."""
        for at, a in enumerate(step.arrays):
            if a is out:
                return GIVEN, at
        root = root_array(out)
        for at, a in enumerate(step.arrays):
            if is_array(a) and root_array(a) is root:
                return VIEW, at
        return MADE, -1

    def _add_roots(self, step: Step) -> None:
        for o in step.outs:
            if id(root_array(o)) in self.roots:
                raise CannotCapture(f"results of {step.kernel.name} at {step.line} share memory")
            self.roots[id(root_array(o))] = self.number[id(o)]

    # -- what is handed out ---------------------------------------------------------------------

    def _prepare(self, second: Stretch, others: Sequence[Segment], new: list[Any]) -> None:
        """Arrays laid out as those that were heard: for results, and views of them.

        As far as another segment begins in the same way, its arrays serve both: so a trace can change
        from one to the other where they part.
        """
        self.common = {id(other): self._alike_until(other) for other in others}
        for other in others:
            other.common[id(self)] = self.common[id(other)]
        like = max(others, key=lambda o: self.common[id(o)], default=None)
        shared = 0 if like is None else self.common[id(like)]
        self.arrays: list[Any] = [None] * len(self.number)
        self.groups: dict[int, list[int]] = {}  # number of a made array -> its own and its views'
        self.held: dict[int, list[Any]] = {}  # the same as arrays, with the views of all relatives
        for at, (step, e) in enumerate(zip(second.steps, self.steps)):
            if e.how == GIVEN:
                continue
            if like is not None and at < shared:
                found = [like.arrays[k] for k in e.outs]
            elif e.how == MADE:
                found = [blank(o) for o in step.outs]
            else:
                found = self._views(step, e)
            for k, o, a in zip(e.outs, step.outs, found):
                self.arrays[k] = a
                root = self.roots.get(id(root_array(o)))
                if root is not None:
                    self.groups.setdefault(root, []).append(k)
                    if like is not None and at < shared:
                        self.held.setdefault(root, like.held[root])
                    else:
                        # A view of a view refers to the memory's owner, which need not be `a`.
                        owned = [a] if e.how == VIEW or a.base is None else [a, a.base]
                        self.held.setdefault(root, []).extend(owned)
                        new.extend(owned)

    def _views(self, step: Step, e: Expected) -> list[Any]:
        """Views of our own arrays; None for those of what comes from outside, which are made in each call."""
        kind, number = e.operands[e.source]
        if kind == BIND or (kind == KNOWN and self.arrays[number] is None):
            return [None for _ in e.outs]
        given = [
            self.arrays[v] if kind == KNOWN and self.arrays[v] is not None else a
            for (kind, v), a in zip(e.operands, step.arrays)
        ]
        made = run(e.kernel, given[e.source].__class__, given, e.attrs)
        found = list(made) if e.several else [made]
        if not all(map(alike, found, step.outs)):
            raise CannotCapture(f"a view by {e.kernel.name} at {step.line} differs")
        if id(root_array(step.outs[0])) in self.roots:
            return found
        # Whoever made that memory counts references to its owner and not to this view: if somebody holds the view, it
        # must be one that goes with him, so each call makes its own.
        return [None for _ in e.outs]

    def _alike_until(self, other: Segment) -> int:
        """How many steps at the beginning are the same."""
        for at, (a, b) in enumerate(zip(self.steps, other.steps)):
            if a.kernel is not b.kernel or a[3:] != b[3:] or not same(a.attrs, b.attrs):
                return at
            for (kind, v), (other_kind, w) in zip(a.operands, b.operands):
                if kind != other_kind or (v is not w if kind == FIXED else not same(v, w)):
                    return at
                if kind == BIND and self.layouts[v] != other.layouts[v]:
                    return at
            if a.how != GIVEN and any(self.layouts[k] != other.layouts[k] for k in a.outs):
                return at
        return min(len(self.steps), len(other.steps))

    def look_up(self) -> None:
        """Read the expected reference counts from the books again, where they have changed."""
        books = self.books
        if self.version != books.version:
            self.version = books.version
            plain = books.plain
            self.unheld = {k: [plain[id(a)] for a in group] for k, group in self.held.items()}
            # One more reference in the list of this call's arrays, and one for each use.
            self.settled = [
                plain[id(a)] + 1 + self.uses[j] for a, j in zip(self.dead, self.numbers)
            ]

    def is_free(self, k: int) -> bool:
        """Whether nobody holds a made array, or a view of it, from an earlier call."""
        return references(self.held[k]) == self.unheld[k]

    def is_settled(self) -> bool:
        """Whether nobody holds what the program will not compute."""
        return references(self.dead) == self.settled

    # -- the program ----------------------------------------------------------------------------

    def _compile(self, second: Stretch, pairing: Pairing, alive: Sequence[bool]) -> None:
        inputs = list(pairing.inputs.values())
        owned = dict.fromkeys(pairing.states, "from outside")
        recorder = Recorder(inputs, owned, [])
        for step in second.steps:
            given = recorder.inputs_of(step.arrays)
            out = step.outs if step.several else step.outs[0]
            recorder.note(step.kernel, step.arrays, step.attrs, given, out, step.line)
        outs = [o for step in second.steps for o in step.outs]
        lasting = {id(root_array(o)) for o, lives in zip(outs, alive) if lives}
        self.live: list[int] = []
        for step, e in zip(second.steps, self.steps):
            if e.how == MADE:
                for k, o in zip(e.outs, step.outs):
                    if id(root_array(o)) in lasting:
                        self.live.append(k)
                        _copy_out(recorder, o, self.arrays[k])
        self._check(recorder, inputs)
        program = recorder.program([])
        for (
            slot
        ) in program.arguments:  # what the host makes anew for each call, like learning rates
            slot.storage.fed = slot.storage.device == "cpu" and program.device == "cuda"
        self.places = {k: i for i, k in enumerate(self.inputs)}
        self.program = optimise(program)
        while True:
            try:
                self.low = lower(self.program, set(), [])
                break
            except WrongKernel as error:
                self.program = again(program, self.program, error)
        self.touched = {id(root_array(self.arrays[k])) for k in self.live} | self.state_roots

    def _check(self, recorder: Recorder, inputs: list[Any]) -> None:
        """Refuse memory that is changed and known under two names, and what the recorder refuses."""
        if recorder.trouble is not None:
            raise CannotCapture(recorder.trouble)
        written = {s.storage.number for ins in recorder.instructions for s in ins.writes}
        self.written = [
            i
            for i, s in enumerate(recorder.arguments)
            if s.storage.kind == ARGUMENT and s.storage.number in written
        ]
        self.writes = bool(written)
        roots = Counter([id(root_array(a)) for a in inputs])
        shared = self.written and max(roots.values()) > 1
        if shared or (self.writes and self.state_roots & set(roots)):
            raise CannotCapture("it changes memory that two of its tensors share")

    def takes(self, a: Any, bound: dict[int, Any]) -> bool:
        """Whether an array may be an input: its memory is nothing else's here."""
        if not self.writes:
            return True
        root = root_array(a)
        if id(root) in self.state_roots:
            return False
        if touches(a, root, (*self.kept_states, *bound.values())):
            return False
        return not self.written or all(root_array(b) is not root for b in bound.values())

    def takes_all(self, bound: dict[int, Any]) -> bool:
        """Whether inputs of a segment that began alike may be inputs here, too."""
        taken: dict[int, Any] = {}
        for v, a in bound.items():
            if not self.takes(a, taken):
                return False
            taken[v] = a
        return True

    def fits(self, stretch: Stretch) -> bool:
        """Whether this is what a stretch did."""
        if len(stretch.steps) != len(self.steps) or stretch.final != self.final:
            return False
        now: list[Any] = [None] * len(self.arrays)
        for step, e in zip(stretch.steps, self.steps):
            if e.kernel is not step.kernel or not same(e.attrs, step.attrs):
                return False
            for (kind, v), a in zip(e.operands, step.arrays):
                if kind == BIND:
                    now[v] = a
                elif kind == VALUE:
                    if not same(v, a):
                        return False
                elif a is not (v if kind == FIXED else now[v]):
                    return False
            if e.how != GIVEN:
                for k, o in zip(e.outs, step.outs):
                    now[k] = o
        return True


def _plain(attrs: dict[str, Any]) -> bool:
    """Whether equal attributes are the same: no floats, whose zeros differ, and no arrays."""
    values = [
        v for value in attrs.values() for v in (value if value.__class__ is tuple else (value,))
    ]
    return all(v is None or v.__class__ in (int, bool, str, device, dtype) for v in values)


def _copy_out(recorder: Recorder, out: Any, array: Any) -> None:
    """The last instructions of the program: each result is copied into the array that was handed out for it."""
    source = recorder.slot_of(out)
    recorder.owned[id(array)] = "handed out"
    target = recorder.slot_of(array)
    recorder.instructions.append(
        Instruction(KERNELS["copy_into"], (target, source), {}, (target,), (target,), "a result")
    )


def blank(a: Any) -> Any:
    """Memory of its own laid out as an array."""
    if extent(a) != (0, a.nbytes):
        raise CannotCapture("a result has gaps in its memory")
    if a.__class__ is np.ndarray:
        made = np.empty_like(a, subok=False)
        if made.strides != a.strides:  # a dimension of one element may have any stride
            memory = np.empty(max(a.nbytes, 1), np.uint8)
            made = np.ndarray(a.shape, a.dtype, memory, 0, a.strides)
    else:
        import cupy

        made = cupy.ndarray(a.shape, a.dtype, cupy.cuda.alloc(max(a.nbytes, 1)), a.strides)
    return made[...] if a.base is not None and made.base is None else made
