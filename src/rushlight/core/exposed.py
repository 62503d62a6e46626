"""Memory of tensors that the user also sees as NumPy arrays: it can change without passing the door."""

from __future__ import annotations

import weakref
from typing import Any

from ..runtime.thread import here, settle
from .memory import data_pointer, root_array


class Exposed:
    """Roots of such memory, by id, while they live."""

    def __init__(self) -> None:
        self.roots: dict[int, Any] = {}
        self.version = 0  # raised with every new one
        # Arrays of ours that are filled again past the door, at each kernel that reads them: by id, while they live.
        self.refilled: dict[int, Any] = {}

    def add(self, a: Any) -> None:
        """The user has, or had, an array over the memory of `a`."""
        root = root_array(a)
        key = id(root)
        if key not in self.roots:
            roots = self.roots
            roots[key] = weakref.ref(root, lambda _: roots.pop(key, None))
            self.version += 1

    def hand_out(self, a: Any) -> None:
        """Another library is about to be given an array over the memory of `a`."""
        _tell_recorder()
        settle()
        self.add(a)

    def refill(self, a: Any) -> None:
        """An array that owns its memory will be filled again, in each stretch of a loop."""
        key, refilled = id(a), self.refilled
        refilled[key] = weakref.ref(a, lambda _: refilled.pop(key, None))


exposed = Exposed()


def take_address(a: Any) -> int:
    """The address of an array's first element, for a kernel of somebody else: it reads and writes there past the door.

    Nobody knows when it does, so nothing waits any more until the next place of a loop, and from now on, as long as it
    lives, the memory is one that others see.
    """
    _tell_recorder()
    if here.tracer is not None:
        here.tracer.interrupt("the address of a tensor's memory was taken")
    exposed.add(a)
    return data_pointer(a)


def _tell_recorder() -> None:
    if here.recorder is not None:
        here.recorder.complain("hands out the address of a tensor's memory")
