"""What passes share: renaming slots, new ones, and which storages are written only once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .instructions import Instruction, Program, writers
from .slots import MADE, Slot, Storage


def once_made(program: Program) -> dict[int, int]:
    """Storages the program makes and writes once: number -> the instruction that does."""
    kinds = {s.number: s.kind for s in program.storages}
    found = writers(program.instructions)
    return {n: at[0] for n, at in found.items() if len(at) == 1 and kinds.get(n) == MADE}


def new_numbers(program: Program) -> Iterator[int]:
    """Numbers that no slot or storage of the program has."""
    taken = [s.number for s in program.slots] + [s.number for s in program.storages]
    highest = max(taken, default=0)
    return itertools.count(highest + 1)


def new_slot(number: int, shape: tuple[int, ...], dtype: Any, like: Slot) -> Slot:
    """A slot in memory of its own on the device of `like`; ordered as that one where the shapes are equal."""
    dtype = np.dtype(dtype)
    strides, step = [], dtype.itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= n
    order = tuple(reversed(strides))
    if shape == like.shape and like.extent() == (0, like.nbytes):
        order = tuple([s // like.dtype.itemsize * dtype.itemsize for s in like.strides])
    storage = Storage(number, MADE, step)
    storage.device = like.storage.device
    return Slot(number, storage, shape, dtype, order)


class Renaming:
    """A program while it is written anew: slots and storages that stand for others, views of these storages, too.

    What is appended is renamed by what is known so far.
    """

    def __init__(self, program: Program) -> None:
        self.old, self.once, self.results = program, once_made(program), program.result_storages()
        self.slots: dict[int, Slot] = {}
        self.storages: dict[int, tuple[Storage, int]] = {}
        self.code: list[Instruction] = []
        self._moved: dict[tuple[int, int, int], Slot] = {}  # one slot for each number and place

    def add(self, old: Slot, new: Slot) -> None:
        """Let `new` stand for `old`, both of one layout."""
        self.slots[old.number] = new
        self.storages[old.storage.number] = (new.storage, new.offset - old.offset)

    def slot(self, s: Slot) -> Slot:
        while s.number in self.slots:
            s = self.slots[s.number]
        moved = self.storages.get(s.storage.number)
        if moved is None:
            return s
        storage, offset = moved[0], s.offset + moved[1]
        made = Slot(s.number, storage, s.shape, s.dtype, s.strides, offset)
        return self.slot(self._moved.setdefault((s.number, storage.number, offset), made))

    def inputs(self, ins: Instruction) -> tuple[Any, ...]:
        """What an instruction is given."""
        return tuple([self.slot(i) if i.__class__ is Slot else i for i in ins.inputs])

    def append(self, ins: Instruction) -> None:
        if self.slots or self.storages:
            outputs = tuple([self.slot(s) for s in ins.outputs])
            writes = tuple([self.slot(s) for s in ins.writes])
            ins = ins.replaced(inputs=self.inputs(ins), outputs=outputs, writes=writes)
        self.code.append(ins)

    def is_plain(self, ins: Instruction) -> bool:
        """Whether it only makes values, which stay as they are made and are no results."""
        numbers = {s.storage.number for s in ins.outputs}
        alone = numbers <= self.once.keys() and numbers.isdisjoint(self.results)
        return bool(numbers) and alone and not ins.has_effect

    def program(self) -> Program:
        """The new program; the old one where nothing was renamed or left out."""
        if not self.slots and len(self.code) == len(self.old):
            return self.old
        made = self.old.with_instructions(self.code)
        made.results = [self.slot(s) for s in self.old.results]
        return made
