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
from ..program.instructions import Instruction
from ..program.slots import MADE, Slot
from .piece import native

_NEVER = frozenset(
    "_sample_dirichlet _standard_gamma bernoulli binomial check copy_slices scatter_reduce multinomial one_hot "
    "poisson resize ctc_loss ctc_loss_grad histc histogram histogram_edges searchsorted".split()
)
# kernel -> the first operand that holds positions: all behind it do, or this one alone
_AT_SLOTS = {"index": 1, "index_grad": 1, "index_put": 2, "index_put_into": 2}
_AT_DIM = frozenset("index_select gather gather_grad scatter scatter_add".split())
_INTEGERS = frozenset("floor_divide remainder fmod trunc_divide gcd lcm pow".split())


def rows_inside(arrays: Sequence[Any], attrs: dict[str, Any]) -> bool:
    """Whether the positions are rows of the table (in C: `native/bind.c`)."""
    weight, indices = arrays[0], arrays[1]
    return within(indices, weight.shape[0])


def classes_inside(arrays: Sequence[Any], attrs: dict[str, Any]) -> bool:
    """Whether targets are classes, or ignored (in C, where none is ignored: `native/bind.c`)."""
    x, target = arrays[0], arrays[1]
    if x.ndim < 2 or within(target, x.shape[1]):
        return x.ndim > 1
    ignored = target == attrs.get("ignore_index", -100)
    return within(target[~ignored], x.shape[1])


def within(a: Any, size: int) -> bool:
    """Whether positions lie in [0, size)."""
    found = None if native is None else native.within(a, size)
    if found is not None:
        return found
    return a.size == 0 or (int(a.min()) >= 0 and int(a.max()) < size)


def positions(
    name: str, operands: Sequence[Any], attrs: dict[str, Any]
) -> list[tuple[int, int]] | None:
    """Operands of a kernel that hold positions, and how many there are; None where a mask is among them."""
    if name == "embedding":
        return [(1, operands[0].shape[0])]
    shape = attrs["shape"] if name in ("index_grad", "gather_grad") else operands[0].shape
    if name in _AT_DIM:
        found = [(1, shape[attrs["dim"]] if shape else 1)]
    else:
        dims = [d for d, taken in enumerate(attrs["slots"]) if taken]
        found = [(i, shape[d]) for i, d in enumerate(dims, _AT_SLOTS[name])]
    return found if all(operands[i].dtype.kind in "iu" for i, _ in found) else None


def _all_within(
    places: tuple[tuple[int, int], ...], arrays: Sequence[Any], attrs: dict[str, Any]
) -> bool:
    """Whether operands lie below their sizes (in C: `native/bind.c`)."""
    return all(within(arrays[i], size) for i, size in places)


# kernel -> which operand holds the values, and whether they are harmless
_CHECKS: dict[str, tuple[int, Callable[[Sequence[Any], dict[str, Any]], bool]]] = {
    "embedding": (1, rows_inside),
    "cross_entropy_fused": (1, classes_inside),
    "nll_loss": (1, classes_inside),
}


def look_of(
    kernel: Kernel, arrays: Sequence[Any], call: tuple[Sequence[Any], dict[str, Any]] | None = None
) -> tuple | None:
    """The check of values that a kernel on the CPU needs before it may wait, or None.

    It is an operand, a function of arrays and attributes, and maybe which operands have to lie below which numbers. What
    the stretch made is None among `arrays`; `call` has the operands' shapes, and the attributes.
    """
    name = kernel.name
    if name in _AT_DIM or name in _AT_SLOTS:
        if call is None:
            return None
        found = positions(name, *call) or ()
        seen = tuple([(i, size) for i, size in found if arrays[i].__class__ is np.ndarray])
        return (seen[0][0], partial(_all_within, seen), seen) if seen else None
    check = _CHECKS.get(name)
    return check if check is not None and arrays[check[0]].__class__ is np.ndarray else None


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
    hosts = [a for a in arrays if a.__class__ is np.ndarray]
    if not hosts:
        return False
    name = kernel.name
    if name in _NEVER or name.startswith("linalg_"):
        return True
    if name in _INTEGERS:
        return all(a.dtype.kind in "iub" for a in hosts)
    picks = name in _AT_SLOTS or name in _AT_DIM
    if picks and (fits is None or attrs is None):
        return True
    if fits is not None and attrs is not None and (picks or name == "embedding"):
        places = positions(name, arrays, attrs)
        return places is None or not all(fits(arrays[i], size) for i, size in places)
    found = look_of(kernel, arrays)
    return found is not None and is_made(arrays[found[0]])


def may_refuse(kernel: Kernel, operands: Sequence[Any], device: str) -> bool:
    """Whether a kernel may raise because of values, so that it matters even where nobody needs its result."""
    if device != "cpu":
        return False  # a GPU does not raise
    name = kernel.name
    if name in _CHECKS or name == "embedding_bag" or name.startswith("linalg_"):
        return True
    return name in _INTEGERS and all(a.dtype.kind in "iub" for a in operands if hasattr(a, "dtype"))


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
        """The least and the largest value that a kernel can answer, from its name, options and shapes alone."""
        name, attrs = ins.name, ins.attrs
        if name == "arange":
            start, step, n = attrs["start"], attrs["step"], attrs["size"][0]
            if start.__class__ is not int or step.__class__ is not int or not n:
                return None
            ends = start, start + (n - 1) * step
            return min(ends), max(ends)
        if name in ("argmax", "argmin"):
            x, dim = ins.inputs[0], attrs["dim"]
            return 0, (x.size if dim is None or not x.shape else x.shape[dim]) - 1
        if name == "randint":
            return attrs["low"], attrs["high"] - 1
        if name == "randperm":
            return 0, attrs["size"][0] - 1
        if name in ("clone", "snapshot") and ins.inputs[0].dtype == ins.outputs[0].dtype:
            return self.made.get(ins.inputs[0].storage.number)
        return None

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
