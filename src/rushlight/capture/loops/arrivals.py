"""Batches that a loop brings to a GPU: each stretch of a path brings the same kinds of tensors there, one after the other.

The plain way asks for memory for each, through a dozen functions. Here two arrays for each stand ready, one for the batch
that the loop's variable still holds and one for the next, and C copies the values into one that nobody holds. They are taken
at once, as always; a batch that is kept keeps its array.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..in_c import native

_MOST = 2  # arrays for each tensor
_FIRST = 64  # tensors of a stretch that may have some


class Arrivals:
    """Arrays for the k-th tensor that is brought to a GPU in a stretch of one path."""

    __slots__ = ("at", "changed", "copy", "rows")

    def __init__(self, changed: dict[int, int]) -> None:
        self.changed = changed  # memory of the host that the path changes
        self.copy: tuple[Any, ...] = ()  # cudaMemcpyAsync, and who knows the stream
        self.rows: list[Any] = []  # as native/arrive.c reads them
        self.at = 0

    def take(self, cursor: Any, x: Any, device: Any) -> Any:
        """The copy of a tensor on the device, or None where it has to go the plain way."""
        rows, at = self.rows, self.at
        self.at = at + 1
        if at >= len(rows) or rows[at] is None:
            return None
        return native.arrive(cursor, rows[at], self.changed, *self.copy, x, device)

    def note(self, at: int, x: Any, device: Any, out: Any) -> None:
        """What the plain way has given for a tensor: such an array is made ready for the next one."""
        a = out._a
        if x._a.__class__ is not np.ndarray or a.__class__ is np.ndarray:
            return  # it goes elsewhere
        if len(self.rows) <= at < _FIRST:
            self.rows += [None] * (at - len(self.rows)) + [self._row(x._a, a, device)]
        elif at < len(self.rows):
            row = self.rows[at]
            if row is not None and len(row[3]) < _MOST and _are_alike(a, row[3][0]):
                row[3].append(_empty(a))

    def _row(self, x: Any, a: Any, device: Any) -> tuple | None:
        from ...runtime.cuda.memory.host_copies import small_copies

        copies = small_copies()
        if copies is None or not 0 < a.nbytes < copies[0] or a.dtype.kind not in "fiub":
            return None
        if x.dtype != a.dtype or x.shape != a.shape or not a._c_contiguous:
            return None
        self.copy = copies[1:]
        return device, x.dtype, x.shape, [_empty(a)]


def _empty(a: Any) -> Any:
    return a.__class__(a.shape, a.dtype)


def _are_alike(a: Any, b: Any) -> bool:
    return a.shape == b.shape and a.dtype == b.dtype and a._c_contiguous
