"""Gradients over a program's own memory: handed to parameters, and given up when somebody keeps them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from sys import getrefcount
from typing import Any

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
