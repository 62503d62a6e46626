"""Kernel bodies of the special functions: vectorised, in float64 inside, about 1e-14 accurate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any

from .special_tables import ERF, ERF_SINGLE, ERFCX, I0_FAR, I0_NEAR, I1_FAR, I1_NEAR, LGAMMA

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule
    from ...base.protocols import Array

SQRT_PI = math.sqrt(math.pi)
SQRT2 = math.sqrt(2.0)

# B(2k), the Bernoulli numbers of the asymptotic series.
_BERNOULLI = (
    1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798,
    -174611 / 330, 854513 / 138,
)  # fmt: skip


def double(body: Callable) -> Callable:
    """A body that computes in float64 and answers in the dtype of its inputs."""

    @wraps(body)  # Op reads the signature through it
    def wide(xp: ArrayModule, *arrays: Any, **attrs: Any) -> Any:
        dtype = next(a.dtype for a in arrays if hasattr(a, "dtype"))
        out = body(xp, *[xp.asarray(a, xp.float64) for a in arrays], **attrs)
        return out if dtype == xp.float64 else out.astype(dtype)

    return wide


def _powers(x: Any, coefficients: Sequence[float]) -> Any:
    total = x * coefficients[-1]
    for c in coefficients[-2:0:-1]:
        total += c
        total *= x
    total += coefficients[0]
    return total


def chebyshev(x: Any, coefficients: Sequence[float]) -> Any:
    """Clenshaw's sum of a Chebyshev series for x in [-1, 1]."""
    twice = x + x
    ahead, further = coefficients[-1], 0.0
    for c in coefficients[-2:0:-1]:
        following = twice * ahead
        following -= further
        following += c
        ahead, further = following, ahead
    return x * ahead - further + coefficients[0]


# -- error functions ----------------------------------------------------------------------------


def _erfcx_right(xp: ArrayModule, x: Any) -> Any:
    """exp(x * x) erfc(x) for x >= 0."""
    scaled = 1 - 4 / (x + 2)  # (x - 2) / (x + 2), also at infinity
    return chebyshev(scaled, ERFCX) / (1 + 2 * x)


def _erfc_right(xp: ArrayModule, x: Any) -> Any:
    return xp.exp(-x * x) * _erfcx_right(xp, x)


def _erf_double(xp: ArrayModule, x: Any) -> Any:
    size = xp.abs(x)
    near = _powers(xp.minimum(x * x, 1.0), ERF) * x
    return xp.where(size < 1, near, xp.copysign(1 - _erfc_right(xp, size), x))


def erf(xp: ArrayModule, x: Array) -> Any:
    if x.dtype == xp.float64:
        return _erf_double(xp, x)
    single = xp.asarray(x, xp.float32)
    square = xp.minimum(single * single, 40)  # beyond, tanh gives 1 anyway
    out = xp.tanh(_powers(square, ERF_SINGLE) * single)
    return out if x.dtype == xp.float32 else out.astype(x.dtype)


@double
def erfc(xp: ArrayModule, x: Array) -> Any:
    size = xp.abs(x)
    right = _erfc_right(xp, size)
    outer = xp.where(x < 0, 2 - right, right)
    return xp.where(size < 0.5, 1 - _erf_double(xp, x), outer)


@double
def erfcx(xp: ArrayModule, x: Array) -> Any:
    right = _erfcx_right(xp, xp.abs(x))
    return xp.where(x < 0, 2 * xp.exp(x * x) - right, right)


def _erfcinv_far(xp: ArrayModule, q: Any) -> Any:
    """x > 0 with erfc(x) = q for q <= 0.5, by Newton's method on the logarithm."""
    goal = xp.log(q)
    x = xp.sqrt(-goal)  # too large, and the iteration comes down from there monotonically
    for _ in range(7):
        scaled = _erfcx_right(xp, x)
        x = x + (xp.log(scaled) - x * x - goal) * (0.5 * SQRT_PI) * scaled
    return x


def _erfinv_near(xp: ArrayModule, y: Any) -> Any:
    """erfinv for |y| <= 0.5: Winitzki's guess, then Halley's method."""
    a = 0.147
    logarithm = xp.log1p(-y * y)
    middle = 2 / (math.pi * a) + 0.5 * logarithm
    guess = xp.sqrt(xp.maximum(xp.sqrt(middle * middle - logarithm / a) - middle, 0))
    x = xp.copysign(guess, y)
    for _ in range(3):
        step = (_erf_double(xp, x) - y) * xp.exp(x * x) * (0.5 * SQRT_PI)
        x = x - step / (1 + x * step)
    return x


def _invert(xp: ArrayModule, y: Any, complement: Any) -> Any:
    """erfinv(y), given 1 - |y| without cancellation."""
    near = _erfinv_near(xp, xp.clip(y, -0.5, 0.5))
    tail = xp.clip(complement, 5e-324, 0.5)
    far = xp.copysign(_erfcinv_far(xp, tail), y)
    out = xp.where(xp.abs(y) <= 0.5, near, far)
    out = xp.where(complement == 0, xp.copysign(math.inf, y), out)
    return xp.where((complement < 0) | xp.isnan(y), math.nan, out)


@double
def erfinv(xp: ArrayModule, x: Array) -> Any:
    return _invert(xp, x, 1 - xp.abs(x))


@double
def ndtr(xp: ArrayModule, x: Array) -> Any:
    t = x / SQRT2
    right = 0.5 * _erfc_right(xp, xp.abs(t))
    outer = xp.where(x > 0, 1 - right, right)
    return xp.where(xp.abs(t) < 0.5, 0.5 + 0.5 * _erf_double(xp, t), outer)


@double
def log_ndtr(xp: ArrayModule, x: Array) -> Any:
    t = x / SQRT2
    left = xp.log(0.5 * _erfcx_right(xp, xp.maximum(-t, 0))) - t * t
    right = xp.log1p(-0.5 * _erfc_right(xp, xp.maximum(t, 0)))
    return xp.where(x < 0, left, right)


@double
def ndtri(xp: ArrayModule, x: Array) -> Any:
    lower = xp.minimum(x, 1 - x)
    return SQRT2 * _invert(xp, 2 * x - 1, 2 * lower)


# -- gamma and its logarithmic derivatives ------------------------------------------------------


def _stirling(xp: ArrayModule, x: Any) -> Any:
    """log(gamma(x)) for x >= 10."""
    inverse = 1 / (x * x)
    series = _powers(
        inverse, [b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(_BERNOULLI[:8])]
    )
    return (x - 0.5) * xp.log(x) - x + 0.5 * math.log(2 * math.pi) + series / x


def _lgamma_right(xp: ArrayModule, x: Array) -> Any:
    """log(gamma(x)) for x >= 0.5."""
    inner = xp.clip(x, 0.5, 3.0)  # moved into [1, 2], where the zeros are split off
    shift = xp.where(inner < 1, -xp.log(inner), xp.where(inner > 2, xp.log(inner - 1), 0.0))
    base = xp.where(inner < 1, inner + 1, xp.where(inner > 2, inner - 1, inner))
    near = shift + (base - 1) * (base - 2) * chebyshev(2 * base - 3, LGAMMA)
    few = xp.clip(x, 3.0, 10.0)
    product = few * (few + 1) * (few + 2) * (few + 3) * (few + 4) * (few + 5) * (few + 6)
    middle = _stirling(xp, few + 7) - xp.log(product)
    far = _stirling(xp, xp.maximum(x, 10.0))
    return xp.where(x <= 3, near, xp.where(x < 10, middle, xp.where(xp.isinf(x), x, far)))


def _sin_pi(xp: ArrayModule, x: Array) -> Any:
    """sin(pi x), exactly zero at the integers."""
    return xp.sin(math.pi * (x - xp.rint(x))) * xp.where(xp.rint(x) % 2 == 0, 1.0, -1.0)


def lgamma_double(xp: ArrayModule, x: Array) -> Any:
    right = _lgamma_right(xp, xp.where(x < 0.5, 1 - x, x))
    left = math.log(math.pi) - xp.log(xp.abs(_sin_pi(xp, x))) - right
    out = xp.where(x < 0.5, left, right)
    return xp.where(xp.isinf(x), math.inf, out)


lgamma = double(lgamma_double)


@double
def digamma(xp: ArrayModule, x: Array) -> Any:
    left = x < 0.5
    y = xp.where(left, 1 - x, x)
    small = y < 10
    total = xp.zeros_like(y)
    for k in range(10):
        total = total - xp.where(small, 1 / (y + k), 0.0)
    z = xp.where(small, y + 10, y)
    inverse = 1 / (z * z)
    series = _powers(inverse, [b / (2 * k + 2) for k, b in enumerate(_BERNOULLI[:8])])
    right = xp.log(z) - 0.5 / z - inverse * series + total
    fraction = x - xp.rint(x)
    out = xp.where(left, right - math.pi / xp.tan(math.pi * fraction), right)
    out = xp.where((x < 0) & (fraction == 0), math.nan, out)
    return xp.where(x == 0, xp.copysign(math.inf, -x), xp.where(x == -math.inf, math.nan, out))


def _zeta_right(xp: ArrayModule, s: Array, q: Any) -> Any:
    """The Hurwitz zeta function for s > 1, q > 0, by Euler and Maclaurin's formula."""
    total = xp.zeros_like(s * q)
    for k in range(10):
        total = total + (q + k) ** -s
    a = q + 10
    tail = a**-s
    total = total + a * tail / (s - 1) + 0.5 * tail
    factor = s * tail / a
    for k, b in enumerate(_BERNOULLI):
        n = 2 * k + 2
        total = total + factor * (b / math.factorial(n))
        factor = factor * (s + n - 1) * (s + n) / (a * a)
    return total


def zeta_double(xp: ArrayModule, s: Array, q: Array) -> Any:
    """Over negative q it is the sum over q, q + 1, ... as well, folded around the next integer."""
    floor = xp.floor(q)
    r = xp.where(q > 0, q, q - floor)
    out = _zeta_right(xp, s, r)
    below = xp.where(q > 0, 0.5, 1 - r)
    steps = xp.where(q > 0, 1.0, -floor)
    folded = _zeta_right(xp, s, below) - _zeta_right(xp, s, below + steps)
    out = xp.where(q > 0, out, out + xp.where(s % 2 == 0, folded, -folded))
    out = xp.where((q <= 0) & (s != xp.floor(s)), math.nan, out)
    out = xp.where((q <= 0) & (q == floor), math.inf, out)
    out = xp.where(q == math.inf, 0.0, out)
    out = xp.where(s == 1, math.inf, xp.where(s < 1, math.nan, out))
    return xp.where(xp.isnan(q) | xp.isnan(s), math.nan, out)


@double
def zeta(xp: ArrayModule, x: Array, y: Array) -> Any:
    return zeta_double(xp, x, y)


@double
def polygamma(xp: ArrayModule, x: Array, *, n: int) -> Any:
    sign = 1.0 if n % 2 else -1.0
    factorial = math.factorial(n) if n <= 170 else math.inf  # of float64
    return sign * factorial * zeta_double(xp, xp.asarray(n + 1.0), x)


# -- modified Bessel functions ------------------------------------------------------------------


def _bessel(
    xp: ArrayModule, x: Array, near: Sequence[float], far: Sequence[float], order: int
) -> Any:
    """exp(-|x|) I(|x|)."""
    size = xp.abs(x)
    inner = chebyshev(xp.minimum(size, 8.0) / 4 - 1, near) * (size if order else 1.0)
    outer = xp.maximum(size, 8.0)
    return xp.where(size <= 8, inner, chebyshev(16 / outer - 1, far) / xp.sqrt(outer))


@double
def i0e(xp: ArrayModule, x: Array) -> Any:
    return _bessel(xp, x, I0_NEAR, I0_FAR, 0)


@double
def i1e(xp: ArrayModule, x: Array) -> Any:
    return xp.copysign(_bessel(xp, x, I1_NEAR, I1_FAR, 1), x)


def i0_double(xp: ArrayModule, x: Array) -> Any:
    return _grown(xp, _bessel(xp, x, I0_NEAR, I0_FAR, 0), x)


def i1_double(xp: ArrayModule, x: Array) -> Any:
    return xp.copysign(_grown(xp, _bessel(xp, x, I1_NEAR, I1_FAR, 1), x), x)


i0 = double(i0_double)
i1 = double(i1_double)


def _grown(xp: ArrayModule, scaled: Array, x: Array) -> Any:
    """exp(|x|) times a decaying factor, without overflow before the product overflows."""
    half = xp.exp(0.5 * xp.abs(x))
    return scaled * half * half


# -- incomplete gamma functions -----------------------------------------------------------------


def _lower_series(xp: ArrayModule, a: Array, x: Array) -> Any:
    """x ** -a exp(x) gamma(a) P(a, x) by its power series, which is quick for x < a + 1."""
    term = 1 / a
    total = term
    for k in range(1, 2000):
        term = term * (x / (a + k))
        total = total + term
        if not bool((xp.abs(term) > 1e-17 * xp.abs(total)).any()):
            break
    return total


def _upper_fraction(xp: ArrayModule, a: Array, x: Array) -> Any:
    """x ** -a exp(x) gamma(a) Q(a, x) by Lentz's continued fraction, quick for x > a + 1."""
    tiny = 1e-300
    b = x + 1 - a
    c = xp.full_like(b, 1 / tiny)
    d = 1 / b
    total = d
    for k in range(1, 2000):
        step = -k * (k - a)
        b = b + 2
        d = step * d + b
        d = 1 / xp.where(xp.abs(d) < tiny, tiny, d)
        c = b + step / c
        c = xp.where(xp.abs(c) < tiny, tiny, c)
        total = total * (d * c)
        if not bool((xp.abs(d * c - 1) > 1e-16).any()):
            break
    return total


def _incomplete(xp: ArrayModule, a: Array, x: Array, upper: bool) -> Any:
    valid = (a > 0) & (x > 0) & xp.isfinite(x) & xp.isfinite(a)
    a_safe, x_safe = xp.where(valid, a, 1.0), xp.where(valid, x, 1.0)
    use_series = x_safe < a_safe + 1
    front = xp.exp(a_safe * xp.log(x_safe) - x_safe - lgamma_double(xp, a_safe))
    low = front * _lower_series(xp, a_safe, xp.where(use_series, x_safe, a_safe))
    high = front * _upper_fraction(xp, a_safe, xp.where(use_series, a_safe + 2, x_safe))
    if upper:
        out = xp.where(use_series, 1 - low, high)
    else:
        out = xp.where(use_series, low, 1 - high)
    return xp.where(valid, out, _incomplete_edge(xp, a, x, upper))


def _incomplete_edge(xp: ArrayModule, a: Array, x: Array, upper: bool) -> Any:
    """The values outside the open quadrant: at 0, at infinity, and nan elsewhere."""
    lower = xp.where((x == 0) | xp.isinf(a), 0.0, 1.0)
    lower = xp.where((a == 0) & (x > 0), 1.0, lower)
    bad = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | (xp.isinf(a) & xp.isinf(x))
    bad = bad | xp.isnan(a) | xp.isnan(x)
    return xp.where(bad, math.nan, 1 - lower if upper else lower)


@double
def gammainc(xp: ArrayModule, x: Array, y: Array) -> Any:
    a, b = xp.broadcast_arrays(x, y)
    return _incomplete(xp, a, b, upper=False)


@double
def gammaincc(xp: ArrayModule, x: Array, y: Array) -> Any:
    a, b = xp.broadcast_arrays(x, y)
    return _incomplete(xp, a, b, upper=True)
