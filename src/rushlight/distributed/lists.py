"""Lists of tensors for collectives that work on one array: stacked before, copied out after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.create.filled import empty
from .works import Work

__all__ = ["copied", "into_list", "rows_for", "stacked"]


def copied(targets: Sequence[Tensor], rows: Tensor) -> None:
    with no_grad():
        for target, row in zip(targets, rows):
            target.copy_(row.reshape(target.shape))


class _ThenCopied(Work):
    """A work whose result is copied into a list of tensors when somebody waits for it."""

    def __init__(self, work: Work, targets: Sequence[Tensor], rows: Tensor) -> None:
        self._work, self._targets, self._rows = work, targets, rows
        self._results = list(targets)
        self._copied = False

    def wait(self, timeout: Any = None) -> bool:
        self._work.wait(timeout)
        if not self._copied:
            self._copied = True
            copied(self._targets, self._rows)
        return True

    def is_completed(self) -> bool:
        return self._work.is_completed()

    def exception(self) -> BaseException | None:
        return self._work.exception()


def into_list(
    work: Work | None, targets: Sequence[Tensor], rows: Tensor, async_op: bool
) -> Work | None:
    if async_op and work is not None:
        return _ThenCopied(work, targets, rows)
    copied(targets, rows)
    return None


def rows_for(count: int, like: Tensor) -> Tensor:
    return empty((count, *like.shape), dtype=like.dtype, device=like.device)


def stacked(tensors: Sequence[Tensor]) -> Tensor:
    rows = rows_for(len(tensors), tensors[0])
    with no_grad():
        for row, t in zip(rows, tensors):
            row.copy_(t)
    return rows
