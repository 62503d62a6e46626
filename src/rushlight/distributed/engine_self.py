"""The engine of a group of one rank: every collective is what it is with nobody else there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .errors import DistBackendError
from .reduce_op import PREMUL_SUM, ReduceOp

__all__ = ["SelfEngine"]


class SelfEngine:
    """Arrays of any kind; nothing leaves the process and no library is needed."""

    kind = "self"
    rank, size = 0, 1

    def all_reduce(self, a: Any, op: ReduceOp) -> None:
        if op.kind is PREMUL_SUM:
            a *= getattr(op.factor, "_a", op.factor)

    def reduce(self, a: Any, root: int, op: ReduceOp) -> None:
        self.all_reduce(a, op)

    def reduce_scatter(self, out: Any, a: Any, op: ReduceOp) -> None:
        out.reshape(-1)[...] = a.reshape(-1)
        self.all_reduce(out, op)

    def broadcast(self, a: Any, root: int) -> None:
        pass

    def all_gather(self, out: Any, a: Any) -> None:
        out.reshape(-1)[...] = a.reshape(-1)

    def gather(self, out: Any, a: Any, root: int) -> None:
        out.reshape(-1)[...] = a.reshape(-1)

    def scatter(self, out: Any, a: Any, root: int) -> None:
        out.reshape(-1)[...] = a.reshape(-1)

    def all_to_all(self, out: Any, a: Any, received: Sequence[int], sent: Sequence[int]) -> None:
        out.reshape(-1)[...] = a.reshape(-1)

    def barrier(self) -> None:
        pass

    def start_send(self, a: Any, to: int, tag: int) -> Any:
        raise DistBackendError("a group of one rank has nobody to send to")

    start_receive = start_send

    def close(self) -> None:
        pass
