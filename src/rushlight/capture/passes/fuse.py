"""Pointwise fusion: chains of pointwise instructions become one that passes over memory once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...runtime.cuda.code.expressions import expression
from ..joined import fused_cpu
from ..joined.fused import FUSED, Step
from ..lower.cpu_into import is_native
from ..program.instructions import Instruction, Program, readers, writers
from ..program.rewrite import once_made
from ..program.slots import Slot

_MOST_INPUTS = 8
_MOST_STEPS = 24
_WIDE = {"float16": "f", "bfloat16": "f", "float32": "f", "float64": "d", "bool": "b"}


def fuse_pointwise(program: Program, force: bool = False) -> Program:
    """Merge pointwise instructions whose value only the next one needs.

    On a GPU any chain of the table of expressions; on the CPU those that the native engine's
    interpreter takes. `force` merges as on a GPU, whatever the device.
    """
    if program.device == "cpu" and not force:
        if not is_native("fused"):
            return program
        takes = fused_cpu.takes
    else:
        takes = is_pointwise
    groups = _Groups(program, takes)
    for at in range(len(program)):
        groups.consider(at)
    code = fused_cpu.pack if takes is fused_cpu.takes else None
    return program.with_instructions(groups.instructions(code))


class _Groups:
    """Which instructions go into which; a group stands where its last member stood."""

    def __init__(self, program: Program, takes: Callable[[Instruction], bool]) -> None:
        self.program = program
        self.takes = takes
        self.made = once_made(program)
        self.read = readers(program.instructions)
        self.written = writers(program.instructions)
        self.results = program.result_storages()
        self.members: dict[int, list[int]] = {}  # last member -> all, in order
        self.maker: dict[int, int] = {}  # slot number -> instruction

    def consider(self, at: int) -> None:
        ins = self.program.instructions[at]
        for s in ins.outputs:
            self.maker[s.number] = at
        if not self.takes(ins):
            return
        group = [at]
        for s in ins.reads:
            source = self.maker.get(s.number)
            if source is None or source not in self.members or source in group:
                continue
            if self._can_join(source, at, s, ins):
                group = sorted({*self.members[source], *group})
        if self._fits(group):
            for source in group[:-1]:
                self.members.pop(source, None)
            self.members[at] = group
        else:
            self.members[at] = [at]

    def _can_join(self, source: int, at: int, s: Slot, ins: Instruction) -> bool:
        """The value is used here alone, in full size, and its inputs last until here."""
        out = ins.outputs[0]
        number = s.storage.number
        if number in self.results or self.made.get(number) != source or s.shape != out.shape:
            return False
        if any(reader != at for reader in self.read.get(number, ())):
            return False
        members = [self.program.instructions[m] for m in self.members[source]]
        kinds = {_width(o) for m in (*members, ins) for o in m.outputs} - {"b"}
        if len(kinds) > 1:
            return False
        inputs = {r.storage.number for m in members for r in m.reads}
        return not any(source < w < at for n in inputs for w in self.written.get(n, ()))

    def _fits(self, group: list[int]) -> bool:
        if len(group) > _MOST_STEPS:
            return False
        return len(_outside([self.program.instructions[m] for m in group])) <= _MOST_INPUTS

    def instructions(self, code: Callable[[tuple], bytes] | None) -> list[Instruction]:
        last = {m: end for end, group in self.members.items() for m in group}
        found = []
        for at, ins in enumerate(self.program.instructions):
            end = last.get(at, at)
            if end != at:
                continue
            group = self.members.get(at, [at])
            if len(group) > 1:
                ins = _merged([self.program.instructions[m] for m in group], code)
            found.append(ins)
        return found


def is_pointwise(ins: Instruction) -> bool:
    """Whether an instruction is in the table of expressions, for floats and one result."""
    e = expression(ins.name)
    if e is None or "f" not in e.text or e.out not in ("same", "bool") or ins.has_effect:
        return False
    if len(ins.outputs) != 1 or ins.is_view or len(ins.inputs) != len(e.inputs):
        return False
    if any(a.partition(":")[0] not in ins.attrs for a in e.attrs):
        return False
    if not all(i.__class__ is Slot or _is_number(i) for i in ins.inputs):
        return False
    slots = [*ins.reads, *ins.outputs]
    main = ins.inputs[e.main]
    if main.__class__ is Slot and _width(main) not in "fd":
        return False
    kinds = {_width(s) for s in slots}
    return kinds <= {"f", "b"} or kinds <= {"d", "b"}


def _is_number(value: Any) -> bool:
    """Python's numbers, and NumPy's: what a Python number becomes beside bfloat16."""
    return isinstance(value, (int, float, np.generic)) and not isinstance(value, complex)


def _width(s: Slot) -> str:
    return _WIDE.get(s.dtype.name, "?")


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


def _merged(group: list[Instruction], code: Callable[[tuple], bytes] | None) -> Instruction:
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
    attrs["code"] = b"" if code is None else code(attrs["steps"])
    return Instruction(FUSED, tuple(inputs), attrs, (out,), (), group[-1].line)
