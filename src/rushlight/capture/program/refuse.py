"""Kernels that may raise because of values: on the CPU they may only wait when it is known that they will not.

An error must come from the line that made it. So indices that come from outside of a stretch are looked at when the
kernel is met. Of those that the stretch itself made some are known to fit whatever their values are (`Bounds`): a
range, the place of a maximum. A kernel whose values cannot be looked at ends the stretch, and is run at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ...runtime.door import Kernel
from ...runtime.facts import Facts, Rows, Slots, Values
from ..in_c import native
from .instructions import Instruction, Program
from .slots import ARGUMENT, CONSTANT, MADE, STATE, Slot

# What a kernel raises because of values (`tests/ops/test_value_checks.py` sees it of those that do).
BY_VALUES = (ArithmeticError, IndexError, OverflowError, RuntimeError, TypeError, ValueError)


def within(a: Any, size: int) -> bool:
    """Whether positions lie in [0, size)."""
    found = None if native is None else native.within(a, size)
    if found is not None:
        return found
    return a.size == 0 or (int(a.min()) >= 0 and int(a.max()) < size)


def positions(kernel: Kernel, operands: Sequence[Any], attrs: dict[str, Any]) -> list[tuple[int, int]] | None:
    """Operands of a kernel that hold positions, and how many there are; None where a mask is among them."""
    held = kernel.facts.positions
    found = [] if held is None else held.places(operands, attrs)
    return found if all(operands[i].dtype.kind in "iu" for i, _ in found) else None


def _all_within(
    places: tuple[tuple[int, int], ...], ignored: str, arrays: Sequence[Any], attrs: dict[str, Any]
) -> bool:
    """Whether operands lie below their sizes, or are ignored (in C, where none is ignored: `native/bind.c`)."""
    for i, size in places:
        a = arrays[i]
        if not within(a, size) and (not ignored or not size or not within(a[a != attrs.get(ignored, -100)], size)):
            return False
    return True


def look_of(kernel: Kernel, arrays: Sequence[Any], call: tuple[Sequence[Any], dict]) -> tuple | None:
    """The check of values that a kernel on the CPU needs before it may wait, or None.

    It is an operand, a function of arrays and attributes, and maybe which operands have to lie below which numbers. What
    the stretch made is None among `arrays`; `call` has the operands' shapes, and the attributes.
    """
    refuses, held = kernel.facts.refuses, kernel.facts.positions
    if isinstance(refuses, Values):
        there = all(arrays[i].__class__ is np.ndarray for i in refuses.operands)
        return (refuses.operands[0], refuses.harmless) if there else None
    if held is None:
        return None
    found = positions(kernel, *call) or ()
    seen = tuple([(i, size) for i, size in found if arrays[i].__class__ is np.ndarray])
    ignored = getattr(held, "ignored", "")
    return (seen[0][0], partial(_all_within, seen, ignored), seen) if seen else None


def breaks(
    kernel: Kernel,
    arrays: Sequence[Any],
    is_made: Callable[[Any], bool],
    fits: Callable[[Any, int], bool] | None = None,
    attrs: dict[str, Any] | None = None,
) -> bool:
    """Whether a kernel has to be run where it comes; `is_made` tells what the stretch itself made.

    `fits` tells whether positions are known to lie below a number; without it, kernels that take positions other than
    rows of a table are run where they come.
    """
    facts = kernel.facts
    if facts.refuses in (False, "checked") and facts.positions is None:
        return False
    hosts = [a for a in arrays if a.__class__ is np.ndarray]
    if not hosts:
        return False
    if facts.refuses is True:
        return True
    if facts.refuses == "integers":
        return all(a.dtype.kind in "iub" for a in hosts)
    if isinstance(facts.refuses, Values):
        return any(is_made(arrays[i]) for i in facts.refuses.operands)
    held = facts.positions
    if held is None:
        return False
    if getattr(held, "ignored", ""):
        return is_made(arrays[held.at])
    if fits is None or attrs is None:
        return not is_table(held) or is_made(arrays[held.at])
    places = positions(kernel, arrays, attrs)
    return places is None or not all(fits(arrays[i], size) for i, size in places)


def is_table(held: Rows | Slots | None) -> bool:
    """Whether positions are the rows of one table, or classes: such are looked at before a program runs."""
    return isinstance(held, Rows) and not isinstance(held.dim, str)


def looked_at(facts: Facts) -> tuple[int, ...] | None:
    """The operands that are looked at before a program runs (`Checks`), where a look at them is enough."""
    if isinstance(facts.refuses, Values):
        return facts.refuses.operands
    return (facts.positions.at,) if is_table(facts.positions) else None  # type: ignore[union-attr]


def may_refuse(kernel: Kernel, operands: Sequence[Any], device: str) -> bool:
    """Whether a kernel may raise because of values, so that it matters even where nobody needs its result."""
    facts = kernel.facts
    if device != "cpu" or facts.refuses == "checked":
        return False  # a GPU does not raise
    if facts.refuses == "integers":
        return all(a.dtype.kind in "iub" for a in operands if hasattr(a, "dtype"))
    return bool(facts.refuses) or facts.positions is not None


class Bounds:
    """What is known of whole numbers in a stretch: the least and the largest value of what it made, and what was looked at."""

    def __init__(self) -> None:
        self.made: dict[int, tuple[int, int]] = {}  # by storage
        self.written: set[int] = set()  # storages that a kernel of the stretch changes
        self.seen: dict[int, int] = {}  # slots that were looked at -> the size they fit

    def note(self, ins: Instruction) -> None:
        """A kernel of the stretch."""
        for s in ins.writes:
            self.written.add(s.storage.number)
        if len(ins.outputs) == 1 and ins.outputs[0].dtype.kind in "iu" and not ins.writes:
            found, kind = self._of(ins), np.iinfo(ins.outputs[0].dtype)
            if found is not None and kind.min <= found[0] and found[1] <= kind.max:
                self.made.setdefault(ins.outputs[0].storage.number, found)

    def _of(self, ins: Instruction) -> tuple[int, int] | None:
        """The least and the largest value that a kernel can answer, from its options and shapes alone."""
        known = ins.kernel.facts.range
        if known == "kept":
            kept = ins.inputs[0].dtype == ins.outputs[0].dtype
            return self.made.get(ins.inputs[0].storage.number) if kept else None
        return known and known(ins.attrs, [getattr(s, "shape", None) for s in ins.inputs])

    def fits(self, slot: Slot | None, a: Any, size: int, again: bool) -> bool:
        """Whether positions are known to lie in [0, size), also when the stretch is replayed.

        Those of the stretch are by their kernel; those from outside are looked at, now and in replays. In a backward
        pass (`again`) they must have been looked at before: there no replay looks.
        """
        if slot is not None and slot.storage.number in self.written:
            return False
        if slot is not None and slot.storage.kind == MADE:
            low, high = self.made.get(slot.storage.number, (-1, 0))
            return low >= 0 and high < size
        if again:
            return slot is not None and self.seen.get(slot.number, size + 1) <= size
        if not within(a, size):
            return False
        if slot is not None:
            self.seen[slot.number] = min(size, self.seen.get(slot.number, size))
        return True


class Checks:
    """The operands of a recorded call that have to be positions, or to hold what their kernel does not refuse.

    They are looked at before the program runs, so that one that must fail changes nothing. A table that is read at a row
    that it does not have raises in the midst of the call: what came before has happened, what comes behind has not. A
    program does not know how far that would have been, and may have left the kernel out since nobody reads its result.
    So such a call is left to Python.
    """

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

    def _note(self, ins: Instruction, operands: tuple[int, ...], given: dict[int, int], written: set[int]) -> None:
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
