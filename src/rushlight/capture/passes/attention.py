"""Attention's gradients are written beside each other where a linear layer made queries, keys and values so."""

from __future__ import annotations

from ..joined.attention import ATTENTION_GRAD_CAT
from ..program.instructions import Instruction, Program
from ..program.match import first, joined, maker, rewrite, rule
from ..program.slots import Slot


def join_attention_grads(program: Program, force: bool = False) -> Program:
    """attention's derivative + cat as one kernel; `force` on any device."""
    return rewrite(program, [_beside], force)


@rule(ATTENTION_GRAD_CAT, cat=first("cat"), back=maker("attention_grad", of="cat<0"))
def _beside(cat: Instruction, back: Instruction) -> Instruction | None:
    if len(cat.inputs) != 3 or cat.attrs["dim"] not in (2, -1):
        return None
    order = []
    for part in cat.inputs:
        found = [i for i, g in enumerate(back.outputs) if _is_rows_of(part, g)]
        if len(found) != 1:
            return None
        order.append(found[0])
    if sorted(order) != [0, 1, 2] or not cat.outputs[0].dense:
        return None
    attrs = {**back.attrs, "order": tuple(order)}
    return joined(ATTENTION_GRAD_CAT, back.inputs, attrs, cat.outputs, back.line)


def _is_rows_of(part: Slot, g: Slot) -> bool:
    """Whether `part` is [N, L, E] over the heads [N, heads, L, size] of g."""
    batch, heads, length, size = g.shape
    item = g.dtype.itemsize
    lies = g.strides[1] == size * item and g.strides[3] == item
    return (
        part.storage is g.storage and part.offset == g.offset and lies
        and part.shape == (batch, length, heads * size)
        and part.strides == (g.strides[0], g.strides[2], item)
    )  # fmt: skip
