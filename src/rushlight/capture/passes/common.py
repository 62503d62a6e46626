"""Common subexpressions: what was computed already is not computed again."""

from __future__ import annotations

from typing import Any

from ..program.index import Index
from ..program.instructions import Instruction, Program
from ..program.rewrite import Renaming
from ..program.slots import MADE, Slot


def merge_common(program: Program) -> Program:
    """Let later instructions that equal an earlier one use its outputs.

    Only where nothing writes into the inputs in between, nor ever into either result.
    """
    index, renaming = Index(program), Renaming(program)
    seen: dict[Any, tuple[int, Instruction]] = {}
    windows: dict[Any, Slot] = {}
    for at, ins in enumerate(program.instructions):
        if ins.is_view:
            if not _is_known(ins, renaming, windows):
                renaming.append(ins)
            continue
        for s in ins.outputs:  # a view that shows all of it again is no other value
            if s not in ins.writes:
                windows.setdefault(_window(renaming.slot(s)), s)
        if renaming.is_plain(ins):
            key, reads = _key(ins, renaming), [renaming.slot(s) for s in ins.reads]
            before, first = seen.setdefault(key, (at, ins))
            if first is not ins and not any(index.is_written(s, before, at) for s in reads):
                for old, new in zip(ins.outputs, first.outputs):
                    renaming.add(old, new)
                continue
            seen[key] = (at, ins)
        renaming.append(ins)
    return renaming.program()


def _is_known(view: Instruction, renaming: Renaming, windows: dict[Any, Slot]) -> bool:
    """Whether a view shows windows that are known already; passes then see who reads the same numbers."""
    shown = [(_window(renaming.slot(s)), s) for s in view.outputs]
    known = all(key in windows for key, _ in shown)
    for key, s in shown:
        first = windows.setdefault(key, s)
        if known and first.number != s.number:
            renaming.slots[s.number] = first
    return known


def _window(s: Slot) -> tuple:
    return (s.storage.number, s.offset, s.shape, s.strides, s.dtype.str)


def _key(ins: Instruction, renaming: Renaming) -> Any:
    """Equal for instructions that compute the same."""
    given = renaming.inputs(ins)
    operands = [_window(i) if i.__class__ is Slot else (i.__class__, repr(i)) for i in given]
    # What a checkpoint computes once more is not to be kept: that is what saves memory.
    again = ins.again if any(s.storage.kind == MADE for s in ins.reads) else 0
    return (ins.name, again, *operands, *[(k, repr(v)) for k, v in sorted(ins.attrs.items())])
