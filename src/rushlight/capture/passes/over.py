"""Results written over an array of their kind that nobody reads any more: what is large is there once."""

from __future__ import annotations

from ...runtime import joins
from ..joined.over import OVER
from ..program.instructions import Instruction, Program
from ..program.rewrite import Renaming, once_made
from ..program.slots import MADE, Slot


def write_over(program: Program, force: bool = False) -> Program:
    """A derivative takes the place of what it was derived by, at its last use; `force` on any device."""
    wanted = [ins for ins in program.instructions if ins.name in OVER]
    if not wanted or program.hand_over is not None:  # a backward() may come twice
        return program
    once, results = once_made(program), program.result_storages()
    renaming, instructions = Renaming(), list(program.instructions)
    for ins in wanted:
        kernel, at = OVER[ins.name]
        x, out, place = ins.inputs[at], ins.outputs[0], instructions.index(ins)
        made = Instruction(kernel, ins.inputs, ins.attrs, (), (x,), ins.line)
        if not _is_alike(x, out) or not all(s.storage.number in once for s in (x, out)):
            continue
        if {x.storage.number, out.storage.number} & results or _is_used(program, x, place):
            continue
        if force or joins.takes(program.device, made, [ins]):
            instructions[place] = made
            renaming.add(out, x)
            del once[x.storage.number]  # and nothing else over it
    return renaming.program(program, instructions) if renaming.slots else program


def _is_alike(x: Slot, out: Slot) -> bool:
    """Whether both are all of their memory, in the same order."""
    same = (x.shape, x.dtype, x.strides) == (out.shape, out.dtype, out.strides)
    return same and all(
        s.storage.kind == MADE and s.offset == 0 and s.nbytes == s.storage.nbytes and s.dense
        for s in (x, out)
    )


def _is_used(program: Program, x: Slot, place: int) -> bool:
    """Whether anything behind a place looks at the memory of a slot, or more than one input here does."""
    here = [s for s in program.instructions[place].reads if s.storage is x.storage]
    return len(here) > 1 or any(
        s.storage.number == x.storage.number
        for ins in program.instructions[place + 1 :]
        for s in (*ins.reads, *ins.outputs)
    )
