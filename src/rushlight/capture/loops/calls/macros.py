"""Calls that stand for many kernels: what one comparison needs to know of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Macro:
    """A call whose kernels are decided by the state before it begins: `backward()`, `optimizer.step()`.

    While a stretch is heard, arrays are kept as slots; `settle` turns them into what a path compares: the number of
    an array, or the array itself. `start` and `end` are the places of its kernels in the stretch.
    """

    start = end = 0
    why: str | None  # why it cannot be compared as one call
    is_needed = False  # whether its stretch is of no use where it is not compared as one call

    def agrees(self, other: Macro, same_slot: Callable[[Any, Any], bool]) -> bool:
        """Whether another stretch's macro is the same."""
        raise NotImplementedError

    def slots(self) -> list[Any]:
        """The slots that it compares, and those that it hands out."""
        raise NotImplementedError

    def is_same(self, other: Macro) -> bool:
        """Whether another path, which began alike, expects the same here; both are settled."""
        raise NotImplementedError

    def settle(self, operand: Callable[[Any], tuple[int, Any]]) -> None:
        """From now on, name arrays by kind and number instead of by slot."""
        raise NotImplementedError


def same_operand(a: Any, b: Any) -> bool:
    """Whether two settled operands are the same: a number, or the very array."""
    if a is None or b is None:
        return a is b
    return a[0] == b[0] and (a[1] is b[1] or (a[1].__class__ is int and a[1] == b[1]))
