"""The engine between hosts: collectives over NumPy arrays by MPI's non-blocking calls.

Every call is started without blocking and waited for by `patience.py`, so that a rank that never comes is a
timeout with names and not a hang. Dtypes and reductions that MPI has are its own; everything else (bfloat16,
float16, bool, averages of integers) is exchanged as bytes and combined by `reduce_op.combine`: first every rank
gets one share of all ranks' arrays, then everybody gets the results. That moves as many bytes as a ring does.
Large sums between ranks of one host are made without MPI, where the numbers lie (`neighbours.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .mpiexec import library_of
from .neighbours import Neighbours
from .reduce_op import PREMUL_SUM, ReduceOp, combine, finish, prepare

__all__ = ["MpiEngine"]

# From here on ranks meet first: late ones are waited for gently, and the bytes then move at full speed.
_LARGE = 256 << 10
_NEAR = 4 << 20  # from here on sums between neighbours are quicker than MPI's
# Sums go in pieces of so many bytes: what MPI keeps for itself meanwhile stays in the processor's caches.
_PIECE = 4 << 20
_MOST = 1 << 30  # moves in larger ones: MPI counts in a C int
_NATIVE = {np.dtype(c) for c in "bBhHiIlLqQfdFD"}


def _pieces(a: np.ndarray, nbytes: int) -> list[np.ndarray]:
    flat, step = a.reshape(-1), nbytes // a.itemsize
    return [flat[at : at + step] for at in range(0, max(flat.size, 1), step)]


class MpiEngine:
    """The collectives of one group of ranks over one communicator."""

    kind = "mpi"

    def __init__(self, comm: Any, wait: Callable[[Any, str, bool], None]) -> None:
        self.mpi = library_of(comm)
        self.comm = comm  # collectives; a second one keeps messages between two ranks apart
        self.pairs = comm.Dup()
        self.rank, self.size = comm.Get_rank(), comm.Get_size()
        self._wait_for = wait
        self._busy = False
        self._neighbours: Neighbours | None = None

    def _wait(self, request: Any, doing: str) -> None:
        self._wait_for(request, doing, self._busy)

    def _meet(self, nbytes: int, doing: str) -> None:
        """Before many bytes move: wait until all ranks are here."""
        self._busy = False
        if nbytes >= _LARGE:
            self._wait_for(self.comm.Ibarrier(), doing, False)
            self._busy = True

    def _tell(self, number: int) -> list[int]:
        """A number of each rank, told to all."""
        every = np.empty(self.size, np.int64)
        self._wait(self.comm.Iallgather(np.array([number]), every), "exchange of addresses")
        return every.tolist()

    def _near(self, nbytes: int) -> Neighbours | None:
        """Where many bytes are added up and all ranks reach each other's memory: who does it."""
        if nbytes < _NEAR:
            return None
        if self._neighbours is None:
            self._neighbours = Neighbours(self.rank, self.size, self._tell)
        return self._neighbours if self._neighbours.all_reached else None

    def _op(self, op: ReduceOp, dtype: np.dtype) -> Any:
        """MPI's own reduction, or None."""
        if dtype not in _NATIVE:
            return None
        m = self.mpi
        return {
            "SUM": m.SUM, "AVG": m.SUM, "PREMUL_SUM": m.SUM, "PRODUCT": m.PROD, "MIN": m.MIN,
            "MAX": m.MAX, "BAND": m.BAND, "BOR": m.BOR, "BXOR": m.BXOR,
        }[op.kind.name]  # fmt: skip

    def _bytes(self, a: np.ndarray) -> Any:
        """An array as MPI sees it when it only moves: the widest unit that fits, to count less."""
        raw = a.reshape(-1).view(np.uint8)
        for unit, kind in ((8, self.mpi.INT64_T), (4, self.mpi.INT32_T)):
            if a.dtype.itemsize % unit == 0:
                return [raw, raw.size // unit, kind]
        return [raw, raw.size, self.mpi.BYTE]

    # -- reductions -------------------------------------------------------------------------------

    def all_reduce(self, a: np.ndarray, op: ReduceOp) -> None:
        """Every rank's `a` becomes the reduction of all."""
        if op.kind is PREMUL_SUM:
            a[...] = prepare(op, a)
        self._meet(a.nbytes, "all_reduce")
        near, native = self._near(a.nbytes), self._op(op, a.dtype)
        for part in [a] if near is None else near.reduce(a, op, range(self.size)):
            if native is None:
                self._exchange_and_reduce(part, op)
                continue
            for piece in _pieces(part, _PIECE):
                self._wait(self.comm.Iallreduce(self.mpi.IN_PLACE, piece, native), "all_reduce")
                finish(op, piece, self.size)

    def _exchange_and_reduce(self, a: np.ndarray, op: ReduceOp) -> None:
        share = -(-a.size // self.size)
        mine = np.zeros(share * self.size, a.dtype)
        mine[: a.size] = a.reshape(-1)
        theirs, part = np.empty_like(mine), np.empty(share, a.dtype)
        self._wait(self.comm.Ialltoall(self._shares(mine), self._shares(theirs)), "all_reduce")
        combine(op, theirs.reshape(self.size, share), part)
        self._wait(self.comm.Iallgather(self._bytes(part), self._shares(mine)), "all_reduce")
        a.reshape(-1)[...] = mine[: a.size]

    def _shares(self, a: np.ndarray) -> Any:
        """A flat array as one equal share for each rank."""
        buffer = self._bytes(a)
        return [buffer[0], buffer[1] // self.size, buffer[2]]

    def reduce(self, a: np.ndarray, root: int, op: ReduceOp) -> None:
        """Rank `root`'s `a` becomes the reduction of all; the others' stay."""
        mine, here = prepare(op, a), self.rank == root
        if here and mine is not a:
            a[...] = mine
        if here:
            mine = a
        self._meet(a.nbytes, "reduce")
        near, native = self._near(a.nbytes), self._op(op, a.dtype)
        for part in [mine] if near is None else near.reduce(mine, op, [root]):
            if native is None:
                parts = np.empty((self.size, part.size), a.dtype) if here else None
                self._gather(parts, part.reshape(-1), root)
                if parts is not None:
                    combine(op, parts, part.reshape(-1))
                continue
            for piece in _pieces(part, _PIECE):
                given = (self.mpi.IN_PLACE, piece) if here else (piece, None)
                self._wait(self.comm.Ireduce(*given, native, root), "reduce")
                if here:
                    finish(op, piece, self.size)

    def reduce_scatter(self, out: np.ndarray, a: np.ndarray, op: ReduceOp) -> None:
        """Each rank gets its share, by number, of the reduction of all ranks' `a`."""
        mine = np.ascontiguousarray(prepare(op, a)).reshape(-1)
        self._meet(a.nbytes, "reduce_scatter")
        near, native = self._near(a.nbytes), self._op(op, a.dtype)
        if near is not None and near.reduce_scatter(out, mine, op):
            return
        if native is not None:
            call = self.comm.Ireduce_scatter_block(mine, out.reshape(-1), native)
            self._wait(call, "reduce_scatter")
            return finish(op, out, self.size)
        theirs = np.empty_like(mine)
        self._wait(self.comm.Ialltoall(self._shares(mine), self._shares(theirs)), "reduce_scatter")
        combine(op, theirs.reshape(self.size, -1), out.reshape(-1))

    # -- moves ------------------------------------------------------------------------------------

    def broadcast(self, a: np.ndarray, root: int) -> None:
        self._meet(a.nbytes, "broadcast")
        for part in _pieces(a, _MOST):
            self._wait(self.comm.Ibcast(self._bytes(part), root), "broadcast")

    def all_gather(self, out: np.ndarray, a: np.ndarray) -> None:
        """`out` holds all ranks' `a`, one after the other."""
        self._meet(out.nbytes, "all_gather")
        self._wait(self.comm.Iallgather(self._bytes(a), self._shares(out)), "all_gather")

    def gather(self, out: np.ndarray | None, a: np.ndarray, root: int) -> None:
        self._meet(a.nbytes, "gather")
        self._gather(out, a, root)

    def _gather(self, out: np.ndarray | None, a: np.ndarray, root: int) -> None:
        into = None if out is None else self._shares(out)
        self._wait(self.comm.Igather(self._bytes(a), into, root), "gather")

    def scatter(self, out: np.ndarray, a: np.ndarray | None, root: int) -> None:
        self._meet(out.nbytes, "scatter")
        given = None if a is None else self._shares(a)
        self._wait(self.comm.Iscatter(given, self._bytes(out), root), "scatter")

    def all_to_all(self, out: np.ndarray, a: np.ndarray, received: Sequence[int], sent: Sequence[int]) -> None:
        """Elements `sent[r]` of the flat `a` go to rank r, which has room for them in its `out`."""
        self._busy = False  # ranks may send different amounts: they cannot agree on what is large
        call = self.comm.Ialltoallv(self._counted(a, sent), self._counted(out, received))
        self._wait(call, "all_to_all")

    def _counted(self, a: np.ndarray, counts: Sequence[int]) -> Any:
        raw, count, kind = self._bytes(a)
        per = count // a.size if a.size else 1  # units in one element
        sizes = [n * per for n in counts]
        starts = [sum(sizes[:i]) for i in range(len(sizes))]
        return [raw, (sizes, starts), kind]

    def barrier(self) -> None:
        self._busy = False
        self._wait(self.comm.Ibarrier(), "barrier")

    # -- between two ranks ------------------------------------------------------------------------

    def start_send(self, a: np.ndarray, to: int, tag: int) -> Any:
        return self.pairs.Isend(self._bytes(a), to, tag)

    def start_receive(self, a: np.ndarray, of: int | None, tag: int) -> Any:
        source = self.mpi.ANY_SOURCE if of is None else of
        return self.pairs.Irecv(self._bytes(a), source, tag)

    def close(self) -> None:
        """Give the communicators back; every rank of the group does it."""
        self.pairs.Free()
        self.comm.Free()
