"""Passes that leave out work: common subexpressions, dead code, constants."""

from __future__ import annotations

from typing import Any

from ...base.device import device
from ...core.memory import data_pointer
from ...runtime import devices
from ...runtime.door import run
from ..program.index import Index
from ..program.instructions import Instruction, Program
from ..program.refuse import may_refuse
from ..program.rewrite import Renaming, new_numbers
from ..program.slots import CONSTANT, MADE, Slot, Storage


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


def drop_dead(program: Program) -> Program:
    """Keep what reaches a result, lasting memory or a random stream, seen from the end."""
    needed = {s.storage.number for s in program.results}
    kept = []
    for ins in reversed(program.instructions):
        touched = [s.storage for s in (*ins.outputs, *ins.writes)]
        lasting = any(s.kind != MADE for s in touched) and not ins.is_view
        lasting = lasting or may_refuse(ins.kernel, ins.inputs, program.device)
        if lasting or ins.is_random or any(s.number in needed for s in touched):
            needed.update(s.storage.number for s in ins.reads)
            kept.append(ins)
    return program.with_instructions(kept[::-1])


_LARGE = 1 << 22  # bytes; a larger constant would cost more memory than it saves time


def fold_constants(program: Program) -> Program:
    """Run instructions over constants and keep their results as constants."""
    renaming, numbers = Renaming(program), new_numbers(program)
    for ins in program.instructions:
        inputs = renaming.inputs(ins)
        if not all(map(_is_constant, inputs)) or not _is_foldable(ins, renaming):
            renaming.append(ins)
            continue
        given = [i for i in inputs if i.__class__ is Slot]
        cls = given[0].array.__class__ if given else _array_type(ins.outputs[0])
        out = run(ins.kernel, cls, [i.array if i.__class__ is Slot else i for i in inputs], ins.attrs)
        for old, array in zip(ins.outputs, out if ins.several else (out,)):
            number = next(numbers)
            if ins.is_view:  # of memory that is there already, however large
                renaming.slots[old.number] = _folded(number, given[0].storage, array)
                continue
            cls = _array_type(old)
            kept: Any = array if array.__class__ is cls else devices.backend_of_type(cls).asarray(array)
            storage = Storage(number, CONSTANT, kept.nbytes, "folded", kept)
            storage.device = old.storage.device
            renaming.add(old, _folded(number, storage, kept))
    return renaming.program()


def _is_constant(value: Any) -> bool:
    """Whether an operand is the same in each run; also everything that is no array."""
    if value.__class__ is not Slot:
        return True
    s = value.storage
    return s.kind == CONSTANT and not s.rewritten and value.array is not None


def _is_foldable(ins: Instruction, renaming: Renaming) -> bool:
    """Views whose memory is no result, and what makes small arrays that nobody changes."""
    if ins.is_view:
        return all(s.storage.number not in renaming.results for s in ins.outputs)
    small = sum(s.nbytes for s in ins.outputs) <= _LARGE
    return renaming.is_plain(ins) and small and ins.name not in ("empty", "empty_strided")


def _folded(number: int, storage: Storage, array: Any) -> Slot:
    """A slot over a constant, or over a view of one."""
    offset = data_pointer(array) - data_pointer(storage.array)
    shape, strides = tuple(array.shape), tuple(array.strides)
    return Slot(number, storage, shape, array.dtype, strides, offset, array)


def _array_type(slot: Slot) -> type:
    return devices.backend_of(device(slot.storage.device)).array_type
