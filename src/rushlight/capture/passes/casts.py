"""Casts of many small arrays as one kernel: autocast's weights in front, their gradients at the end."""

from __future__ import annotations

from collections.abc import Callable

from ..joined.casts import CASTS
from ..program.instructions import Instruction, Program, readers, writers
from ..program.rewrite import once_made
from ..program.slots import MADE, Slot

_FEWEST = 4  # casts that are worth moving
_LARGEST = 64 << 20  # bytes; a larger array keeps the GPU busy by itself
_FLOATS = frozenset(("float32", "float16", "bfloat16", "float64"))


def join_casts(program: Program, force: bool = False) -> Program:
    """Casts of lasting arrays go to the first of them, casts nobody waits for to the last; `force`
    on any device."""
    if program.device != "cuda" and not force:
        return program
    return _gather(_gather(program, _is_early, False), _is_late, True)


def _gather(
    program: Program, fits: Callable[[Instruction, int, int, dict, dict], bool], at_the_end: bool
) -> Program:
    code: list[Instruction | None] = list(program.instructions)
    once, written = once_made(program), writers(program.instructions)
    read = readers(program.instructions)
    for kind in {_kind(ins) for ins in program.instructions if _is_cast(ins)}:
        places = [
            at for at, ins in enumerate(program.instructions)
            if _is_cast(ins) and _kind(ins) == kind
        ]  # fmt: skip
        group = [
            at for at in places
            if program.instructions[at].outputs[0].storage.number in once
            and fits(program.instructions[at], at, places[-1], written, read)
        ]  # fmt: skip
        if len(group) < _FEWEST:
            continue
        casts = [program.instructions[at] for at in group]
        inputs = tuple([ins.inputs[0] for ins in casts])
        outputs = tuple([ins.outputs[0] for ins in casts])
        for at in group:
            code[at] = None
        place = group[-1] if at_the_end else group[0]
        code[place] = Instruction(CASTS, inputs, casts[0].attrs, outputs, (), casts[0].line, True)
    return program.with_instructions([ins for ins in code if ins is not None])


def _is_cast(ins: Instruction) -> bool:
    """A cast between floats of an array without gaps, which keeps its order."""
    if ins.name != "cast" or len(ins.reads) != 1 or ins.is_view:
        return False
    x, y = ins.inputs[0], ins.outputs[0]
    if x.dtype.name not in _FLOATS or y.dtype.name not in _FLOATS or y.nbytes > _LARGEST:
        return False
    steps = [s // x.dtype.itemsize for s in x.strides]
    same = steps == [s // y.dtype.itemsize for s in y.strides]
    return same and x.size > 0 and x.extent() == (0, x.nbytes)


def _kind(ins: Instruction) -> tuple[str, str]:
    return ins.inputs[0].dtype.name, ins.outputs[0].dtype.name


def _is_early(ins: Instruction, at: int, end: int, written: dict, read: dict) -> bool:
    """Whether what it reads lies there from the beginning, unchanged until it is read."""
    x: Slot = ins.inputs[0]
    return x.storage.kind != MADE and not any(w < at for w in written.get(x.storage.number, ()))


def _is_late(ins: Instruction, at: int, end: int, written: dict, read: dict) -> bool:
    """Whether nobody reads its result before the last of them, nor changes what it reads."""
    x, y = ins.inputs[0], ins.outputs[0]
    if x.storage.kind != MADE or any(r <= end for r in read.get(y.storage.number, ())):
        return False
    return not any(at < w <= end for w in written.get(x.storage.number, ()))
