"""Cephes' single-precision logarithm, sine and cosine, as PyTorch's kernel for AVX2 computes them, in NumPy.

Which products and sums are rounded together is part of the numbers. The C engine has the same (`native/k_random.h`); here a joined
product and sum goes by way of double, which in one of some ten million numbers is another float32.
"""

from collections.abc import Sequence

import numpy as np

Array = np.ndarray
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1,
    2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_SINE = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COSINE = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_QUARTERS = (-0.78515625, -2.4187564849853515625e-4, -3.77489497744594108e-8)  # of pi, taken off


def _fused(a: Array, b: Array | float, c: Array | float) -> Array:
    """a * b + c of float32 numbers in one rounding."""
    wide = [np.asarray(part, np.float32).astype(np.float64) for part in (a, b, c)]
    return (wide[0] * wide[1] + wide[2]).astype(np.float32)


def _polynomial(x: Array, factors: Sequence[float]) -> Array:
    y = np.full_like(x, factors[0])
    for factor in factors[1:]:
        y = _fused(y, x, factor)
    return y


def log(x: Array) -> Array:
    """The logarithm of float32 numbers of (0, 1]: x = m 2^e with m around 1."""
    m, e = np.frexp(x)
    low = m < np.float32(0.707106781186547524)
    e = (e - low).astype(np.float32)
    m = np.where(low, m, np.float32(0.0)) + (m - np.float32(1.0))
    square = m * m
    y = _fused(_polynomial(m, _LOG) * m, square, e * np.float32(-2.12194440e-4))
    return _fused(e, 0.693359375, m + _fused(-square, 0.5, y))


def angle(x: Array) -> tuple[Array, Array]:
    """Sine and cosine of float32 angles of [0, 2 pi]."""
    octant = ((x * np.float32(1.27323954473516)).astype(np.int32) + 1) & ~1
    times = octant.astype(np.float32)
    for part in _QUARTERS:
        x = _fused(times, part, x)
    z = x * x
    cosine = _fused(_polynomial(z, _COSINE) * z, z, np.float32(-0.5) * z) + np.float32(1.0)
    sine = _fused(_polynomial(z, _SINE) * z, x, x)
    turned = (octant & 2) != 0
    over, along = np.where(turned, cosine, sine), np.where(turned, sine, cosine)
    return np.where(octant & 4, -over, over), np.where((octant - 2) & 4, along, -along)
