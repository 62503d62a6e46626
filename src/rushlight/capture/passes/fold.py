"""Constant folding: what depends on nothing that changes is computed once, now."""

from __future__ import annotations

from typing import Any

from ...core.memory import data_pointer
from ...runtime.door import run
from ..program.instructions import Instruction, Program
from ..program.rewrite import Renaming, new_numbers, once_made
from ..program.slots import CONSTANT, Slot, Storage

_LARGE = 1 << 22  # bytes; a larger constant would cost more memory than it saves time


def fold_constants(program: Program) -> Program:
    """Run instructions over constants and keep their results as constants."""
    once = once_made(program)
    results = program.result_storages()
    renaming = Renaming()
    numbers = new_numbers(program)
    for ins in program.instructions:
        inputs = [renaming.slot(i) if i.__class__ is Slot else i for i in ins.inputs]
        view = ins.is_view
        foldable = _all_constant(inputs) and (
            not any(s.storage.number in results for s in ins.outputs)
            if view
            else _foldable(ins, once, results)
        )
        if not foldable:
            renaming.append(ins)
            continue
        arrays = [i.array if i.__class__ is Slot else i for i in inputs]
        given = [i for i in inputs if i.__class__ is Slot]
        cls = given[0].array.__class__ if given else _array_type(ins.outputs[0])
        out = run(ins.kernel, cls, arrays, ins.attrs)
        for old, array in zip(ins.outputs, out if ins.several else (out,)):
            if view:  # of memory that is there already, however large
                renaming.slots[old.number] = _window(next(numbers), given[0].storage, array)
                continue
            made = constant(next(numbers), _as(array, _array_type(old)))
            made.storage.device = old.storage.device
            renaming.add(old, made)
    return renaming.program(program)


def constant(number: int, array: Any) -> Slot:
    """A slot over a constant."""
    storage = Storage(number, CONSTANT, array.nbytes, "folded", array)
    return Slot(number, storage, tuple(array.shape), array.dtype, tuple(array.strides), 0, array)


def _window(number: int, storage: Storage, array: Any) -> Slot:
    """A slot over a view of a constant."""
    offset = data_pointer(array) - data_pointer(storage.array)
    shape, strides = tuple(array.shape), tuple(array.strides)
    return Slot(number, storage, shape, array.dtype, strides, offset, array)


def _foldable(ins: Instruction, once: dict[int, int], results: set[int]) -> bool:
    if ins.has_effect or not ins.outputs or ins.name in ("empty", "empty_strided"):
        return False
    if any(s.storage.number not in once or s.storage.number in results for s in ins.outputs):
        return False
    return sum(s.nbytes for s in ins.outputs) <= _LARGE


def _all_constant(inputs: list) -> bool:
    return all(
        i.__class__ is not Slot
        or (i.storage.kind == CONSTANT and not i.storage.rewritten and i.array is not None)
        for i in inputs
    )


def _array_type(slot: Slot) -> type:
    from ...base.device import device
    from ...runtime import devices

    return devices.backend_of(device(slot.storage.device)).array_type


def _as(array: Any, cls: type) -> Any:
    from ...runtime import devices

    return array if array.__class__ is cls else devices.backend_of_type(cls).asarray(array)
