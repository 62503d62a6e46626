"""The kernel that a pass makes of looking rows up in a table and adding others to them: tokens and their positions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.dtypes import from_np
from ...runtime.door import KERNELS
from .parts import Part, join

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule
    from ...base.protocols import Array


def _body(xp: ArrayModule, table: Array, indices: Array, other: Array, **how: Any) -> Any:
    out = KERNELS["embedding"].generic(xp, table, indices, **how)
    out += other
    return out


def embedding_add_into(
    table: np.ndarray, indices: np.ndarray, other: np.ndarray, *, out: np.ndarray, **how: Any
) -> None:
    """The rows and their sum in one array, on the host."""
    if indices.size and (int(indices.min()) < 0 or int(indices.max()) >= table.shape[0]):
        raise IndexError("index out of range in self")
    np.take(table, indices, axis=0, out=out, mode="clip")
    np.add(out, other, out=out)


EMBEDDING_ADD = join(
    "embedding_add",
    lambda part, table, indices, other, **how: part(
        "add", part("embedding", table, indices, **how), other
    ),
    body=_body,
)


def _grad_add(part: Part, gy: Array, indices: Array, base: Array, **how: Any) -> Any:
    if base.dtype != gy.dtype:
        base = part("cast", base, to=from_np(gy.dtype), source=from_np(base.dtype))
    return part("add", base, part("embedding_grad", gy, indices, **how))


# The gradient of a table that is used twice: (gy, indices, the other gradient, which may be one of halves).
EMBEDDING_GRAD_ADD = join("embedding_grad_add", _grad_add)
