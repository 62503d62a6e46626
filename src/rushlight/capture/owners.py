"""Who else holds an array: the one place of capture where references are counted; what C asks is in `native/owners.h`.

A count is compared with one that was found, in the same way, while nobody else held anything: versions of Python count
differently, and so do the ways to a reference (`core/references.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from sys import getrefcount
from typing import Any

from ..core.references import unwatched


class Owned:
    """Arrays or tensors of ours, and how many references each has while nobody else holds it."""

    __slots__ = ("arrays", "free")

    def __init__(self, arrays: list[Any]) -> None:
        self.arrays = arrays
        self.free = [0] * len(arrays)

    def measure(self) -> None:
        """Count references now, while nobody else has any."""
        for i in range(len(self.arrays)):
            self.free[i] = getrefcount(self.arrays[i])

    def keep(self, array: Any) -> None:
        """Own one more, which only the caller holds; it is not counted, since who looks at this frame may have a reference."""
        self.arrays.append(array)
        self.free.append(_ALONE + 1)

    def idle(self) -> Any:
        """One that nobody holds, or None."""
        arrays, free = self.arrays, self.free
        for i in range(len(arrays)):
            if getrefcount(arrays[i]) == free[i]:
                return arrays[i]
        return None

    def beyond(self, i: int) -> int:
        """How many references others have to one."""
        return getrefcount(self.arrays[i]) - self.free[i]

    def ours(self, array: Any) -> int:
        """How many references we have to an array that nobody else holds."""
        for a, free in zip(self.arrays, self.free):
            if a is array:
                return free - _ALONE
        return 0


def alone_check(leaves: list[Any], tensors: Owned, arrays: Owned) -> Callable[[], bool]:
    """What tells whether leaves have these gradients, those their arrays, and nobody else has either: written as code."""
    names: dict[str, Any] = {"count": getrefcount}
    parts = []
    for i, (t, a) in enumerate(zip(tensors.free, arrays.free)):
        names[f"l{i}"] = leaves[i]
        parts.append(f"l{i}._grad is ts[{i}] and count(ts[{i}]) == {t}")
        parts.append(f"ts[{i}]._a is arrays[{i}] and count(arrays[{i}]) == {a}")
    variables = ", ".join([f"{n}={n}" for n in names])
    source = f"def check(ts, arrays, {variables}):\n    return {' and '.join(parts) or 'True'}\n"
    names["__name__"] = __name__  # whose code it is
    exec(compile(source, "<checks of gradients>", "exec"), names)
    return partial(names["check"], tensors.arrays, arrays.arrays)


def example() -> tuple[list[Any], int]:
    """A list of one object and what is counted for it, by which C finds what Python counts beside the references there are."""
    one = [object()]
    return one, getrefcount(one[0])


def _measured() -> int:
    alone = [object()]
    return getrefcount(alone[0]) - 1


_ALONE = unwatched(_measured)
