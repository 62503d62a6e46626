"""Casts of many small arrays as one kernel: autocast's weights in front, their gradients at the end."""

from __future__ import annotations

from ...runtime import joins
from ..joined.casts import CASTS
from ..program.index import Index
from ..program.instructions import Instruction, Program
from ..program.slots import MADE

_LARGEST = 64 << 20  # bytes; a larger array would be kept for long, and keeps a GPU busy by itself
_FLOATS = frozenset(("float32", "float16", "bfloat16", "float64"))


def join_casts(program: Program, force: bool = False) -> Program:
    """Casts of lasting arrays go to the first of them, casts nobody waits for to the last; `force`
    on any device."""
    if not force and not joins.knows(program.device, CASTS.name):
        return program
    kinds: dict[tuple, list[Instruction]] = {}
    for ins in program.instructions:
        if _is_cast(ins):
            x, y = ins.inputs[0], ins.outputs[0]
            lasts = x.storage.kind != MADE
            kinds.setdefault((x.dtype.name, y.dtype.name, lasts), []).append(ins)
    if not kinds:
        return program
    index = Index.known(program) or Index(program)
    for (_, _, lasts), casts in kinds.items():
        _gather(index, casts, casts[0 if lasts else -1], force)
    return index.program_now()


def _gather(index: Index, casts: list[Instruction], where: Instruction, force: bool) -> None:
    """All casts that can move to the place of one of them as one kernel there."""
    place = index.place[where]
    group = [ins for ins in casts if index.may_move(ins, place)]
    if len(group) < 2:
        return
    outs = tuple([ins.outputs[0] for ins in group])
    inputs = tuple([ins.inputs[0] for ins in group])
    made = Instruction(CASTS, inputs, group[0].attrs, outs, (), group[0].line, True)
    if force or joins.takes(index.program.device, made, group):
        index.replace(group, {place: made})


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
