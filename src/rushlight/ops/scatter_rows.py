"""Adding into an array where an index may name the same place many times."""

from __future__ import annotations

from typing import Any


def add_at(xp: Any, out: Any, at: tuple, values: Any) -> None:
    """`out[at] += values`, counting duplicates, written into `out`."""
    if out.dtype.kind == "V":  # bfloat16: add in float32, round once
        wide = out.astype("float32")
        add_at(xp, wide, at, xp.asarray(values).astype("float32"))
        out[...] = wide.astype(out.dtype)
        return
    xp.add.at(out, at, values)

