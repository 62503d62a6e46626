"""What a replay leaves beside its results: gradients, and versions of what it has written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from sys import getrefcount
from typing import Any

from ...core.inplace import bump
from ...core.memory import copy_as_it_lies
from ...core.tensor import Tensor, tensor_over


class Gradients:
    """The `.grad` of parameters after a replay, where the program has memory of its own for them.

    The next replay writes the same memory again. That is what a step does that sets gradients to None
    and makes them anew, as long as nobody else looks at the old ones. Reference counts say so, which
    are compared with those measured when nobody else could hold a reference.
    """

    def __init__(self, array_type: type) -> None:
        self.array_type = array_type
        self.tensors: list[Tensor] = []
        self.arrays: list[Any] = []
        self.leaves: list[Tensor] = []
        self.plain: tuple[list[int], list[int]] = ([], [])
        self.there = False  # whether the leaves have them already
        self.alone: Callable[[], bool] | None = None  # whether nobody else holds any

    def attach(self, leaves: list[tuple[Tensor, int]], outs: tuple) -> None:
        """Make the program's arrays the gradients of `leaves`."""
        if self.there:
            return
        if not self.tensors:
            self.leaves = [t for t, _ in leaves]
            self.tensors = [tensor_over(outs[i], self.array_type) for _, i in leaves]
            self.arrays = [t._a for t in self.tensors]
        for leaf, t in zip(self.leaves, self.tensors):
            leaf._grad = t

    def measure(self) -> None:
        """Count references when only the leaves and we have any."""
        if self.alone is None:
            self.plain = self._counts()
            self.alone = self._check()

    def _check(self) -> Callable[[], bool]:
        """Whether the leaves have our tensors, those our arrays, and nobody else has either."""
        names: dict[str, Any] = {"count": getrefcount}
        parts = []
        for i, (t, a) in enumerate(zip(*self.plain)):
            names[f"l{i}"] = self.leaves[i]
            parts.append(f"l{i}._grad is ts[{i}] and count(ts[{i}]) == {t}")
            parts.append(f"ts[{i}]._a is arrays[{i}] and count(arrays[{i}]) == {a}")
        variables = ", ".join([f"{n}={n}" for n in names])
        body = " and ".join(parts) or "True"
        source = f"def check(ts, arrays, {variables}):\n    return {body}\n"
        names["__name__"] = __name__  # whose code it is
        exec(compile(source, "<checks of gradients>", "exec"), names)
        return partial(names["check"], self.tensors, self.arrays)

    def _counts(self) -> tuple[list[int], list[int]]:
        ts, arrays, places = self.tensors, self.arrays, range(len(self.tensors))
        # Written as in the check: the way to a reference adds one of its own.
        return [getrefcount(ts[i]) for i in places], [getrefcount(arrays[i]) for i in places]

    def take_back(self) -> bool:
        """Before memory is written again: tensors that others hold get their values for themselves.

        False when an array elsewhere shows the memory, which must then be left to it.
        """
        self.there = self.alone is not None and self.alone()
        if self.there:
            return True
        counts = self._counts()
        for i, (tensors, arrays) in enumerate(zip(*counts)):
            if arrays > self.plain[1][i]:
                return False
            t, mine = self.tensors[i], self.leaves[i]._grad is self.tensors[i]
            if t._a is not self.arrays[i]:  # somebody gave it other memory
                self.tensors[i] = tensor_over(self.arrays[i], self.array_type)
            elif tensors > self.plain[0][i] - (not mine):
                t._a = copy_as_it_lies(self.arrays[i])
                self.tensors[i] = tensor_over(self.arrays[i], self.array_type)
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
