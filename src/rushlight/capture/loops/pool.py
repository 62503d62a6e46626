"""Arrays that a path hands out for one result: laid out alike, taken again when nobody holds them."""

from __future__ import annotations

from sys import getrefcount
from typing import Any

import numpy as np

from ...core.references import unwatched
from ..program.slots import Slot
from ..record.recorder import CannotCapture

_MOST = 4  # arrays that are kept for another time


class Pool:
    """The arrays of one result; `lent` is the program's own, which needs no copy."""

    __slots__ = ("arrays", "chunks", "free", "lent", "slot")

    def __init__(self, slot: Slot, chunks: Any = None) -> None:
        if slot.offset or slot.extent() != (0, slot.nbytes) or slot.storage.nbytes != slot.nbytes:
            raise CannotCapture("a result has gaps in its memory")
        self.slot = slot
        self.chunks = chunks  # addresses without memory for arrays that nobody is expected to hold
        self.arrays: list[Any] = []
        self.free: list[int] = []  # references of each when nobody else has one
        self.lent: Any = None

    def lend(self, arrays: list[Any]) -> None:
        """Take the array that a program fills out of the list, to be handed out where it is free."""
        if not self.arrays:
            self.arrays.append(arrays.pop())
            self.free.append(0)
            self.lent = self.arrays[0]
            self.measure()

    def measure(self) -> None:
        """Count references now, while nobody else has any."""
        for i in range(len(self.arrays)):
            self.free[i] = getrefcount(self.arrays[i])

    def take(self) -> Any:
        """An array that nobody holds."""
        arrays, free = self.arrays, self.free
        for i in range(len(arrays)):
            if getrefcount(arrays[i]) == free[i]:
                return arrays[i]
        made = self._more()
        if len(arrays) < _MOST:
            arrays.append(made)
            free.append(
                _ALONE + 1
            )  # not counted here: whoever looks at this frame may have one more
        return made

    def _more(self) -> Any:
        slot = self.slot
        if self.chunks is None or len(self.arrays) >= _MOST or is_reserved(slot):
            return self.blank(slot)
        return self.chunks.array(slot.shape, slot.dtype, slot.strides, slot.nbytes)

    def is_bare(self) -> bool:
        """Whether its arrays may have no memory yet."""
        return self.chunks is not None or is_reserved(self.slot)

    def counts(self, array: Any) -> int:
        """How many references the pool and its program have to an array that nobody else holds."""
        for a, free in zip(self.arrays, self.free):
            if a is array:
                return free - _ALONE
        return 0

    def is_held(self, array: Any, ours: int) -> bool:
        """Whether somebody holds an array, beside the pool, this call and `ours`."""
        for i in range(len(self.arrays)):
            if self.arrays[i] is array:
                return getrefcount(self.arrays[i]) > self.free[i] + ours + _CALLED
        return getrefcount(array) > _ALONE + ours + _CALLED

    @staticmethod
    def blank(slot: Slot) -> Any:
        """Memory of its own laid out as a slot.

        The array must be the memory's owner: NumPy makes a view of a view one of the owner, and then nobody could tell
        from the references to an array that views of it are held.
        """
        if slot.storage.device == "cpu":
            return np.ndarray(slot.shape, slot.dtype, strides=slot.strides)
        import cupy

        from ...runtime.cuda.memory.reserved import reserved

        if is_reserved(slot):
            return reserved(slot.shape, slot.dtype, slot.strides, slot.nbytes)
        return cupy.ndarray(
            slot.shape, slot.dtype, cupy.cuda.alloc(max(slot.nbytes, 1)), slot.strides
        )


def is_reserved(slot: Slot) -> bool:
    """Whether arrays that lie as a slot have memory only once somebody needs it."""
    if slot.storage.device == "cpu":
        return False
    from ...runtime.cuda.memory.reserved import LEAST, can_reserve

    return slot.nbytes >= LEAST and can_reserve()


def small_addresses() -> Any:
    """Addresses on the GPU for small arrays that have memory only once somebody needs it; None where a driver has none."""
    from ...runtime.cuda.memory.reserved import Chunks, can_reserve

    return Chunks() if can_reserve() else None


class _Measure(Pool):
    """Finds how many references a call adds, which differs between versions of Python."""

    def __init__(self) -> None:
        self.arrays, self.free = [object()], [0]
        self.measure()

    def added(self, array: Any, ours: int) -> int:
        return getrefcount(self.arrays[0]) - self.free[0] - ours


def _measured() -> tuple[int, int]:
    found = _Measure()
    now = [found.arrays[0]]
    called = found.added(now[0], 1)
    alone = [object()]
    return called, getrefcount(alone[0]) - 1


_CALLED, _ALONE = unwatched(_measured)
