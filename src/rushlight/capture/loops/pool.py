"""Arrays that a path hands out for one result: laid out alike, taken again when nobody holds them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..owners import Owned
from ..program.slots import Slot
from ..record.recorder import CannotCapture

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
