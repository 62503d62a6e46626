"""The engine between GPUs: collectives over CuPy arrays by NCCL, put into a stream.

Nothing here waits: a call puts work into the current stream, so that it can be captured in a CUDA graph as any
kernel can. Reductions and dtypes that NCCL does not have are refused by `has`, and go through the host by MPI.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .nccl_watch import NcclWatch
from .reduce_op import PREMUL_SUM, ReduceOp

__all__ = ["NcclEngine"]

# NCCL's numbers for dtypes (nccl.h); complex numbers are two real ones, and bools are bytes.
_DTYPES = {
    "int8": 0, "uint8": 1, "int32": 2, "uint32": 3, "int64": 4, "uint64": 5, "float16": 6,
    "float32": 7, "float64": 8, "bfloat16": 9, "bool": 1,
}  # fmt: skip
_DOUBLED = {"complex64": "float32", "complex128": "float64"}
_OPS = {"SUM": 0, "PREMUL_SUM": 0, "PRODUCT": 1, "MAX": 2, "MIN": 3, "AVG": 4}
_OF_BOOLS = {"SUM": 2, "MAX": 2, "BOR": 2, "PRODUCT": 3, "MIN": 3, "BAND": 3}


class NcclEngine:
    """The collectives of one group of ranks, each with a GPU of its own."""

    kind = "nccl"

    def __init__(self, nccl: Any, unique_id: Any, size: int, rank: int, stream: Any) -> None:
        self.nccl = nccl
        self.rank, self.size = rank, size
        self._stream = stream  # () -> the address of the stream that work goes into now
        self.comm = nccl.NcclCommunicator(size, unique_id, rank)
        self.watch: NcclWatch | None = None  # of a group's work that does not end

    def watched(self, doing: str) -> None:
        """Called behind what was put into the current stream."""
        if self.watch is not None:
            self.watch.begun(doing)

    def has(self, name: str, dtype: Any, op: ReduceOp | None) -> bool:
        """Whether NCCL can do it; what only moves is bytes and always can."""
        if op is None:
            return True
        kind = str(dtype)
        if kind == "bool":
            return op.kind.name in _OF_BOOLS
        if kind in _DOUBLED:
            return op.kind.name in ("SUM", "AVG")
        return kind in _DTYPES and op.kind.name in _OPS

    def _numbers(self, a: Any) -> tuple[int, int]:
        """How many elements of which of NCCL's dtypes an array is."""
        kind = str(a.dtype)
        if kind in _DOUBLED:
            return a.size * 2, _DTYPES[_DOUBLED[kind]]
        return a.size, _DTYPES[kind]

    def _op(self, a: Any, op: ReduceOp) -> int:
        return (_OF_BOOLS if str(a.dtype) == "bool" else _OPS)[op.kind.name]

    def _scaled(self, a: Any, op: ReduceOp) -> Any:
        return a * getattr(op.factor, "_a", op.factor) if op.kind is PREMUL_SUM else a

    # -- reductions -------------------------------------------------------------------------------

    def all_reduce(self, a: Any, op: ReduceOp) -> None:
        if op.kind is PREMUL_SUM:
            a *= getattr(op.factor, "_a", op.factor)
        count, dtype = self._numbers(a)
        self.comm.allReduce(a.data.ptr, a.data.ptr, count, dtype, self._op(a, op), self._stream())

    def reduce(self, a: Any, root: int, op: ReduceOp) -> None:
        mine = self._scaled(a, op)
        count, dtype = self._numbers(a)
        self.comm.reduce(mine.data.ptr, a.data.ptr, count, dtype, self._op(a, op), root, self._stream())

    def reduce_scatter(self, out: Any, a: Any, op: ReduceOp) -> None:
        mine = self._scaled(a, op)
        count, dtype = self._numbers(out)
        self.comm.reduceScatter(mine.data.ptr, out.data.ptr, count, dtype, self._op(a, op), self._stream())

    # -- moves, counted in bytes ------------------------------------------------------------------

    def broadcast(self, a: Any, root: int) -> None:
        self.comm.broadcast(a.data.ptr, a.data.ptr, a.nbytes, 1, root, self._stream())

    def all_gather(self, out: Any, a: Any) -> None:
        self.comm.allGather(a.data.ptr, out.data.ptr, a.nbytes, 1, self._stream())

    def gather(self, out: Any, a: Any, root: int) -> None:
        self.nccl.groupStart()
        self.comm.send(a.data.ptr, a.nbytes, 1, root, self._stream())
        if out is not None:
            for r in range(self.size):
                self.comm.recv(out.data.ptr + r * a.nbytes, a.nbytes, 1, r, self._stream())
        self.nccl.groupEnd()

    def scatter(self, out: Any, a: Any, root: int) -> None:
        self.nccl.groupStart()
        if a is not None:
            for r in range(self.size):
                self.comm.send(a.data.ptr + r * out.nbytes, out.nbytes, 1, r, self._stream())
        self.comm.recv(out.data.ptr, out.nbytes, 1, root, self._stream())
        self.nccl.groupEnd()

    def all_to_all(self, out: Any, a: Any, received: Sequence[int], sent: Sequence[int]) -> None:
        unit, stream = a.dtype.itemsize, self._stream()
        to, of = a.data.ptr, out.data.ptr
        self.nccl.groupStart()
        for r in range(self.size):
            self.comm.send(to, sent[r] * unit, 1, r, stream)
            self.comm.recv(of, received[r] * unit, 1, r, stream)
            to += sent[r] * unit
            of += received[r] * unit
        self.nccl.groupEnd()

    # -- between two ranks ------------------------------------------------------------------------

    def send(self, a: Any, to: int) -> None:
        self.comm.send(a.data.ptr, a.nbytes, 1, to, self._stream())

    def receive(self, a: Any, of: int) -> None:
        self.comm.recv(a.data.ptr, a.nbytes, 1, of, self._stream())

    def close(self) -> None:
        if self.watch is not None:
            self.watch.close()
        self.comm.destroy()
