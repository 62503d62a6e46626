"""Constant folding: what depends on nothing that changes is computed once, now."""

from __future__ import annotations

from typing import Any

from ...base.device import device
from ...core.memory import data_pointer
from ...runtime import devices
from ...runtime.door import run
from ..program.instructions import Instruction, Program
from ..program.rewrite import Renaming, new_numbers
from ..program.slots import CONSTANT, Slot, Storage

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
        out = run(
            ins.kernel, cls, [i.array if i.__class__ is Slot else i for i in inputs], ins.attrs
        )
        for old, array in zip(ins.outputs, out if ins.several else (out,)):
            number = next(numbers)
            if ins.is_view:  # of memory that is there already, however large
                renaming.slots[old.number] = _window(number, given[0].storage, array)
                continue
            cls = _array_type(old)
            kept: Any = (
                array if array.__class__ is cls else devices.backend_of_type(cls).asarray(array)
            )
            storage = Storage(number, CONSTANT, kept.nbytes, "folded", kept)
            storage.device = old.storage.device
            renaming.add(old, _window(number, storage, kept))
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


def _window(number: int, storage: Storage, array: Any) -> Slot:
    """A slot over a constant, or over a view of one."""
    offset = data_pointer(array) - data_pointer(storage.array)
    shape, strides = tuple(array.shape), tuple(array.strides)
    return Slot(number, storage, shape, array.dtype, strides, offset, array)


def _array_type(slot: Slot) -> type:
    return devices.backend_of(device(slot.storage.device)).array_type
