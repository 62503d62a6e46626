"""Pointwise fusion: chains of pointwise instructions become one that passes over memory once."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime import joins
from ..joined.fused import FUSED, Step
from ..program.index import Index
from ..program.instructions import Instruction, Program
from ..program.slots import Slot


def fuse_pointwise(program: Program) -> Program:
    """Merge pointwise instructions whose value only the next one needs, as far as the device fuses them."""
    policy = joins.policy(program.device)
    fuses = policy.fusion()
    if fuses is None:
        return program
    groups = _Groups(program, policy)
    for at, ins in enumerate(program.instructions):
        if fuses(ins):
            groups.consider(at, ins)
    return program.with_instructions(groups.instructions()) if groups.members else program


class _Groups:
    """Which instructions go into which; a group stands where its last member stood."""

    def __init__(self, program: Program, policy: Any) -> None:
        self.code, self.policy = program.instructions, policy
        self.index = Index(program)
        self.members: dict[int, list[int]] = {}  # last member -> all, in order

    def consider(self, at: int, ins: Instruction) -> None:
        group = [at]
        for s in ins.reads:
            maker = self.index.maker.get(s.number)
            source = -1 if maker is None else self.index.place[maker]
            if source in self.members and source not in group and self._can_join(source, at, s):
                group = sorted({*self.members[source], *group})
        if not self._fits(group):
            group = [at]
        for source in group[:-1]:
            self.members.pop(source, None)
        self.members[at] = group

    def _can_join(self, source: int, at: int, s: Slot) -> bool:
        """The value is used here alone, in full size, and its inputs last until here."""
        ins, index = self.code[at], self.index
        if s.shape != ins.outputs[0].shape or index.is_seen(s, {source, at}):
            return False
        if index.reads[s.storage.number] != {at}:  # a view of it
            return False
        members = [self.code[m] for m in self.members[source]]
        kinds = {self.policy.width(o) for m in (*members, ins) for o in m.outputs} - {"b"}
        if len(kinds) > 1:
            return False
        return not any(index.is_written(r, source + 1, at) for m in members for r in m.reads)

    def _fits(self, group: list[int]) -> bool:
        if len(group) > self.policy.MOST_STEPS:
            return False
        return len(_outside([self.code[m] for m in group])) <= self.policy.MOST_INPUTS

    def instructions(self) -> list[Instruction]:
        last = {m: end for end, group in self.members.items() for m in group}
        found = []
        for at, ins in enumerate(self.code):
            if last.get(at, at) != at:
                continue
            group = self.members.get(at, [at])
            if len(group) > 1:
                ins = _merged([self.code[m] for m in group], self.policy)
            found.append(ins)
        return found


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, np.generic) else value


def _outside(group: list[Instruction]) -> list[Slot]:
    """The arrays a group reads from outside, once each."""
    inside = {s.number for ins in group for s in ins.outputs}
    found: dict[int, Slot] = {}
    for ins in group:
        for s in ins.reads:
            if s.number not in inside:
                found.setdefault(s.number, s)
    return list(found.values())


def _merged(group: list[Instruction], policy: Any) -> Instruction:
    inputs = _outside(group)
    place: dict[int, tuple[str, Any]] = {s.number: ("in", i) for i, s in enumerate(inputs)}
    steps = []
    for number, ins in enumerate(group):
        operands = tuple(
            [place[i.number] if i.__class__ is Slot else ("number", _plain(i)) for i in ins.inputs]
        )
        steps.append(Step(ins.name, operands, tuple(sorted(ins.attrs.items()))))
        place[ins.outputs[0].number] = ("step", number)
    out = group[-1].outputs[0]
    attrs: dict[str, Any] = {"steps": tuple(steps), "dtype": out.dtype.name}
    attrs["code"] = policy.packed(attrs["steps"])
    return Instruction(FUSED, tuple(inputs), attrs, (out,), (), group[-1].line)
