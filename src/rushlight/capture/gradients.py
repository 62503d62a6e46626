"""Gradients over a program's own memory: handed to parameters, and given up when somebody keeps them."""

from __future__ import annotations

import sys
from operator import attrgetter, is_

from ..core.tensor import Tensor, tensor_over

_grad = attrgetter("_grad")


class Gradients:
    """The `.grad` of parameters after a replay, where the program has memory of its own for them.

    The next replay writes the same memory again. That is what a step does that sets gradients to None
    and makes them anew, as long as nobody else looks at the old ones: told by reference counts, which
    are compared with those measured when nobody else could hold a reference.
    """

    def __init__(self, array_type: type) -> None:
        self.array_type = array_type
        self.tensors: list[Tensor] = []
        self.leaves: list[Tensor] = []
        self.plain: list[tuple[int, int]] = []

    def attach(self, leaves: list[tuple[Tensor, int]], outs: tuple) -> None:
        """Make the program's arrays the gradients of `leaves`."""
        if not self.tensors:
            self.leaves = [t for t, _ in leaves]
            self.tensors = [tensor_over(outs[i], self.array_type) for _, i in leaves]
        for leaf, t in zip(self.leaves, self.tensors):
            leaf._grad = t

    def measure(self) -> None:
        """Count references when only the leaves and we have any."""
        if len(self.plain) != len(self.tensors):
            self.plain = self._counts()

    def _counts(self) -> list[tuple[int, int]]:
        return [(sys.getrefcount(t), sys.getrefcount(t._a)) for t in self.tensors]

    def take_back(self) -> bool:
        """Before memory is written again: tensors that others hold get their values for themselves.

        False when an array elsewhere shows the memory, which must then be left to it.
        """
        counts = self._counts()
        if counts == self.plain and all(map(is_, map(_grad, self.leaves), self.tensors)):
            return True
        for i, ((tensors, arrays), (plain, plain_arrays)) in enumerate(zip(counts, self.plain)):
            if arrays > plain_arrays:
                return False
            ours = self.leaves[i]._grad is self.tensors[i]
            if tensors > plain - (not ours):
                t = self.tensors[i]
                kept = t._a
                t._a = kept.copy()
                self.tensors[i] = tensor_over(kept, self.array_type)
        return True
