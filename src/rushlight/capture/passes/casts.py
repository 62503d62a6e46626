"""Casts of many small arrays as one kernel: autocast's weights in front, their gradients at the end."""

from __future__ import annotations

from ...runtime import joins
from ..joined.epilogues import CASTS
from ..program.index import Index
from ..program.instructions import Instruction, Program
from ..program.slots import MADE

_LARGEST = 64 << 20  # bytes; a larger array would be kept for long, and keeps a GPU busy by itself
_FLOATS = frozenset(("float32", "float16", "bfloat16", "float64"))


def join_casts(program: Program, force: bool = False) -> Program:
    """Casts of lasting arrays go to the first of them, other casts to the last; `force` on any device."""
    if not force and not joins.knows(program.device, CASTS.name):
        return program
    kinds: dict[tuple, list[Instruction]] = {}
    for ins in filter(_is_cast, program.instructions):
        x, y = ins.inputs[0], ins.outputs[0]
        kinds.setdefault((x.dtype.name, y.dtype.name, x.storage.kind == MADE), []).append(ins)
    index = Index.of(program)
    for (_, _, waits), casts in kinds.items():
        place = index.place[casts[-1 if waits else 0]]
        group = [ins for ins in casts if index.may_move(ins, place)]
        outs = [ins.outputs[0] for ins in group]
        made = Instruction(
            CASTS, tuple([ins.inputs[0] for ins in group]), casts[0].attrs, tuple(outs), (), casts[0].line, True
        )
        if len(group) > 1 and (force or joins.takes(program.device, made, group)):
            index.replace(group, {place: made})
    return index.program_now()


def _is_cast(ins: Instruction) -> bool:
    """A cast between floats of an array without gaps, which keeps its order."""
    if ins.name != "cast" or len(ins.reads) != 1 or ins.is_view:
        return False
    x, y = ins.inputs[0], ins.outputs[0]
    if x.dtype.name not in _FLOATS or y.dtype.name not in _FLOATS or y.nbytes > _LARGEST:
        return False
    steps = [[s // a.dtype.itemsize for s in a.strides] for a in (x, y)]
    return steps[0] == steps[1] and x.size > 0 and x.extent() == (0, x.nbytes)
