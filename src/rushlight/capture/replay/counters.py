"""Version counters that a program raises: tensors that share one (views of a base) raise it together, once a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.inplace import bump
from ...core.tensor import Tensor

Place = Callable[[Tensor], "int | None"]  # which argument a tensor is; None for one that is kept


class Counters:
    """How far a recorded call raised each counter.

    A write raises the counter of its tensor, and so of every tensor that shares it. Where two shared one when the call
    was recorded it is not known whose writes they were, so a call whose arguments do not share it needs a recording of
    its own. Arguments that share one now and did not before are right: each adds its own writes.
    """

    def __init__(self, bumps: Sequence[tuple[Tensor, int]], place: Place) -> None:
        together: dict[int, list[tuple[Tensor, int]]] = {}
        for t, n in bumps:
            together.setdefault(id(t._ver), []).append((t, n))
        self.kept: list[tuple[list[int], int]] = []  # of tensors that outlive every call
        self.given: list[tuple[int, int]] = []  # of one argument
        self.shared: list[tuple[list[int], Any]] = []  # arguments, and the kept counter or None
        for group in together.values():
            places = sorted({at for t, _ in group if (at := place(t)) is not None})
            cell, n = group[0][0]._ver, group[0][1]
            if not places:
                self.kept.append((cell, n))
                continue
            self.given.append((places[0], n))
            lasting = cell if any(place(t) is None for t, _ in group) else None
            if len(places) > 1 or lasting is not None:
                self.shared.append((places, lasting))

    def differ(self, tensors: Sequence[Tensor]) -> bool:
        """Whether arguments do not share the counters that they shared when the call was recorded."""
        for places, lasting in self.shared:
            cells = [None if tensors[at] is None else tensors[at]._ver for at in places]
            cell = cells[0] if lasting is None else lasting
            if cell is None or any(c is not cell for c in cells):
                return True
        return False

    def count(self, tensors: Sequence[Tensor]) -> None:
        """The program has run: what it wrote is newer now."""
        for cell, n in self.kept:
            cell[0] += n
        for at, n in self.given:
            bump(tensors[at], n)
