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
    index = Index.of(program)
    groups: dict[Instruction, list[Instruction]] = {}  # by the last member, where they will stand
    for ins in program.instructions:
        if fuses(ins) and (not program.exact or policy.keeps_bits(ins)):
            group = _grown(ins, groups, index, policy)
            for member in group[:-1]:
                groups.pop(member, None)
            groups[ins] = group
    for last, group in groups.items():
        if len(group) > 1:
            inputs = policy.laid_out(read_outside(group), group[-1].outputs[0])
            if inputs is not None:
                merged = _merged(group, inputs, policy, program.exact)
                index.replace(group, {index.place[last]: merged})
    return index.program_now()


def _grown(ins: Instruction, groups: dict, index: Index, policy: Any) -> list[Instruction]:
    """An instruction and the groups that it can be the end of, in order; alone where they are too many together."""
    members = {ins}
    for s in ins.reads:
        maker = index.maker.get(s.number)
        if maker in groups and _can_join(groups[maker], ins, s, index, policy):
            members.update(groups[maker])
    group = sorted(members, key=index.place.__getitem__)
    fits = len(group) <= policy.MOST_STEPS and len(read_outside(group)) <= policy.MOST_INPUTS
    return group if fits else [ins]


def _can_join(group: list[Instruction], ins: Instruction, s: Slot, index: Index, policy: Any) -> bool:
    """The value is used here alone, in full size, and its inputs last until here."""
    source, at = index.place[group[-1]], index.place[ins]
    if s.shape != ins.outputs[0].shape or index.is_seen(s, {source, at}):
        return False
    if index.reads[s.storage.number] != {at}:  # a view of it
        return False
    kinds = {policy.width(o) for m in (*group, ins) for o in m.outputs} - {"b"}
    written = any(index.is_written(r, source + 1, at) for m in group for r in m.reads)
    return len(kinds) <= 1 and not written


def read_outside(group: list[Instruction]) -> list[Slot]:
    """The arrays a group reads from outside, once each."""
    inside = {s.number for ins in group for s in ins.outputs}
    return list({s.number: s for ins in group for s in ins.reads if s.number not in inside}.values())


def steps_of(group: list[Instruction], inputs: list[Slot]) -> tuple[Step, ...]:
    """A group's instructions as steps over its inputs."""
    place: dict[int, tuple[str, Any]] = {s.number: ("in", i) for i, s in enumerate(inputs)}
    steps = []
    for number, ins in enumerate(group):
        operands = [place[i.number] if i.__class__ is Slot else ("number", _plain(i)) for i in ins.inputs]
        steps.append(Step(ins.name, tuple(operands), tuple(sorted(ins.attrs.items()))))
        place[ins.outputs[0].number] = ("step", number)
    return tuple(steps)


def _merged(group: list[Instruction], inputs: list[Slot], policy: Any, exact: bool) -> Instruction:
    """The instruction that computes a group, step by step."""
    out = group[-1].outputs[0]
    steps = steps_of(group, inputs)
    attrs = {"steps": steps, "dtype": out.dtype.name, "code": policy.packed(steps)}
    if exact and policy.ROUNDS_ONCE:
        attrs["kept"] = tuple([ins.outputs[0].dtype.name for ins in group])
    return Instruction(FUSED, tuple(inputs), attrs, (out,), (), group[-1].line)


def _plain(value: Any) -> Any:
    return float(value) if isinstance(value, np.generic) else value
