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

    def add(self, a: Any) -> None:
        """The user has, or had, an array over the memory of `a`."""
        root = root_array(a)
        key = id(root)
        if key not in self.roots:
            roots = self.roots
            roots[key] = weakref.ref(root, lambda _: roots.pop(key, None))
            self.version += 1


exposed = Exposed()
