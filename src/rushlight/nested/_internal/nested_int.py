"""The size of a ragged dimension: a name such as j1, equal to itself only."""

from __future__ import annotations

import itertools
from typing import Any

from ...base.symbols import SymInt
from ...core.tensor import Tensor

_numbers = itertools.count(1)


class RaggedSize(SymInt):
    """The size of the dimension along which the parts of a nested tensor differ, in a shape.

    Two are equal when they stand for the same offsets, so that tensors with equal shapes have parts of the
    same lengths. It has no value: `nt.offsets().diff()` has the lengths.

    Args:
        number: which offsets; those of another tensor have another number.
        factor: strides are multiples.

    Example:
        >>> nt = torch.nested.nested_tensor([[1.0, 2.0], [3.0]], layout=torch.jagged)
        >>> nt.size(1) == (nt + 1).size(1), nt.size(1) == 2
        (True, False)
    """

    def __init__(self, number: int, factor: int = 1) -> None:
        self.number, self.factor = number, factor

    def __repr__(self) -> str:
        return f"j{self.number}" if self.factor == 1 else f"{self.factor}*j{self.number}"

    def __eq__(self, other: Any) -> bool:
        same = isinstance(other, RaggedSize) and self.number == other.number
        return same and self.factor == other.factor

    def __hash__(self) -> int:
        return self.number

    def __mul__(self, other: int) -> RaggedSize:
        return RaggedSize(self.number, self.factor * other)

    __rmul__ = __mul__

    def __ge__(self, other: Any) -> bool:
        if self == other or (isinstance(other, int) and other <= 2):
            return True
        raise ValueError("ge: relation is indeterminate")

    def __le__(self, other: Any) -> bool:
        if self == other:
            return True
        if isinstance(other, int) and other < 2:
            return False
        raise ValueError("ge: relation is indeterminate")

    def __gt__(self, other: Any) -> bool:
        return not self <= other

    def __lt__(self, other: Any) -> bool:
        return not self >= other

    def __index__(self) -> int:
        raise AttributeError(f"{self!r} is the size of a ragged dimension and no number")

    __int__ = __index__


def ragged_size(which: Tensor) -> RaggedSize:
    """The size that stands for a tensor of offsets, or of lengths: one for each such tensor."""
    known = which.__dict__.get("_ragged_size")
    if known is None:
        known = which.__dict__["_ragged_size"] = RaggedSize(next(_numbers))
    return known


def moved(which: Tensor, to: Tensor) -> Tensor:
    """Offsets on another tensor's device: they stand for the same size."""
    there = which.to(to.device)
    there.__dict__["_ragged_size"] = ragged_size(which)
    return there
