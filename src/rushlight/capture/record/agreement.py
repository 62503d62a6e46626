"""Whether two recorded calls are the same program: kernels, options, operands, gradients left and results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.spelling import home_of
from ..program.slots import CONSTANT, Slot
from ..state.kinds import equal
from .recorder import same

if TYPE_CHECKING:
    from .recording import Recording

_OF_BASE = __name__.partition(".")[0] + ".base."  # dtypes, devices, sizes


def differs(mine: Recording, other: Recording) -> str | None:
    """Why two recordings are not the same program, or None."""
    ours, theirs = mine.program.instructions, other.program.instructions
    names: dict[int, int] = {}
    for a, b in zip(ours, theirs):
        if a.kernel is not b.kernel:
            return f"{a.name} at {a.line} was {b.name} at {b.line} the call before"
        if not same(a.attrs, b.attrs):
            return f"options of {a.name} at {a.line} differ from call to call"
        for x, y in zip((*a.inputs, *a.outputs), (*b.inputs, *b.outputs)):
            why = _slot_differs(mine, other, x, y, names)
            if why is not None:
                return f"{why} of {a.name} at {a.line} differs from call to call"
    if len(ours) != len(theirs):
        return f"{len(ours)} instructions, {len(theirs)} the call before"
    if _grads(mine) != _grads(other):
        return "the gradients it leaves differ from call to call"
    if not _same_makers(mine.leaf_makers, other.leaf_makers):
        return "what it returns differs from call to call"
    return None


def _grads(of: Recording) -> dict[int, tuple]:
    """What became of gradients, by tensor: those that stayed as they were are left out."""
    return {k: m[:1] for k, m in zip(of.leaf_keys, of.exit_grads) if m[0] != "kept"}


def _slot_differs(
    mine: Recording, other: Recording, x: Any, y: Any, names: dict[int, int]
) -> str | None:
    if x.__class__ is not Slot or y.__class__ is not Slot:
        return None if same(x, y) else "a number"
    if (x.shape, x.dtype, x.strides) != (y.shape, y.dtype, y.strides):
        return "a shape"
    if names.setdefault(x.storage.number, y.storage.number) != y.storage.number:
        return "an operand"
    if x.storage.fed or y.storage.fed:
        return None
    if x.storage.kind == CONSTANT and x.storage.array is not y.storage.array:
        first = mine.recorder.first_values[x.storage.number]
        second = other.recorder.first_values[y.storage.number]
        if not _same_values(first, second):
            return "a value made by Python"
    elif x.storage.array is not y.storage.array and x.storage.kind != CONSTANT:
        return "memory" if x.storage.array is not None else None
    return None


def _same_values(a: Any, b: Any) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if hasattr(a, "get"):  # CuPy
        a, b = a.get(), b.get()
    return a.tobytes() == b.tobytes()


def _same_makers(a: list[tuple], b: list[tuple]) -> bool:
    return len(a) == len(b) and all(map(_same_maker, a, b))


def _same_maker(a: tuple, b: tuple) -> bool:
    if a[0] != b[0]:
        return False
    if a[0] == "value":
        return equal(a[1], b[1]) or _same_constant(a[1], b[1])
    if a[0] == "view":
        (source, steps, quiet), (other, other_steps, other_quiet) = a[1], b[1]
        ends = source[0] == other[0] and source[1] is other[1]
        ops = [op for op, _ in steps] == [op for op, _ in other_steps]
        attrs = same([at for _, at in steps], [at for _, at in other_steps])
        return ends and ops and attrs and quiet == other_quiet
    if a[0] == "same":
        return a[1] is b[1]
    counters = [m[5] if len(m) > 5 else None for m in (a, b)]
    mine, theirs = [(c[0], c[1] if c[0] != "same" else id(c[1])) if c else c for c in counters]
    return same(a[1:2] + a[4:5], b[1:2] + b[4:5]) and mine == theirs


def _same_constant(a: Any, b: Any) -> bool:
    """Values of kinds that nobody can change, beside those of Python."""
    cls = type(a)
    if cls is not type(b):
        return False
    if isinstance(a, np.generic):
        return a.tobytes() == b.tobytes()
    if cls in (range, slice) or home_of(cls).startswith(_OF_BASE):
        return cls.__hash__ is not None and bool(a == b)
    return False
