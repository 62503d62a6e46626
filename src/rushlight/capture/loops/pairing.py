"""Two heard stretches side by side: why they differ, or which arrays stay and which are new each time."""

from __future__ import annotations

from typing import Any

from ...core.exposed import exposed
from ..program.slots import MADE, Slot
from ..record.recorder import same
from .ear import Ear, changes_nothing


class Pairing:
    """`inputs` are numbers of the second's slots that come from outside and are others each time."""

    def __init__(self, first: Ear, second: Ear) -> None:
        self.names: dict[int, int] = {}  # slot of the first -> slot of the second
        self.taken: set[int] = set()
        self.storages: dict[int, int] = {}
        self.inputs: set[int] = set()
        self.fed = _fed(first), _fed(second)
        self.loose: tuple[str, str] | None = (
            None  # a kernel that only prepares what comes from outside
        )
        self.why = self._compare(first, second)

    def _compare(self, first: Ear, second: Ear) -> str | None:
        if len(first.macros) != len(second.macros):
            return "a backward or an update is not in both"
        at = 0
        for number, (a, b) in enumerate(zip(first.instructions, second.instructions)):
            where = f"{b.name} at {b.line}"
            while at < len(second.macros) and second.macros[at].start == number:
                if not self._macro(first, second, at):
                    return f"what {where} begins with differs from time to time"
                at += 1
            if a.kernel is not b.kernel:
                return f"{where} was {a.name} at {a.line} before"
            if not same(a.attrs, b.attrs) or len(a.inputs) != len(b.inputs):
                if changes_nothing(b.kernel, b.attrs) and all(
                    s.storage.kind != MADE for s in b.reads
                ):
                    self.loose = b.name, b.line
                return f"options of {where} differ from time to time"
            if not all(map(self.operand, a.inputs, b.inputs)):
                if changes_nothing(b.kernel, b.attrs) and all(
                    s.storage.kind != MADE for s in b.reads
                ):
                    self.loose = b.name, b.line
                return f"an operand of {where} differs from time to time"
            if a.several != b.several or len(a.outputs) != len(b.outputs):
                return f"what {where} answers differs from time to time"
            if not all(map(self._named, a.outputs, b.outputs)):
                return f"a result of {where} differs from time to time"
        if len(first.instructions) != len(second.instructions):
            return f"{len(second.instructions)} kernels where {len(first.instructions)} were before"
        for i in range(at, len(second.macros)):
            if not self._macro(first, second, i):
                return "the end differs from time to time"
        return None

    def _macro(self, first: Ear, second: Ear, at: int) -> bool:
        a, b = first.macros[at], second.macros[at]
        return (a.start, a.end) == (b.start, b.end) and b.agrees(a, lambda y, x: self.operand(x, y))

    def operand(self, x: Any, y: Any) -> bool:
        """Whether two operands are the same one of their stretches."""
        if x.__class__ is not Slot or y.__class__ is not Slot:
            return x.__class__ is y.__class__ and same(x, y)
        if x.number in self.names:
            return self.names[x.number] == y.number
        if not self._named(x, y):
            return False
        if y.storage.kind != MADE and (x.array is not y.array or self._is_shown(y)):
            if id(x.array) in self.fed[0] or id(y.array) in self.fed[1]:
                return id(x.array) in self.fed[0] and id(y.array) in self.fed[1]
            self.inputs.add(y.number)
        return True

    def _is_shown(self, y: Slot) -> bool:
        """Whether the user can change the values unseen (by a NumPy array): then they are copied when a kernel reads them."""
        return id(y.storage.array) in exposed.roots

    def _named(self, x: Slot, y: Slot) -> bool:
        if x.number in self.names:
            return self.names[x.number] == y.number
        if y.number in self.taken or x.storage.kind != y.storage.kind:
            return False
        if (x.shape, x.dtype, x.strides) != (y.shape, y.dtype, y.strides):
            return False
        if x.storage.device != y.storage.device:
            return False
        if x.storage.kind == MADE:
            pair = self.storages.setdefault(x.storage.number, y.storage.number)
            if pair != y.storage.number or x.offset != y.offset:
                return False
        self.names[x.number] = y.number
        self.taken.add(y.number)
        return True


def _fed(ear: Ear) -> set[int]:
    """Arrays of numbers that the host brings up to date itself."""
    return {id(a) for m in ear.macros for a in getattr(m, "fed", ())}
