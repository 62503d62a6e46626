"""Batches on their way to a GPU: page-locked memory takes their values, so that the host need not wait for the copy.

From pageable memory the driver copies in pieces of its own and waits for the work before it in the stream. A ring of
page-locked buffers takes the values at once; the GPU fetches them when it comes to it. A buffer is written again when
its own copy is over, which was asked for several batches ago.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....base.locks import new_lock

LEAST, MOST = 64 << 10, 8 << 20  # bytes; less goes with the command itself, more is rare
_BUFFERS = 4


class Ring:
    """Buffers of one size, taken in turn; each has the mark that ends its last copy."""

    def __init__(self, nbytes: int, allocate: Callable, mark: Callable[[], Any]) -> None:
        self.nbytes = nbytes
        self.allocate, self.mark = allocate, mark
        self.buffers: list[tuple[np.ndarray, Any]] = []
        self.at = 0

    def send(self, a: np.ndarray, copy: Callable[[np.ndarray], None]) -> None:
        """Let `copy` fetch the values that `a` has now, whatever becomes of `a`; only an old copy is waited for."""
        if self.at == len(self.buffers):
            self.buffers.append((self.allocate((self.nbytes,), np.dtype(np.uint8)), self.mark()))
        else:
            self.buffers[self.at][1].synchronize()
        buffer, mark = self.buffers[self.at]
        np.copyto(buffer[: a.nbytes], a.reshape(-1).view(np.uint8))
        copy(buffer)
        mark.record()
        self.at = (self.at + 1) % _BUFFERS


class Rings:
    """Rings by GPU and size: the next power of two."""

    def __init__(self, allocate: Callable, mark: Callable[[], Any]) -> None:
        self.allocate, self.mark = allocate, mark
        self.lock = new_lock()
        self.found: dict[tuple[int, int], Ring] = {}

    def send(self, index: int, a: np.ndarray, copy: Callable[[np.ndarray], None]) -> None:
        """As `Ring.send`, with a buffer of GPU `index` that is large enough."""
        nbytes = 1 << (a.nbytes - 1).bit_length()
        with self.lock:
            ring = self.found.get((index, nbytes))
            if ring is None:
                ring = self.found[index, nbytes] = Ring(nbytes, self.allocate, self.mark)
            ring.send(a, copy)


def is_staged(a: np.ndarray) -> bool:
    """Whether an array goes through a ring: of the size of batches, gapless, and plain bytes."""
    return LEAST <= a.nbytes <= MOST and a.flags.c_contiguous and a.dtype.kind in "fiubc"
