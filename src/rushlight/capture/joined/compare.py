"""Whether two kernels computed the same numbers, where some of them are infinite or none at all.

Kernels are tried on random numbers, which do not care what a chain divides by or takes the root of: both sides answer
infinity or nan there, and must do so in the same places. What is finite is compared apart from that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule
    from ...base.protocols import Array

_PIECE = 1 << 24  # numbers compared at once


def settled(xp: ArrayModule, x: Array, y: Array) -> tuple[Any, Any] | None:
    """Both arrays with 0 for what is not finite; None where that is not the same in both."""
    odd = ~(xp.isfinite(x) & xp.isfinite(y))
    alike = (x == y) | (xp.isnan(x) & xp.isnan(y))
    if bool((odd & ~alike).any()):
        return None
    zero = x.dtype.type(0)
    return xp.where(odd, zero, x), xp.where(odd, zero, y)


def are_near(
    xp: ArrayModule, a: Array, b: Array, tolerance: float, wide: Callable[[Any], Any]
) -> bool:
    """Whether every number of a is as near to that of b as its size, or that of a typical one, allows.

    `wide` gives numbers in a dtype that the array library knows.
    """
    if a.shape != b.shape:
        return False
    typical, count = 0.0, 0
    for _, y in _pieces(a, b):
        y = y.astype(np.float64)
        y = xp.where(xp.isfinite(y), xp.abs(y), 0.0)
        typical, count = typical + float(y.sum()), count + y.size
    slack = 10 * max(typical / max(count, 1), 1e-6)
    for x, y in _pieces(a, b):
        both = settled(xp, wide(x).astype(np.float64), as_stored(xp, y.astype(np.float64), a.dtype))
        if both is None:
            return False
        x, y = both
        if not bool((xp.abs(x - y) <= tolerance * (xp.abs(y) + slack)).all()):
            return False
    return True


def _pieces(a: Array, b: Array) -> Iterator[tuple[Any, Any]]:
    """Both arrays piece by piece: in float64 whole ones would take more memory than the step itself."""
    if a.size <= _PIECE:
        yield a, b
        return
    rows = max(1, _PIECE * len(a) // a.size)
    for first in range(0, len(a), rows):
        yield a[first : first + rows], b[first : first + rows]


def differ_little(x: np.ndarray, y: np.ndarray, tolerance: float) -> bool:
    """Whether no number is further from its fellow than the largest one allows: for sums in the same order."""
    both = settled(np, x.astype(np.float64), y.astype(np.float64))
    if both is None:
        return False
    x, y = both
    return not x.size or bool(np.abs(x - y).max() <= tolerance * max(np.abs(y).max(), 1e-6))


def as_stored(xp: ArrayModule, y: Array, dtype: np.dtype) -> Any:
    """Numbers computed in a wider dtype, infinite where this one has no room for them."""
    if dtype != np.float16:
        return y
    large = xp.abs(y) > float(np.finfo(np.float16).max)
    return xp.where(large, xp.copysign(xp.inf, y), y).astype(y.dtype)
