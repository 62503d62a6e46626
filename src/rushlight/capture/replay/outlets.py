"""What a replay leaves beside its results: gradients, and versions of what it has written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...core.inplace import bump
from ...core.memory import copy_as_it_lies
from ...core.tensor import Tensor, tensor_over
from ..owners import Owned, alone_check


class Gradients:
    """The `.grad` of parameters after a replay, where the program has memory of its own for them.

    The next replay writes the same memory again. That is what a step does that sets gradients to None
    and makes them anew, as long as nobody else looks at the old ones. Reference counts say so, which
    are compared with those measured when nobody else could hold a reference.
    """

    def __init__(self, array_type: type) -> None:
        self.array_type = array_type
        self.leaves: list[Tensor] = []
        self.tensors, self.memory = Owned([]), Owned([])
        self.there = False  # whether the leaves have them already
        self.alone: Callable[[], bool] | None = None  # whether nobody else holds any

    @property
    def arrays(self) -> list[Any]:
        """The program's own memory for them."""
        return self.memory.arrays

    def attach(self, leaves: list[tuple[Tensor, int]], outs: tuple) -> None:
        """Make the program's arrays the gradients of `leaves`."""
        if self.there:
            return
        if not self.leaves:
            self.leaves = [t for t, _ in leaves]
            self.tensors = Owned([tensor_over(outs[i], self.array_type) for _, i in leaves])
            self.memory = Owned([t._a for t in self.tensors.arrays])
        for leaf, t in zip(self.leaves, self.tensors.arrays):
            leaf._grad = t

    def measure(self) -> None:
        """Count references when only the leaves and we have any."""
        if self.alone is None:
            self.tensors.measure()
            self.memory.measure()
            self.alone = alone_check(self.leaves, self.tensors, self.memory)

    def take_back(self) -> bool:
        """Before memory is written again: tensors that others hold get their values for themselves.

        False when an array elsewhere shows the memory, which must then be left to it.
        """
        self.there = self.alone is not None and self.alone()
        if self.there:
            return True
        tensors, arrays = self.tensors.arrays, self.memory.arrays
        counts = [(self.tensors.beyond(i), self.memory.beyond(i)) for i in range(len(tensors))]
        for i, (of_tensor, of_array) in enumerate(counts):
            if of_array > 0:
                return False
            mine = self.leaves[i]._grad is tensors[i]
            if tensors[i]._a is not arrays[i]:  # somebody gave it other memory
                tensors[i] = tensor_over(arrays[i], self.array_type)
            elif of_tensor > -(not mine):
                tensors[i]._a = copy_as_it_lies(arrays[i])
                tensors[i] = tensor_over(arrays[i], self.array_type)
        return True


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
