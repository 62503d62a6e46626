"""Memory of tensors that the user also sees as NumPy arrays: it can change without passing the door."""

from __future__ import annotations

import weakref
from typing import Any

from .memory import root_array


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

    def refill(self, a: Any) -> None:
        """An array that owns its memory will be filled again, in each stretch of a loop."""
        key, refilled = id(a), self.refilled
        refilled[key] = weakref.ref(a, lambda _: refilled.pop(key, None))


exposed = Exposed()
