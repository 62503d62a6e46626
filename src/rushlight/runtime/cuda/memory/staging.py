"""Batches on their way to a GPU: page-locked memory takes their values, so that the host need not wait for the copy.

From pageable memory the driver copies in pieces of its own and waits for the work before it in the stream. A ring of
page-locked buffers takes the values at once; the GPU fetches them when it comes to it, large ones in a stream of their
own while the last step is at work (`host_copies.py`). A buffer is written again when its own copy is over, which was
asked for several batches ago.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ....base.locks import new_lock

LEAST, MOST = 64 << 10, 64 << 20  # bytes; less goes with the command itself, more is rare
AHEAD = 1 << 20  # bytes from which a copy takes longer than sending it ahead costs
_TO_DEVICE, _ON_DEVICE = 1, 3  # kinds of copies
_MANY = 8 << 20  # bytes of a ring with four buffers; larger ones have two


class Ring:
    """Buffers of one size, taken in turn; each has the mark that ends its last copy."""

    def __init__(self, nbytes: int, allocate: Callable, mark: Callable[[], Any]) -> None:
        self.nbytes = nbytes
        self.allocate, self.mark = allocate, mark
        self.buffers: list[tuple[np.ndarray, Any]] = []
        self.at, self.count = 0, 4 if nbytes <= _MANY else 2

    def send(self, a: np.ndarray, copy: Callable[[np.ndarray, Any], None]) -> None:
        """Let `copy` fetch the values that `a` has now, whatever becomes of `a`; only an old copy is waited for.

        It records the mark behind that.
        """
        if self.at == len(self.buffers):
            self.buffers.append((self.allocate((self.nbytes,), np.dtype(np.uint8)), self.mark()))
        else:
            self.buffers[self.at][1].synchronize()
        buffer, mark = self.buffers[self.at]
        np.copyto(buffer[: a.nbytes], a.reshape(-1).view(np.uint8))
        copy(buffer, mark)
        self.at = (self.at + 1) % self.count


class Rings:
    """Rings by GPU and size: the next power of two."""

    def __init__(self, allocate: Callable, mark: Callable[[], Any]) -> None:
        self.allocate, self.mark = allocate, mark
        self.lock = new_lock()
        self.found: dict[tuple[int, int], Ring] = {}

    def send(self, index: int, a: np.ndarray, copy: Callable[[np.ndarray, Any], None]) -> None:
        """As `Ring.send`, with a buffer of GPU `index` that is large enough."""
        nbytes = 1 << (a.nbytes - 1).bit_length()
        with self.lock:
            ring = self.found.get((index, nbytes))
            if ring is None:
                ring = self.found[index, nbytes] = Ring(nbytes, self.allocate, self.mark)
            ring.send(a, copy)


class _Landing:
    """Memory of a GPU where batches arrive, and the mark behind its last use."""

    def __init__(self, memory: Any, free: Any) -> None:
        self.memory, self.free = memory, free


class Landings:
    """Where large batches arrive in a stream of their own; the stream of the program takes them over from there.

    Not to their own memory at once: who had that before may still be at work in the program's stream.
    """

    def __init__(self, allocate: Callable, mark: Callable, new_stream: Callable, copy: Callable) -> None:
        self.allocate, self.mark, self.new_stream, self.copy = allocate, mark, new_stream, copy
        self.senders: dict[int, Any] = {}  # by GPU
        self.found: dict[tuple[int, int], _Landing] = {}  # by GPU and the buffer that fills it

    def send(self, index: int, buffer: np.ndarray, to: int, nbytes: int, mark: Any, stream: Any) -> None:
        """Copy a buffer to GPU `index` now, and to the address `to` when `stream` comes to it."""
        source = buffer.__array_interface__["data"][0]
        sender = self.senders.get(index)
        if sender is None:
            sender = self.senders[index] = self.new_stream(index)
        landing = self.found.get((index, source))
        if landing is None:
            landing = _Landing(self.allocate(buffer.nbytes), self.mark())
            landing.free.record(stream)  # behind whoever had this memory before
            self.found[index, source] = landing
        sender.wait_event(landing.free)
        self.copy(landing.memory.ptr, source, nbytes, _TO_DEVICE, sender.ptr)
        mark.record(sender)
        stream.wait_event(mark)
        self.copy(to, landing.memory.ptr, nbytes, _ON_DEVICE, stream.ptr)
        landing.free.record(stream)


def is_staged(a: np.ndarray) -> bool:
    """Whether an array is copied without waiting: of the size of batches, gapless, and plain bytes."""
    return 0 < a.nbytes <= MOST and a.flags.c_contiguous and a.dtype.kind in "fiubc"
