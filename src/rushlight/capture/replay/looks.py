"""Positions that come from outside of a program are looked at before it runs, so that one that must fail changes nothing.

A table that is read at a row that it does not have raises in the midst of the call: what came before has happened, what
comes behind has not. A program does not know how far that would have been, and may have left the kernel out since nobody
reads its result. So such a call is left to Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime.facts import Rows, Values
from ..program.instructions import Instruction, Program
from ..program.refuse import looked_at, within
from ..program.slots import ARGUMENT, CONSTANT, STATE


class Looks:
    """The operands of a recorded program that have to be positions, or to hold what their kernel does not refuse."""

    def __init__(self, program: Program) -> None:
        # an argument or an array, how many positions there are, what else may stand there
        self.rows: list[tuple[int | None, Any, int, int | None]] = []
        # operands with (argument or None, array) in the place of those that are looked at; what looks; attributes
        self.values: list[tuple[list[Any], dict[int, tuple[int | None, Any]], Values, dict]] = []
        if program.device != "cpu":
            return  # a GPU does not raise
        given = {s.storage.number: i for i, s in enumerate(program.arguments)}
        written: set[int] = set()
        for ins in program.instructions:
            operands = looked_at(ins.kernel.facts)
            if operands is not None:
                self._note(ins, operands, given, written)
            written.update([s.storage.number for s in ins.writes])

    def _note(
        self, ins: Instruction, operands: tuple[int, ...], given: dict[int, int], written: set[int]
    ) -> None:
        found: dict[int, tuple[int | None, Any]] = {}
        for i in operands:
            where = ins.inputs[i]
            kind = getattr(getattr(where, "storage", None), "kind", None)
            if kind not in (ARGUMENT, STATE, CONSTANT) or where.storage.number in written:
                return
            at = given.get(where.storage.number) if kind == ARGUMENT else None
            if (kind == ARGUMENT and at is None) or (kind != ARGUMENT and where.array is None):
                return
            found[i] = (at, where.array)
        facts = ins.kernel.facts
        if isinstance(facts.refuses, Values):
            self.values.append((list(ins.inputs), found, facts.refuses, ins.attrs))
            return
        held: Rows = facts.positions
        size = held.places(ins.inputs, ins.attrs)[0][1]
        ignored = ins.attrs.get(held.ignored, -100) if held.ignored else None
        if size or ignored is None:
            self.rows.append((*found[held.at], size, ignored))

    def fit(self, tensors: Sequence[Any]) -> bool:
        """Whether no value will be refused. An argument is looked at as a whole, whatever part of it is used."""
        for at, array, size, ignored in self.rows:
            a = array if at is None else tensors[at]._a
            if a.__class__ is not np.ndarray or a.dtype.kind not in "iu" or within(a, size):
                continue
            if ignored is None or not within(a[a != ignored], size):
                return False
        for operands, found, values, attrs in self.values:
            now = list(operands)
            for i, (at, array) in found.items():
                now[i] = array if at is None else tensors[at]._a
            if not values.harmless(now, attrs):
                return False
        return True
