"""Numbers made of an mt19937's words: natively, in vectors, where the extension was built; else by NumPy."""

from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

Array = np.ndarray
_FEW = 64  # draws for which NumPy is as quick


@cache
def _native() -> Any:
    """The extension, if it reads NumPy's generator rightly: the draws of both are compared once."""
    try:
        library = import_module("._native", __package__)
    except ImportError:
        return None
    from numpy.random import MT19937

    mine, theirs = MT19937(5), MT19937(5)
    found = np.empty(1500, np.float32)
    library.words_unit(mine.capsule, found)
    expected = (theirs.random_raw(1500) & 0xFFFFFF).astype(np.float32) * np.float32(2.0**-24)
    return library if np.array_equal(found, expected) else None


def words64(bits: Any, n: int) -> Array:
    """64-bit words, each of two of the generator's; the first is the high one."""
    pairs = bits.random_raw(2 * n)
    return (pairs[0::2] << 32) | pairs[1::2]


def unit(bits: Any, n: int, work: type[np.floating]) -> Array:
    """Uniform numbers of [0, 1), in float64 or float32: the low bits of a word, scaled."""
    library = _native() if n >= _FEW else None
    if library is not None:
        out = np.empty(n, work)
        library.words_unit(bits.capsule, out)
        return out
    digits = 53 if work is np.float64 else 24
    words = words64(bits, n) if work is np.float64 else bits.random_raw(n)
    words &= 2**digits - 1
    return words.astype(work) * work(2.0**-digits)


def below(bits: Any, n: int, p: float, dtype: np.dtype) -> Array:
    """Which of `n` doubles of [0, 1) are below `p`: ones and zeros of float32, or booleans."""
    library = _native() if n >= _FEW and dtype == np.float32 else None
    if library is None:
        return unit(bits, n, np.float64) < p
    out = np.empty(n, np.float32)
    library.words_below(bits.capsule, p, out)
    return out


def shuffled(bits: Any, n: int) -> Array | None:
    """The numbers 0 .. n-1, shuffled from the front by a word for each place but the last; None without the extension."""
    library = _native()
    if library is None:
        return None
    out = np.empty(n, np.int64)
    library.words_shuffled(bits.capsule, out)
    return out


def uniform(bits: Any, n: int, low: float, high: float) -> Array | None:
    """Float32 numbers of [low, high); None without the extension."""
    library = _native()
    if library is None:
        return None
    out = np.empty(n, np.float32)
    library.words_uniform(bits.capsule, out, low, high)
    return out


def normal(bits: Any, n: int, mean: float, std: float) -> Array | None:
    """Float32 normal numbers in blocks of 16; None without the extension."""
    library = _native()
    if library is None:
        return None
    out = np.empty(n, np.float32)
    library.words_normal(bits.capsule, out, mean, std)
    return out


def picked(bits: Any, weights: Array, n: int) -> Any:
    """`n` columns of each row, drawn by its float32 weights; which error there is (1 or 2), or None without the extension."""
    library = _native()
    if library is None:
        return None
    out = np.empty((len(weights), n), np.int64)
    return library.words_picked(bits.capsule, np.ascontiguousarray(weights), out) or out
