"""What a network can read beside pictures, by the words of --input, and what a saved one reads."""

from __future__ import annotations

from typing import Any

from .inputs import Inputs
from .rows import Rows
from .texts import Texts

READINGS: dict[str, type[Inputs]] = {one.kind: one for one in (Rows, Texts)}


def of_saved(saved: dict[str, Any]) -> Inputs | None:
    """The inputs of a checkpoint; None for pictures."""
    found = saved.get("inputs")
    return None if found is None else READINGS[found["kind"]].from_dict(found)
