"""The kernel that a pass makes of many casts between the same dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .parts import Part, join

if TYPE_CHECKING:
    from ...base.protocols import Array


def _by(part: Part, *xs: Array, **how: Any) -> tuple:
    return tuple([part("cast", x, **how) for x in xs])


CASTS = join("casts", _by)
