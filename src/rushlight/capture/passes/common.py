"""Common subexpressions: what was computed already is not computed again."""

from __future__ import annotations

from typing import Any

from ..program.instructions import Instruction, Program, writers
from ..program.rewrite import Renaming, once_made
from ..program.slots import MADE, Slot


def merge_common(program: Program) -> Program:
    """Let later instructions that equal an earlier one use its outputs.

    Only where nothing writes into the inputs in between, nor ever into either result.
    """
    written = writers(program.instructions)
    once = once_made(program)
    results = program.result_storages()
    seen: dict[Any, tuple[int, Instruction]] = {}
    renaming = Renaming()
    windows: dict[Any, Slot] = {}
    for at, ins in enumerate(program.instructions):
        if ins.is_view:
            if not _is_known(ins, renaming, windows):
                renaming.append(ins)
            continue
        for s in ins.outputs:  # a view that shows all of it again is no other value
            if s not in ins.writes:
                windows.setdefault(_window(renaming.slot(s)), s)
        key = _key(ins, renaming) if _mergeable(ins, once, results) else None
        found = seen.get(key)
        if key is None or found is None or _changed(ins, found[0], at, written, renaming):
            seen[key] = (at, ins)
            renaming.append(ins)
            continue
        for old, new in zip(ins.outputs, found[1].outputs):
            renaming.add(old, new)
    return renaming.program(program)


def _is_known(view: Instruction, renaming: Renaming, windows: dict[Any, Slot]) -> bool:
    """Whether a view shows windows that are known already; passes then see who reads the same numbers."""
    keys = [_window(renaming.slot(s)) for s in view.outputs]
    if not all(key in windows for key in keys):
        for key, s in zip(keys, view.outputs):
            windows.setdefault(key, s)
        return False
    for key, s in zip(keys, view.outputs):
        if windows[key].number != s.number:
            renaming.slots[s.number] = windows[key]
    return True


def _window(s: Slot) -> tuple:
    return (s.storage.number, s.offset, s.shape, s.strides, s.dtype.str)


def _mergeable(ins: Instruction, once: dict[int, int], results: set[int]) -> bool:
    """No effects, and results that stay as they are made."""
    return (
        not ins.has_effect
        and bool(ins.outputs)
        and all(s.storage.number in once and s.storage.number not in results for s in ins.outputs)
    )


def _key(ins: Instruction, renaming: Renaming) -> Any:
    """Equal for instructions that compute the same."""
    operands = [
        _window(renaming.slot(i)) if i.__class__ is Slot else (i.__class__, repr(i))
        for i in ins.inputs
    ]
    # What a checkpoint computes once more is not to be kept: that is what saves memory.
    again = ins.again if any(s.storage.kind == MADE for s in ins.reads) else 0
    return (ins.name, again, *operands, *[(k, repr(v)) for k, v in sorted(ins.attrs.items())])


def _changed(
    ins: Instruction, first: int, second: int, written: dict[int, list[int]], renaming: Renaming
) -> bool:
    """Whether something is written into an input between two places of the program."""
    numbers = [renaming.slot(s).storage.number for s in ins.reads]
    return any(first <= at < second for n in numbers for at in written.get(n, ()))
