"""The kernel that a pass makes of many casts between the same dtypes."""

from __future__ import annotations

from typing import Any

from ...runtime.door import KERNELS, Kernel
from .parts import PARTS


def _body(xp: Any, *xs: Any, to: Any, source: Any) -> tuple:
    return tuple([KERNELS["cast"].generic(xp, x, to=to, source=source) for x in xs])


def _by_parts(part: Any, arrays: list, attrs: dict) -> tuple[list, Any]:
    return arrays, [part("cast", x, **attrs) for x in arrays]


CASTS = Kernel("casts", _body)
PARTS["casts"] = _by_parts
