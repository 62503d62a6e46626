"""Copies of what nobody else uses afterwards: the copy is dropped and the original taken."""

from __future__ import annotations

from ..program.instructions import Instruction, Program, writers
from ..program.rewrite import Renaming, once_made
from ..program.slots import MADE

_COPIES = frozenset(("clone", "snapshot"))


def drop_copies(program: Program) -> Program:
    """Let the source of a copy stand for the copy where neither is written afterwards.

    A step copies what it could take as it is wherever it cannot know that nobody else will change it.
    """
    once = once_made(program)
    written = writers(program.instructions)
    taken = {s.storage.number for s in program.results}
    renaming = Renaming()
    kept = []
    for at, ins in enumerate(program.instructions):
        if _needless(ins, at, once, written, taken):
            source, copy = renaming.slot(ins.reads[0]), ins.outputs[0]
            if copy.storage.number in taken:
                if source.storage.number in taken:
                    kept.append(ins)  # two results must not share memory
                    continue
                taken.add(source.storage.number)
            renaming.add(copy, source)
        else:
            kept.append(ins)
    return renaming.program(program, kept)


def _needless(
    ins: Instruction,
    at: int,
    once: dict[int, int],
    written: dict[int, list[int]],
    taken: set[int],
) -> bool:
    if ins.name not in _COPIES or len(ins.outputs) != 1 or not ins.reads:
        return False
    source, copy = ins.reads[0], ins.outputs[0]
    if source.storage.kind != MADE or source.strides != copy.strides:
        return False
    if source.storage is copy.storage or copy.storage.number not in once:
        return False
    return source.storage.number not in taken and not any(
        w > at for w in written.get(source.storage.number, ())
    )
