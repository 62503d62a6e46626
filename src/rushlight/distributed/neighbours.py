"""Sums of many bytes between ranks of one host, made where the numbers lie.

Each rank reduces one share: piece by piece it reads the other ranks' numbers out of their memory into its cache, adds
them to its own and writes the sum to whoever gets it. So an all-reduce moves as many bytes as a copy.
Linux lets the processes of one user do that (process_vm_readv) where no setting forbids it; whether it does is found
out by trying, and what one rank cannot reach of another goes by MPI.
"""

from __future__ import annotations

import ctypes
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .reduce_op import ReduceOp, combine

__all__ = ["Neighbours"]

_PIECE = 256 << 10  # two of them stay in a core's cache
_DONE, _NOT_REACHED, _BROKEN = 0, 1, 2


class _NotReached(Exception):
    pass


class _Span(ctypes.Structure):
    _fields_ = [("start", ctypes.c_void_p), ("size", ctypes.c_size_t)]


def _calls() -> tuple[Any, Any] | None:
    """The system's calls that read and write another process's memory."""
    library = ctypes.CDLL(None)
    try:
        found = library.process_vm_readv, library.process_vm_writev
    except AttributeError:  # not Linux
        return None
    for call in found:
        span = ctypes.POINTER(_Span)
        call.argtypes = [ctypes.c_int, span, ctypes.c_ulong, span, ctypes.c_ulong, ctypes.c_ulong]
        call.restype = ctypes.c_ssize_t
    return found


class Neighbours:
    """The ranks of a group that are all on one host and reach each other's memory.

    `tell` gives every rank a number of each: what an MpiEngine does, with its patience.
    """

    def __init__(self, rank: int, size: int, tell: Callable[[int], list[int]]) -> None:
        self.rank, self.size, self._tell = rank, size, tell
        self._calls = _calls()
        self._pids = tell(os.getpid())
        self._buffers = np.empty((2, _PIECE), np.uint8)
        # Another host has processes of the same numbers: only a neighbour holds what it says it holds.
        secret, read = np.array([secrets.randbits(62)]), np.zeros(1, np.int64)
        held, places, into = tell(int(secret[0])), tell(secret.ctypes.data), read.ctypes.data
        reached = all(self._read(r, into, at, 8) and read[0] == held[r] for r, at in enumerate(places))
        self.all_reached = all(tell(int(reached)))

    def _move(self, call: int, rank: int, here: int, there: int, size: int) -> bool:
        if self._calls is None:
            return False
        pid, spans = self._pids[rank], (_Span(here, size), _Span(there, size))
        return self._calls[call](pid, spans[0], 1, spans[1], 1, 0) == size

    def _read(self, rank: int, here: int, there: int, size: int) -> bool:
        return self._move(0, rank, here, there, size)

    def _write(self, rank: int, here: int, there: int, size: int) -> bool:
        return self._move(1, rank, here, there, size)

    def reduce(self, a: np.ndarray, op: ReduceOp, to: Sequence[int]) -> list[np.ndarray]:
        """The `a` of the ranks `to` becomes the reduction of all; answers the parts that are still to be reduced."""
        flat = a.reshape(-1)
        bounds = [flat.size * r // self.size for r in range(self.size + 1)]
        ends = self._share(flat, bounds[self.rank], bounds[self.rank + 1], op, to)
        return [flat[bounds[r] : bounds[r + 1]] for r, end in enumerate(ends) if end != _DONE]

    def reduce_scatter(self, out: np.ndarray, a: np.ndarray, op: ReduceOp) -> bool:
        """Each rank's `out` becomes its share of the reduction of all; False if some could not be reached."""
        first = out.size * self.rank
        ends = self._share(a.reshape(-1), first, first + out.size, op, (), out.reshape(-1))
        return not any(ends)

    def _share(
        self, a: np.ndarray, first: int, end: int, op: ReduceOp, to: Sequence[int], out: np.ndarray | None = None
    ) -> list[int]:
        """Reduce a[first:end] of all ranks, for the ranks `to` and into `out`; how each rank's share has ended."""
        try:
            places = self._tell(a.ctypes.data)
            ends = self._tell(self._pieces(a, first, end, op, to, out, places))
        except BaseException:
            # Others may still read and write here when this rank has lost its patience: the memory stays.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(a))
            raise
        if _BROKEN in ends:
            raise RuntimeError(f"rank {ends.index(_BROKEN)} lost sight of the memory of other ranks in the middle of a sum")  # fmt: skip
        return ends

    def _pieces(
        self, a: np.ndarray, first: int, end: int, op: ReduceOp, to: Sequence[int], out: np.ndarray | None, places: list[int]
    ) -> int:  # fmt: skip
        unit, mine = a.itemsize, places[self.rank]
        given, total = self._buffers[:, : _PIECE // unit * unit].view(a.dtype)
        buffer, others = given.ctypes.data, [(self.rank + k) % self.size for k in range(1, self.size)]

        def parts(own: np.ndarray, at: int) -> Iterator[np.ndarray]:
            yield own
            for rank in others:
                if not self._read(rank, buffer, places[rank] + at, own.nbytes):
                    raise _NotReached
                yield given[: own.size]

        for begin in range(first, end, given.size):
            own, at = a[begin : min(begin + given.size, end)], begin * unit
            into = own if self.rank in to else total[: own.size]
            if out is not None:
                into = out[begin - first :][: own.size]
            try:
                combine(op, parts(own, at), into)
            except _NotReached:
                return _NOT_REACHED if begin == first else _BROKEN
            sum_at = mine + at if into is own else total.ctypes.data
            for rank in to:
                if rank != self.rank and not self._write(rank, sum_at, places[rank] + at, own.nbytes):
                    return _BROKEN
        return _DONE
