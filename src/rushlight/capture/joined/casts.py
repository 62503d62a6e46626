"""The kernel that a pass makes of many casts between the same dtypes."""

from __future__ import annotations

from typing import Any

from .parts import Part, join


def _by(part: Part, *xs: Any, **how: Any) -> tuple:
    return tuple([part("cast", x, **how) for x in xs])


CASTS = join("casts", _by)
