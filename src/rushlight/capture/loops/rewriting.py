"""A heard stretch as a program: what came from outside becomes an argument, and so do views of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..program.instructions import Instruction
from ..program.slots import ARGUMENT, MADE, STATE, Slot, Storage
from .ear import Ear

if TYPE_CHECKING:
    from .path import Path


class Rewriting:
    """Slots of a heard stretch, with the inputs as arguments of a program."""

    def __init__(self, path: Path, ear: Ear) -> None:
        self.path, self.ear = path, ear
        self.renamed: dict[int, Slot] = {}
        path.renamed = self.renamed
        self.arguments: list[Slot] = []
        for k in path.inputs:
            s = path.layouts[k]
            low, span = s.extent()
            storage = Storage(len(ear.storages) + 100_000 + k, ARGUMENT, span, f"input {k}")
            storage.device = s.storage.device
            made = Slot(s.number, storage, s.shape, s.dtype, s.strides, -low)
            self.renamed[s.number] = made
            self.arguments.append(made)

    def program(self) -> tuple[list[Instruction], list[Slot]]:
        fed = {id(a) for m in self.ear.macros for a in getattr(m, "fed", ())}
        for s in self.ear.storages:
            if s.kind == STATE and id(s.array) in fed:
                s.fed = True
        return [self._instruction(ins) for ins in self.ear.instructions], self.arguments

    def _instruction(self, ins: Instruction) -> Instruction:
        inputs = tuple([self._now(i) if i.__class__ is Slot else i for i in ins.inputs])
        moved = [(old, new) for old, new in zip(ins.inputs, inputs) if new is not old]
        for o in ins.outputs:
            if o.number in self.renamed or o.storage.kind == MADE:
                continue
            for old, new in moved:  # a view of an input
                if old.storage is o.storage:
                    at = new.offset + o.offset - old.offset
                    self.renamed[o.number] = Slot(
                        o.number, new.storage, o.shape, o.dtype, o.strides, at
                    )
                    break
        outputs = tuple([self._now(o) for o in ins.outputs])
        writes = tuple([self._now(w) for w in ins.writes])
        return ins.replaced(inputs=inputs, outputs=outputs, writes=writes)

    def _now(self, s: Slot) -> Slot:
        return self.renamed.get(s.number, s)
