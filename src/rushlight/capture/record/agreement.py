"""Whether two recordings are the same program: kernels, options, operands; of calls also gradients left and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.spelling import home_of
from ..program.instructions import Instruction
from ..program.slots import ARGUMENT, CONSTANT, MADE, Slot
from ..state.kinds import equal
from .recorder import Recorder, same

if TYPE_CHECKING:
    from .recording import Recording

_OF_BASE = __name__.partition(".")[0] + ".base."  # dtypes, devices, sizes


class Agreement:
    """Two recordings side by side: `why` they are not the same program, or None, and which slots are which.

    A slot is one slot of the other recording, and so is the memory that kernels made. What an array from outside
    counts as is the rule of who asks, in `outside`.
    """

    def __init__(self, first: Recorder, second: Recorder) -> None:
        self.names: dict[int, int] = {}  # slot of the first -> slot of the second
        self.taken: set[int] = set()  # slots of the second
        self.storages: dict[int, int] = {}
        self.parted: Instruction | None = None  # the second's, if options or operands differ there
        self.why = self._compare(first, second)

    def outside(self, x: Slot, y: Slot) -> str | None:
        """What differs between two arrays that no kernel made, or None."""
        raise NotImplementedError

    def _compare(self, first: Recorder, second: Recorder) -> str | None:
        if len(first.macros) != len(second.macros):
            return "a backward or an update is not in both"
        at = 0
        for number, (a, b) in enumerate(zip(first.instructions, second.instructions)):
            where = f"{b.name} at {b.line}"
            while at < len(second.macros) and second.macros[at].start == number:
                if not self._macro(first, second, at):
                    return f"what {where} begins with differs each time"
                at += 1
            if a.kernel is not b.kernel:
                return f"{where} was {a.name} at {a.line} before"
            what = self._operands(a, b)
            if what is not None:
                self.parted = b
                return f"{what} of {where} differs each time"
            if a.several != b.several or len(a.outputs) != len(b.outputs):
                return f"what {where} answers differs each time"
            if any(self._paired(x, y) for x, y in zip(a.outputs, b.outputs)):
                return f"a result of {where} differs each time"
        if len(first.instructions) != len(second.instructions):
            return f"{len(second.instructions)} kernels where {len(first.instructions)} were before"
        for i in range(at, len(second.macros)):
            if not self._macro(first, second, i):
                return "the end differs each time"
        return None

    def _macro(self, first: Recorder, second: Recorder, at: int) -> bool:
        a, b = first.macros[at], second.macros[at]
        return (a.start, a.end) == (b.start, b.end) and b.agrees(a, lambda y, x: self.operand(x, y) is None)

    def _operands(self, a: Instruction, b: Instruction) -> str | None:
        if not same(a.attrs, b.attrs) or len(a.inputs) != len(b.inputs):
            return "an option"
        for x, y in zip(a.inputs, b.inputs):
            what = self.operand(x, y)
            if what is not None:
                return what
        return None

    def operand(self, x: Any, y: Any) -> str | None:
        """What differs between two operands, or None where they are the same one of their recordings."""
        if x.__class__ is not Slot or y.__class__ is not Slot:
            return None if x.__class__ is y.__class__ and same(x, y) else "a number"
        known = x.number in self.names
        what = self._paired(x, y)
        return what if known or what or x.storage.kind == MADE else self.outside(x, y)

    def _paired(self, x: Slot, y: Slot) -> str | None:
        if x.number in self.names:
            return None if self.names[x.number] == y.number else "an operand"
        if y.number in self.taken or (x.storage.kind == MADE) != (y.storage.kind == MADE):
            return "an operand"
        if (x.shape, x.dtype, x.strides) != (y.shape, y.dtype, y.strides):
            return "a shape"
        if x.storage.device != y.storage.device:
            return "a device"
        if x.storage.kind == MADE and not (self.same_storage(x, y) and x.offset == y.offset):
            return "an operand"
        self.names[x.number] = y.number
        self.taken.add(y.number)
        return None

    def same_storage(self, x: Slot, y: Slot) -> bool:
        """Whether the memory of two slots is one of each recording."""
        return self.storages.setdefault(x.storage.number, y.storage.number) == y.storage.number


class AgreementOfCalls(Agreement):
    """Of two recorded calls: arguments by their places, what lasts by identity, constants of Python by their values."""

    def __init__(self, first: Recording, second: Recording) -> None:
        self.values = first.recorder.first_values, second.recorder.first_values
        super().__init__(first.recorder, second.recorder)

    def outside(self, x: Slot, y: Slot) -> str | None:
        a, b = x.storage, y.storage
        if not self.same_storage(x, y) or (a.kind == ARGUMENT) != (b.kind == ARGUMENT):
            return "an operand"
        if a.fed or b.fed or a.array is b.array:
            return None
        if b.kind == CONSTANT:
            firsts = self.values[0].get(a.number), self.values[1].get(b.number)
            return None if same_values(*firsts) else "a value made by Python"
        return "memory"


def differs(mine: Recording, other: Recording) -> str | None:
    """Why two recorded calls are not the same program, or None."""
    why = AgreementOfCalls(other, mine).why
    if why is not None:
        return why
    if _grads(mine) != _grads(other):
        return "the gradients it leaves differ from call to call"
    if not _same_makers(mine.leaf_makers, other.leaf_makers):
        return "what it returns differs from call to call"
    return None


def _grads(of: Recording) -> dict[int, tuple]:
    """What became of gradients, by tensor: those that stayed as they were are left out."""
    return {k: m[:1] for k, m in zip(of.leaf_keys, of.exit_grads) if m[0] != "kept"}


def same_values(a: Any, b: Any) -> bool:
    """Whether two arrays have the same bits."""
    if a is None or b is None or a.shape != b.shape or a.dtype != b.dtype:
        return False
    if hasattr(a, "get"):  # CuPy
        a, b = a.get(), b.get()
    return a.tobytes() == b.tobytes()


def _same_makers(a: list[tuple], b: list[tuple]) -> bool:
    return len(a) == len(b) and all(map(_same_maker, a, b))


def _same_maker(a: tuple, b: tuple) -> bool:
    if a[0] != b[0]:
        return False
    if a[0] == "value":
        return equal(a[1], b[1]) or _same_constant(a[1], b[1])
    if a[0] == "view":
        (source, steps, quiet), (other, other_steps, other_quiet) = a[1], b[1]
        ends = source[0] == other[0] and source[1] is other[1]
        ops = [op for op, _ in steps] == [op for op, _ in other_steps]
        attrs = same([at for _, at in steps], [at for _, at in other_steps])
        return ends and ops and attrs and quiet == other_quiet
    if a[0] == "same":
        return a[1] is b[1]
    counters = [m[5] if len(m) > 5 else None for m in (a, b)]
    mine, theirs = [(c[0], c[1] if c[0] != "same" else id(c[1])) if c else c for c in counters]
    return same(a[1:2] + a[4:5], b[1:2] + b[4:5]) and mine == theirs


def _same_constant(a: Any, b: Any) -> bool:
    """Values of kinds that nobody can change, beside those of Python."""
    cls = type(a)
    if cls is not type(b):
        return False
    if isinstance(a, np.generic):
        return a.tobytes() == b.tobytes()
    if cls in (range, slice) or home_of(cls).startswith(_OF_BASE):
        return cls.__hash__ is not None and bool(a == b)
    return False
