"""How words of a random stream become numbers: rounding, normals of pairs, shuffles, as PyTorch does each."""

import math
from collections.abc import Sequence

import numpy as np

Shape = int | Sequence[int]
Array = np.ndarray

# Mantissa bits, with the implicit one, by dtype.char: double, float, half, ml_dtypes' bfloat16.
# (A dtype's name would read better, but NumPy computes it anew in Python at every look.)
DIGITS = {"d": 53, "f": 24, "e": 11, "E": 8}


def size(shape: Shape) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)


def cast(x: Array, shape: Shape, dtype: np.dtype) -> Array:
    """Round as torch does: a double reaches a 16-bit float by way of float32."""
    dtype = np.dtype(dtype)
    if dtype.itemsize == 2 and dtype.char in DIGITS:
        with np.errstate(over="ignore"):  # a Cauchy number may well be an infinite half
            return x.astype(np.float32).astype(dtype).reshape(shape)
    return x.astype(dtype, copy=False).reshape(shape)


def working(dtype: np.dtype, what: str) -> type[np.floating]:
    """The type torch draws in: float64 for itself, float32 for everything shorter."""
    if dtype.char not in DIGITS:
        raise RuntimeError(f"{what} expected a floating point dtype, but got {dtype.name}")
    return np.float64 if dtype.itemsize == 8 else np.float32


def swap_forward(j: Array) -> Array:
    """What 0 .. n-1 becomes when i and j[i] >= i change places, for i = 0, 1, ..., without a loop.

    Step i reads place j[i]. What lies there was put by the last earlier step k with j[k] == j[i],
    and is what k found in its own place; that came from the last step with j == k, and so on back
    to a place never written, which still holds its own number.
    """
    steps = np.arange(len(j))
    moved = j != steps
    source = steps.copy()
    source[j[moved]] = steps[moved]  # the last writer of a place wins
    while not np.array_equal(further := source[source], source):  # chains are O(log n) long
        source = further
    order = np.sort((j << 32) | steps)  # by place, then by step
    place, step = order >> 32, order & 0xFFFFFFFF
    again = place[1:] == place[:-1]
    out = j.copy()
    out[step[1:][again]] = source[step[:-1][again]]
    return out
