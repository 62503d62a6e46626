"""Numbers made of an mt19937's words: natively, in vectors, where the extension was built; else by NumPy."""

import math
from functools import cache
from importlib import import_module
from typing import Any

import numpy as np

from . import polynomials

Array = np.ndarray


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
    library = _native()
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
    library = _native() if dtype == np.float32 else None
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


def normals(u: Array, vectors: bool) -> Array:
    """Numbers of [0, 1) made normal ones, in their place, per block of 16: eight radii, then eight angles.

    `vectors`: float32 numbers by the polynomials of PyTorch's kernel for AVX2; else by the C library's functions (without the extension
    NumPy's, of which some are an ulp or two off).
    """
    library = _native()
    if library is not None:
        library.words_normals(u, vectors)
        return u
    blocks = u.reshape(-1, 2, 8)
    if vectors:
        radius = np.sqrt(np.float32(-2.0) * polynomials.log(np.float32(1.0) - blocks[:, 0]))
        sine, cosine = polynomials.angle(blocks[:, 1] * np.float32(math.tau))
    else:
        radius = np.sqrt(-2.0 * np.log(1.0 - blocks[:, 0]))
        theta = np.multiply(blocks[:, 1], math.tau, dtype=np.float64).astype(u.dtype)
        sine, cosine = np.sin(theta), np.cos(theta)
    np.multiply(radius, cosine, out=blocks[:, 0])
    np.multiply(radius, sine, out=blocks[:, 1])
    return u


def pairs(u: Array) -> Array:
    """Pairs of float64 numbers of [0, 1), an angle and a radius, made normal ones in their place."""
    library = _native()
    if library is not None:
        library.words_pairs(u)
        return u
    radius, theta = np.sqrt(-2.0 * np.log1p(-u[1::2])), math.tau * u[0::2]
    np.multiply(radius, np.cos(theta), out=u[0::2])
    np.multiply(radius, np.sin(theta), out=u[1::2])
    return u


def scaled(x: Array, scale: float | np.floating, shift: float | np.floating) -> Array:
    """x * scale + shift in one rounding, as PyTorch's compiler joins them; x may be written over."""
    if scale == 1.0 and shift == 0.0:
        return x
    library = _native()
    if library is not None:
        library.words_scaled(x, scale, shift)
        return x
    return np.multiply(x, float(scale), dtype=np.float64) + float(shift)


def picked(bits: Any, weights: Array, n: int) -> Any:
    """`n` columns of each row, drawn by its float32 weights; which error there is (1 or 2), or None without the extension."""
    library = _native()
    if library is None:
        return None
    out = np.empty((len(weights), n), np.int64)
    return library.words_picked(bits.capsule, np.ascontiguousarray(weights), out) or out
