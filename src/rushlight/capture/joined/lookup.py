"""The kernel that a pass makes of looking rows up in a table and adding others to them: tokens and their positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...runtime.door import KERNELS, Kernel
from .parts import PARTS


def _body(xp: Any, table: Any, indices: Any, other: Any, **how: Any) -> Any:
    out = KERNELS["embedding"].generic(xp, table, indices, **how)
    out += other
    return out


def embedding_add_into(table: Any, indices: Any, other: Any, *, out: Any, **how: Any) -> None:
    """The rows and their sum in one array, on the host."""
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= table.shape[0]):
        raise IndexError("index out of range in self")
    np.take(table, indices, axis=0, out=out, mode="clip")
    np.add(out, other, out=out)


def _by_parts(part: Any, arrays: list, attrs: dict) -> tuple[list, Any]:
    table, indices, other = arrays
    return arrays, part("add", part("embedding", table, indices, **attrs), other)


EMBEDDING_ADD = Kernel("embedding_add", _body)
PARTS["embedding_add"] = _by_parts
