"""What passes share: renaming slots, new ones, and which storages are written only once."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
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
    """Slots and storages that stand for others; views of a renamed storage follow it."""

    def __init__(self) -> None:
        self.slots: dict[int, Slot] = {}
        self.storages: dict[int, tuple[Storage, int]] = {}

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
        storage, shift = moved
        return self.slot(Slot(s.number, storage, s.shape, s.dtype, s.strides, s.offset + shift))

    def instructions(self, instructions: Iterable[Instruction]) -> list[Instruction]:
        if not self.slots and not self.storages:
            return list(instructions)
        cache: dict[int, Slot] = {}

        def new(s: Slot) -> Slot:
            found = cache.get(s.number)
            if found is None:
                found = cache[s.number] = self.slot(s)
            return found

        renamed = []
        for ins in instructions:
            inputs = tuple([new(i) if i.__class__ is Slot else i for i in ins.inputs])
            outputs = tuple([new(s) for s in ins.outputs])
            writes = tuple([new(s) for s in ins.writes])
            renamed.append(ins.replaced(inputs=inputs, outputs=outputs, writes=writes))
        return renamed

    def program(self, program: Program, instructions: Iterable[Instruction]) -> Program:
        made = program.with_instructions(self.instructions(instructions))
        made.results = [self.slot(s) for s in program.results]
        return made
