"""Many 0-d arrays read or written at once: counts of the host, one for each parameter of a step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

try:
    from ._native import scalars_read, scalars_write  # type: ignore[attr-defined]
except ImportError:  # not built: the loops below do it

    def scalars_read(arrays: list[Any]) -> Any:
        return NotImplemented

    def scalars_write(arrays: list[Any], values: Any) -> Any:
        return NotImplemented


def read(arrays: list[Any]) -> float | list[float]:
    """The number that all hold, or a list of numbers where they differ."""
    found = scalars_read(arrays)
    if found is not NotImplemented:
        return found
    values = [float(a) for a in arrays]
    return values[0] if values.count(values[0]) == len(values) else values


def write(arrays: list[Any], values: float | Sequence[float]) -> None:
    """Fill all with one number, or each with its own."""
    if scalars_write(arrays, values) is not NotImplemented:
        return
    each = values if isinstance(values, list) else [values] * len(arrays)
    for a, v in zip(arrays, each):
        a[...] = v
