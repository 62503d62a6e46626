"""Embeddings of tokens and of their positions: rows are added to while they are looked up."""

from __future__ import annotations

from ..joined.lookup import EMBEDDING_ADD
from ..program.instructions import Instruction, Program
from ..program.match import first, joined, reader, rewrite, rule
from ..program.slots import Slot


def join_lookups(program: Program, force: bool = False) -> Program:
    """embedding + add as one kernel; `force` on any device."""
    return rewrite(program, [_lookup], force)


@rule(EMBEDDING_ADD, lookup=first("embedding"), add=reader("add", of="lookup"))
def _lookup(lookup: Instruction, add: Instruction) -> Instruction | None:
    rows, out = lookup.outputs[0], add.outputs[0]
    others = [i for i in add.inputs if i.__class__ is not Slot or i.number != rows.number]
    if len(others) != 1 or others[0].__class__ is not Slot or add.attrs:
        return None
    other = others[0]
    shape = other.shape[next((i for i, n in enumerate(other.shape) if n != 1), 0) :]
    alike = (out.shape, out.dtype, out.strides) == (rows.shape, rows.dtype, rows.strides)
    # Every so many rows the same numbers are added, so that they need no more than a remainder to be found.
    if not alike or other.dtype != out.dtype or rows.shape[len(rows.shape) - len(shape) :] != shape:
        return None
    return joined(EMBEDDING_ADD, (*lookup.inputs, other), lookup.attrs, (out,), add.line)
