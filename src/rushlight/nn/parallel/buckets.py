"""Buckets: which gradients travel together, and the flat memory they travel in."""

from __future__ import annotations

import itertools
from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...distributed.calls import CollectiveCall
from ...operators.create.filled import zeros

__all__ = ["Bucket", "divide"]

FIRST_MB = 1.0  # small, so that the first exchange starts early
_tokens = itertools.count(1 << 32)  # numbers that `calls.begin` does not use


def divide(params: list[Any], limit_mb: float, first_mb: float = FIRST_MB) -> list[list[int]]:
    """Divide parameters, by number, into buckets: neighbours of one dtype and device, up to a size."""
    found: list[list[int]] = []
    open_: dict[Any, tuple[list[int], int]] = {}
    limits: dict[Any, float] = {}
    for i, p in enumerate(params):
        kind = (str(p.dtype), str(p.device))
        group, size = open_.get(kind, ([], 0))
        group.append(i)
        size += p.numel() * p.element_size()
        if size >= limits.get(kind, min(first_mb, limit_mb)) * 2**20:
            found.append(group)
            limits[kind] = limit_mb
            group, size = [], 0
        open_[kind] = (group, size)
    found.extend(group for group, _ in open_.values() if group)
    return sorted(found, key=lambda group: group[0])


class Bucket:
    """The gradients of some parameters in one flat tensor, and which of them arrived in this pass."""

    def __init__(self, index: int, numbers: list[int], params: list[Any]) -> None:
        self.index = index
        self.numbers = numbers
        self.params = params
        first = params[0]
        self.flat: Tensor = zeros(
            sum(p.numel() for p in params), dtype=first.dtype, device=first.device
        )
        self.views: list[Tensor] = []
        at = 0
        with no_grad():
            for p in params:
                self.views.append(self.flat[at : at + p.numel()].view(p.shape))
                at += p.numel()
        self.token = next(_tokens)
        self.call: CollectiveCall | None = None  # the exchange, once it has started
        self.future: Any = None  # the result of a communication hook
        self.missing = len(params)
        self.filled: set[int] = set()

    def reset(self) -> None:
        """Begin a new pass: no gradient has arrived."""
        self.call = self.future = None
        self.missing = len(self.params)
        self.filled.clear()

    def nbytes(self) -> int:
        return self.flat.numel() * self.flat.element_size()
