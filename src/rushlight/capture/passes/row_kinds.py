"""What arrays hold for rows, and which instructions work on whole ones: the questions of row groups."""

from __future__ import annotations

from math import prod

from ..joined.row_group import COLUMN, FULL, ONE, REDUCTIONS, ROW, SOME, WHOLE_ROWS
from ..program.instructions import Instruction
from ..program.slots import Slot


def lies_as_rows(shape: tuple[int, ...], strides: tuple[int, ...], step: int) -> bool:
    """Whether one number for every row, `step` bytes apart in front, lies without gaps."""
    for n, s in zip(reversed(shape), reversed(strides)):
        if n != 1 and s != step:
            return False
        step *= n
    return True


def kind_of(s: Slot, out: tuple[int, ...]) -> str | None:
    """What an operand holds for the rows of a result of shape `out`; None where that has no name."""
    item, columns = s.dtype.itemsize, out[-1]
    if s.size == 1:
        return ONE
    if s.shape == out:
        if s.dense:
            return FULL
        rows = s.strides[-1] == 0 and lies_as_rows(s.shape[:-1], s.strides[:-1], item)
        return ROW if rows else None
    if s.shape == (*out[:-1], 1):
        return ROW if s.dense else None
    beside = all(n == 1 for n in s.shape[:-1]) and len(s.shape) <= len(out)
    if s.shape and s.shape[-1] == columns and beside and s.strides[-1] == item:
        return COLUMN
    return None if turn_of(s, out) is None else SOME


def turn_of(s: Slot, out: tuple[int, ...]) -> tuple[int, int] | None:
    """How the rows of a smaller operand take turns: (every, count) if row i of the result reads row i // every % count.

    Its dims are those of the result in one run, and 1 before and behind: a mask for all heads, a bias of each head.
    """
    shape = (1,) * (len(out) - len(s.shape)) + s.shape
    if len(shape) != len(out) or not s.dense or shape[-1] != out[-1]:
        return None
    own = [d for d in range(len(out) - 1) if shape[d] != 1]
    if not own or any(shape[d] != out[d] for d in own):
        return None
    if any(out[d] != 1 for d in range(own[0], own[-1] + 1) if d not in own):
        return None
    every, count = prod(out[own[-1] + 1 : -1]), prod(shape[d] for d in own)
    return every, count


def reduces_rows(ins: Instruction) -> bool:
    """Whether a reduction runs over the last dim of an array without gaps, and over no other."""
    if ins.name not in REDUCTIONS or len(ins.inputs) != 1 or len(ins.outputs) != 1:
        return False
    x, y = ins.inputs[0], ins.outputs[0]
    if x.__class__ is not Slot or not x.shape or not x.dense or not y.dense or ins.is_view:
        return False
    if ins.name == "sum_to_size":
        return y.shape == (*x.shape[:-1], 1)
    return ins.attrs.get("dim") == (len(x.shape) - 1,) and y.size * x.shape[-1] == x.size


def has_whole_rows(ins: Instruction) -> bool:
    """Whether a softmax or its like runs over the last dim, of arrays without gaps."""
    if ins.name not in WHOLE_ROWS or len(ins.outputs) != 1 or len(ins.reads) != len(ins.inputs):
        return False
    y = ins.outputs[0]
    if not y.shape or ins.attrs.get("dim") not in (-1, len(y.shape) - 1):
        return False
    return y.dense and all(s.shape == y.shape and s.dense for s in ins.reads)
