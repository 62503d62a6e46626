"""Positions that come from outside of a program are looked at before it runs, so that one that must fail changes nothing.

A table that is read at a row that it does not have raises in the midst of the call: what came before has happened, what
comes behind has not. A program does not know how far that would have been, and may have left the kernel out since nobody
reads its result. So such a call is left to Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..loops.fragile import within
from ..program.instructions import Instruction, Program
from ..program.slots import ARGUMENT, STATE

_TABLES = frozenset(("embedding", "embedding_bag"))
_CLASSES = frozenset(("cross_entropy_fused", "nll_loss"))


class Looks:
    """The operands of a recorded program that have to be positions, and of how many rows or classes."""

    def __init__(self, program: Program) -> None:
        # an argument or an array, how many positions there are, what else may stand there
        self.rows: list[tuple[int | None, Any, int, int | None]] = []
        if program.device != "cpu":
            return  # a GPU does not raise
        given = {s.storage.number: i for i, s in enumerate(program.arguments)}
        written: set[int] = set()
        for ins in program.instructions:
            if ins.name in _TABLES or ins.name in _CLASSES:
                self._note(ins, given, written)
            written.update([s.storage.number for s in ins.writes])

    def _note(self, ins: Instruction, given: dict[int, int], written: set[int]) -> None:
        table, where = ins.inputs[0], ins.inputs[1]
        kind = getattr(getattr(where, "storage", None), "kind", None)
        if kind not in (ARGUMENT, STATE) or where.storage.number in written:
            return
        at = given.get(where.storage.number) if kind == ARGUMENT else None
        if (kind == ARGUMENT and at is None) or (kind == STATE and where.array is None):
            return
        if ins.name in _TABLES:
            self.rows.append((at, where.array, table.shape[0], None))
        elif len(table.shape) > 1:
            ignored = ins.attrs.get("ignore_index", -100)
            self.rows.append((at, where.array, table.shape[1], ignored))

    def fit(self, tensors: Sequence[Any]) -> bool:
        """Whether no position will be refused. An argument is looked at as a whole, whatever part of it is used."""
        for at, array, size, ignored in self.rows:
            a = array if at is None else tensors[at]._a
            if a.__class__ is not np.ndarray or a.dtype.kind not in "iu" or within(a, size):
                continue
            if ignored is None or not within(a[a != ignored], size):
                return False
        return True
