"""Outlets: how what a path computes leaves it, over memory of its own: results of loops, gradients, versions of what it has written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.inplace import bump
from ..core.memory import copy_as_it_lies
from ..core.tensor import Tensor, tensor_over
from .owners import Owned, alone_check
from .program.slots import Slot
from .record.recorder import CannotCapture

_MOST = 4  # arrays that are kept for another time


class Pool(Owned):
    """The arrays of one result; `lent` is the program's own, which needs no copy."""

    __slots__ = ("chunks", "lent", "slot")

    def __init__(self, slot: Slot, chunks: Any = None) -> None:
        if slot.offset or slot.extent() != (0, slot.nbytes) or slot.storage.nbytes != slot.nbytes:
            raise CannotCapture("a result has gaps in its memory")
        super().__init__([])
        self.slot = slot
        self.chunks = chunks  # addresses without memory for arrays that nobody is expected to hold
        self.lent: Any = None

    def lend(self, arrays: list[Any]) -> None:
        """Take the array that a program fills out of the list, to be handed out where it is free."""
        if not self.arrays:
            self.arrays.append(arrays.pop())
            self.free.append(0)
            self.lent = self.arrays[0]
            self.measure()

    def take(self) -> Any:
        """An array that nobody holds."""
        found = self.idle()
        if found is not None:
            return found
        made = self._more()
        if len(self.arrays) < _MOST:
            self.keep(made)
        return made

    def _more(self) -> Any:
        slot = self.slot
        if self.chunks is None or len(self.arrays) >= _MOST or is_reserved(slot):
            return self.blank(slot)
        return self.chunks.array(slot.shape, slot.dtype, slot.strides, slot.nbytes)

    def is_bare(self) -> bool:
        """Whether its arrays may have no memory yet."""
        return self.chunks is not None or is_reserved(self.slot)

    @staticmethod
    def blank(slot: Slot) -> Any:
        """Memory of its own laid out as a slot.

        The array must be the memory's owner: NumPy makes a view of a view one of the owner, and then nobody could tell
        from the references to an array that views of it are held.
        """
        if slot.storage.device == "cpu":
            return np.ndarray(slot.shape, slot.dtype, strides=slot.strides)
        import cupy

        from ..runtime.cuda.memory.reserved import reserved

        if is_reserved(slot):
            return reserved(slot.shape, slot.dtype, slot.strides, slot.nbytes)
        return cupy.ndarray(slot.shape, slot.dtype, cupy.cuda.alloc(max(slot.nbytes, 1)), slot.strides)


def is_reserved(slot: Slot) -> bool:
    """Whether arrays that lie as a slot have memory only once somebody needs it."""
    if slot.storage.device == "cpu":
        return False
    from ..runtime.cuda.memory.reserved import LEAST, can_reserve

    return slot.nbytes >= LEAST and can_reserve()


def small_addresses() -> Any:
    """Addresses on the GPU for small arrays that have memory only once somebody needs it; None where a driver has none."""
    from ..runtime.cuda.memory.reserved import Chunks, can_reserve

    return Chunks() if can_reserve() else None


class Gradients:
    """The `.grad` of parameters after a replay, where the program has memory of its own for them.

    The next replay writes the same memory again. That is what a step does that sets gradients to None
    and makes them anew, as long as nobody else looks at the old ones. Reference counts say so, which
    are compared with those measured when nobody else could hold a reference.
    """

    def __init__(self, array_type: type) -> None:
        self.array_type = array_type
        self.leaves: list[Tensor] = []
        self.tensors, self.memory = Owned([]), Owned([])
        self.versions: list[int] = []  # of their tensors, where some were written
        self.there = False  # whether the leaves have them already
        self.alone: Callable[[], bool] | None = None  # whether nobody else holds any

    @property
    def arrays(self) -> list[Any]:
        """The program's own memory for them."""
        return self.memory.arrays

    def attach(self, leaves: list[tuple[Tensor, int, int]], outs: tuple) -> None:
        """Make the program's arrays the gradients of `leaves`, written as often as was recorded."""
        if not self.leaves:
            self.leaves = [t for t, _, _ in leaves]
            self.tensors = Owned([tensor_over(outs[i], self.array_type) for _, i, _ in leaves])
            self.memory = Owned([t._a for t in self.tensors.arrays])
            self.versions = [n for _, _, n in leaves] if any(n for _, _, n in leaves) else []
        for t, n in zip(self.tensors.arrays, self.versions):
            t._ver = [n]
        if self.there:
            return
        for leaf, t in zip(self.leaves, self.tensors.arrays):
            leaf._grad = t

    def measure(self) -> None:
        """Count references when only the leaves and we have any."""
        if self.alone is None:
            self.tensors.measure()
            self.memory.measure()
            self.alone = alone_check(self.leaves, self.tensors, self.memory)

    def take_back(self) -> bool:
        """Before memory is written again: tensors that others hold get their values for themselves.

        False when an array elsewhere shows the memory, which must then be left to it.
        """
        self.there = self.alone is not None and self.alone()
        if self.there:
            return True
        tensors, arrays = self.tensors.arrays, self.memory.arrays
        counts = [(self.tensors.beyond(i), self.memory.beyond(i)) for i in range(len(tensors))]
        for i, (of_tensor, of_array) in enumerate(counts):
            if of_array > 0:
                return False
            mine = self.leaves[i]._grad is tensors[i]
            if tensors[i]._a is not arrays[i]:  # somebody gave it other memory
                tensors[i] = tensor_over(arrays[i], self.array_type)
            elif of_tensor > -(not mine):
                tensors[i]._a = copy_as_it_lies(arrays[i])
                tensors[i] = tensor_over(arrays[i], self.array_type)
        return True


Place = Callable[[Tensor], "int | None"]  # which argument a tensor is; None for one that is kept


class Counters:
    """How far a recorded call raised each counter.

    A write raises the counter of its tensor, and so of every tensor that shares it. Where two shared one when the call
    was recorded it is not known whose writes they were, so a call whose arguments do not share it needs a recording of
    its own. Arguments that share one now and did not before are right: each adds its own writes.
    """

    def __init__(self, bumps: Sequence[tuple[Tensor, int]], place: Place) -> None:
        together: dict[int, list[tuple[Tensor, int]]] = {}
        for t, n in bumps:
            together.setdefault(id(t._ver), []).append((t, n))
        self.kept: list[tuple[list[int], int]] = []  # of tensors that outlive every call
        self.given: list[tuple[int, int]] = []  # of one argument
        self.shared: list[tuple[list[int], Any]] = []  # arguments, and the kept counter or None
        for group in together.values():
            places = sorted({at for t, _ in group if (at := place(t)) is not None})
            cell, n = group[0][0]._ver, group[0][1]
            if not places:
                self.kept.append((cell, n))
                continue
            self.given.append((places[0], n))
            lasting = cell if any(place(t) is None for t, _ in group) else None
            if len(places) > 1 or lasting is not None:
                self.shared.append((places, lasting))

    def differ(self, tensors: Sequence[Tensor]) -> bool:
        """Whether arguments do not share the counters that they shared when the call was recorded."""
        for places, lasting in self.shared:
            cells = [None if tensors[at] is None else tensors[at]._ver for at in places]
            cell = cells[0] if lasting is None else lasting
            if cell is None or any(c is not cell for c in cells):
                return True
        return False

    def count(self, tensors: Sequence[Tensor]) -> None:
        """The program has run: what it wrote is newer now."""
        for cell, n in self.kept:
            cell[0] += n
        for at, n in self.given:
            bump(tensors[at], n)
