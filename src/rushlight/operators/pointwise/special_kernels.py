"""Kernel bodies of the special functions: vectorised, in float64 inside, about 1e-14 accurate."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ...base.arrays import Array, ArrayModule

# Chebyshev coefficients, lowest first, unless a line says powers.

# erf(x) = tanh(x p(x * x)) to 1.2e-7 for every x: short enough for float32 in inner loops.
ERF_SINGLE = (1.12837922, 1.02769382e-1, -1.91941033e-4, -6.20265567e-4, 8.80220919e-5, -5.76138767e-6, 1.48705343e-7)

# erf(x) / x by powers of x * x, for |x| <= 1.
ERF = (
    1.1283791670955126, -0.37612638903183543, 0.1128379167094513, -0.026866170643256995,
    0.005223977607269946, -0.0008548325982543225, 0.00012055295112667001, -1.4924740785377576e-05,
    1.6447471190594618e-06, -1.6208829856810202e-07, 1.3721520406351094e-08,
    -7.798543850549947e-10,
)  # fmt: skip

# (1 + 2x) exp(x * x) erfc(x) in (x - 2) / (x + 2), for x >= 0.
ERFCX = (
    1.1760066555883004, 0.025779673870048207, -0.10659315067778503, 0.03880887957448382,
    -0.005414899930893725, -0.00040815257282372384, 0.00019843768248553527, 9.842532776048127e-06,
    -7.763265561062859e-06, -7.174001457529682e-07, 3.140694955581843e-07, 6.188423669546144e-08,
    -9.890619934492214e-09, -4.59539962251018e-09, -7.180587728177086e-11, 2.6296183336364044e-10,
    4.867734056607904e-11, -8.026804193759018e-12, -4.779133570845297e-12,
    -4.3470126478464375e-13, 2.4123142738462003e-13, 8.610900521277307e-14,
    2.5947648983718217e-15, -5.872254381500454e-15, -1.7019328812338413e-15, 1.3873587121758e-17,
    1.4092174407317463e-16, 3.841275494056573e-17,
)  # fmt: skip

# log(gamma(x)) / ((x - 1) (x - 2)) in 2x - 3, for 1 <= x <= 2.
LGAMMA = (
    0.49141539302938714, -0.07611416167043585, 0.008432324965932778, -0.001079493726328608,
    0.00014900748003692963, -2.1512399888556784e-05, 3.1979329860862186e-06,
    -4.851693012139927e-07, 7.47148782116316e-08, -1.1638296700170518e-08, 1.829400437118668e-09,
    -2.8969180607129607e-10, 4.61570140620909e-11, -7.392810230497983e-12, 1.1894280008333085e-12,
    -1.9212068676522805e-13, 3.113975526387164e-14, -5.0628432984486114e-15,
    8.254150281631144e-16, -1.3490578987574844e-16, 2.209876116782623e-17,
)  # fmt: skip

# exp(-x) I0(x) in x / 4 - 1, for 0 <= x <= 8.
I0_NEAR = (
    0.33839763720473803, -0.3046826723431984, 0.17162090152220877, -0.09490109704804764,
    0.04930528423967071, -0.02373741480589947, 0.010546460394594998, -0.004324309995050576,
    0.0016394756169413357, -0.0005763755745385824, 0.00018850288509584165, -5.754195010082104e-05,
    1.6448448070728896e-05, -4.4167383584587505e-06, 1.1173875391201037e-06,
    -2.670793853940612e-07, 6.046995022541919e-08, -1.300025009986248e-08, 2.6598237246823866e-09,
    -5.189795601635263e-10, 9.675809035373237e-11, -1.726826291441556e-11, 2.95505266312964e-12,
    -4.856446783111929e-13, 7.676185498604936e-14, -1.1685332877993451e-14, 1.715391285555133e-15,
    -2.431279846547955e-16, 3.3307945188222384e-17, -4.4153416464793395e-18,
)  # fmt: skip

# sqrt(x) exp(-x) I0(x) in 16 / x - 1, for x >= 8.
I0_FAR = (
    0.4022452055070544, 0.0033691164782556943, 6.889758346916825e-05, 2.8913705208347567e-06,
    2.0489185894690638e-07, 2.266668990498178e-08, 3.3962320257083865e-09, 4.94060238822497e-10,
    1.1889147107846439e-11, -3.1499165279632416e-11, -1.3215811840447713e-11,
    -1.7941785315068062e-12, 7.180124451383666e-13, 3.8527783827421426e-13, 1.54008621752141e-14,
    -4.150569347287222e-14, -9.554846698828307e-15, 3.8116806693526224e-15,
    1.7725601330565263e-15, -3.425485619677219e-16, -2.8276239805165836e-16,
    3.461222867697461e-17, 4.46562142029676e-17, -4.830504485944182e-18, -7.233180487874754e-18,
)  # fmt: skip

# exp(-x) I1(x) / x in x / 4 - 1, for 0 <= x <= 8.
I1_NEAR = (
    0.12629359322181682, -0.17641651835783406, 0.1026436586898471, -0.05294598120809499,
    0.024726449030626516, -0.010564084894626197, 0.004156422944312888, -0.0015135724506312532,
    0.0005122859561685758, -0.00016176081582589674, 4.781565107550054e-05,
    -1.3273163656039436e-05, 3.4702513081376785e-06, -8.568720264695455e-07,
    2.0032947535521353e-07, -4.445059128796328e-08, 9.381537386495773e-09,
    -1.8872497517228294e-09, 3.625590281552117e-10, -6.663489723502027e-11,
    1.1736186298890901e-11, -1.9839743977649436e-12, 3.223793365945575e-13,
    -5.042185504727912e-14, 7.600684294735408e-15, -1.1055969477353862e-15,
    1.5536319577362005e-16, -2.111421214358166e-17, 2.7779141127610464e-18,
)  # fmt: skip

# sqrt(x) exp(-x) I1(x) in 16 / x - 1, for x >= 8.
I1_FAR = (
    0.38928811750914005, -0.009761097491361469, -0.00011058893876262371, -3.882564808877691e-06,
    -2.512236237870209e-07, -2.6314688468895196e-08, -3.835380385964237e-09,
    -5.589743462196584e-10, -1.8974958123505413e-11, 3.2526035830154884e-11,
    1.4125807436613782e-11, 2.0356285441470896e-12, -7.198551776245908e-13,
    -4.0835511110921974e-13, -2.1015418427726643e-14, 4.272440016711951e-14,
    1.0420276984128802e-14, -3.8144030724370075e-15, -1.8803547755107825e-15,
    3.3082023109209285e-16, 2.96262899764595e-16, -3.209525921993424e-17, -4.6503053684893586e-17,
    4.414348323071708e-18, 7.517296310842105e-18,
)  # fmt: skip


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
    series = _powers(inverse, [b / ((2 * k + 2) * (2 * k + 1)) for k, b in enumerate(_BERNOULLI[:8])])
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
    out = xp.where(q == math.inf, math.nan, out)  # as PyTorch's sum ends there: nothing times infinity
    out = xp.where(s == 1, math.inf, xp.where(s < 1, math.nan, out))
    pole = (q <= 0) & (q == floor)  # whatever s is
    return xp.where(xp.isnan(q) | (xp.isnan(s) & ~pole), math.nan, xp.where(xp.isnan(s), math.inf, out))


@double
def zeta(xp: ArrayModule, x: Array, y: Array) -> Any:
    return zeta_double(xp, x, y)


def polygamma(xp: ArrayModule, x: Array, *, n: int) -> Any:
    return _trigamma(xp, x) if n == 1 else _polygamma(xp, x, n=n)


@double
def _trigamma(xp: ArrayModule, x: Array) -> Any:
    """By reflection from below 1/2, six steps upwards, and the series for large numbers."""
    left = x < 0.5
    sine = xp.sin(math.pi * x)
    reflected = xp.where(left, -(math.pi**2) / xp.where(left, sine * sine, 1), 0)
    x = xp.where(left, 1 - x, x)
    total = reflected
    for _ in range(6):
        total = total + 1 / (x * x)
        x = x + 1
    square = 1 / (x * x)
    total = total + (1 + 1 / (2 * x) + square * (1 / 6 - square * (1 / 30 - square / 42))) / x
    return xp.where(left, -total, total)


@double
def _polygamma(xp: ArrayModule, x: Array, *, n: int) -> Any:
    sign = 1.0 if n % 2 else -1.0
    factorial = math.factorial(n) if n <= 170 else math.inf  # of float64
    return sign * factorial * zeta_double(xp, xp.asarray(n + 1.0), x)


# -- modified Bessel functions ------------------------------------------------------------------


def _bessel(xp: ArrayModule, x: Array, near: Sequence[float], far: Sequence[float], order: int) -> Any:
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


def _until_settled(xp: ArrayModule, state: tuple, step: Callable, is_settled: Callable) -> Any:
    """The last of the arrays of `state` after as many steps as each element needs, at most 2000.

    Elements that have settled take no part in later steps; now and then they are looked for.
    """
    result = xp.empty_like(state[-1])
    places = xp.arange(result.size)
    for k in range(1, 2000):
        state = step(k, *state)
        if k % 8:
            continue
        settled = is_settled(*state)
        result[places[settled]] = state[-1][settled]
        going = ~settled
        places, state = places[going], tuple([a[going] for a in state])
        if not places.size:
            break
    result[places] = state[-1]
    return result


def _lower_series(xp: ArrayModule, a: Array, x: Array) -> Any:
    """x ** -a exp(x) gamma(a) P(a, x) by its power series, which is quick for x < a + 1."""

    def step(k: int, a: Array, x: Array, term: Array, total: Array) -> tuple:
        term = term * (x / (a + k))
        return a, x, term, total + term

    settled = lambda a, x, term, total: ~(xp.abs(term) > 1e-17 * xp.abs(total))
    return _until_settled(xp, (a, x, 1 / a, 1 / a), step, settled)


def _upper_fraction(xp: ArrayModule, a: Array, x: Array) -> Any:
    """x ** -a exp(x) gamma(a) Q(a, x) by Lentz's continued fraction, quick for x > a + 1."""
    tiny = 1e-300

    def step(k: int, a: Array, b: Array, c: Array, d: Array, total: Array) -> tuple:
        by = -k * (k - a)
        b = b + 2
        d = by * d + b
        d = 1 / xp.where(xp.abs(d) < tiny, tiny, d)
        c = b + by / c
        c = xp.where(xp.abs(c) < tiny, tiny, c)
        return a, b, c, d, total * (d * c)

    b = x + 1 - a
    settled = lambda a, b, c, d, total: ~(xp.abs(d * c - 1) > 1e-16)
    return _until_settled(xp, (a, b, xp.full_like(b, 1 / tiny), 1 / b, 1 / b), step, settled)


def _of_large(xp: ArrayModule, a: Array, x: Array, upper: bool) -> Any:
    """Temme's expansion, uniform in x (1979): an error function and two terms of what is left of it."""
    mu = (x - a) / a
    near = xp.where(xp.abs(mu) < 1e-2, mu, 0.0)
    powers = near * near * (1 / 2 - near * (1 / 3 - near * (1 / 4 - near * (1 / 5 - near * (1 / 6 - near / 7)))))
    square = 2 * xp.where(xp.abs(mu) < 1e-2, powers, mu - xp.log1p(mu))
    eta = xp.copysign(xp.sqrt(square), mu)
    first = -1 / 3 + eta * (1 / 12 - eta * (2 / 135 - eta / 864))
    rest = xp.exp(-a * square / 2) / xp.sqrt(2 * math.pi * a) * (first - (1 / 540 + eta / 288) / a)
    sign = 1.0 if upper else -1.0
    found = 0.5 * erfc(xp, sign * eta * xp.sqrt(a / 2)) + sign * xp.where(xp.abs(eta) < 1, rest, 0)
    return xp.clip(found, 0.0, 1.0)


def _incomplete(xp: ArrayModule, a: Array, x: Array, upper: bool) -> Any:
    out = _incomplete_edge(xp, a, x, upper)
    valid = (a > 0) & (x > 0) & xp.isfinite(x) & xp.isfinite(a)
    large = valid & (a > 1e5)
    out[large] = _of_large(xp, a[large], x[large], upper)
    for part, is_upper in ((_lower_series, False), (_upper_fraction, True)):
        here = valid & ~large & ((x >= a + 1) == is_upper)
        a_here, x_here = a[here], x[here]
        front = xp.exp(a_here * xp.log(x_here) - x_here - lgamma_double(xp, a_here))
        found = front * part(xp, a_here, x_here)
        out[here] = found if is_upper == upper else 1 - found
    return out


def _incomplete_edge(xp: ArrayModule, a: Array, x: Array, upper: bool) -> Any:
    """The values outside the open quadrant: at 0, at infinity, and nan elsewhere."""
    lower = xp.where((x == 0) | xp.isinf(a), 0.0, 1.0)
    lower = xp.where((a == 0) & (x > 0), 1.0, lower)
    bad = (a < 0) | (x < 0) | ((a == 0) & (x == 0)) | (xp.isinf(a) & xp.isinf(x))
    bad = bad | (xp.isnan(a) & ~xp.isinf(x)) | (xp.isnan(x) & ~xp.isinf(a))
    return xp.where(bad, math.nan, 1 - lower if upper else lower)


@double
def gammainc(xp: ArrayModule, x: Array, y: Array) -> Any:
    a, b = xp.broadcast_arrays(x, y)
    return _incomplete(xp, a, b, upper=False)


@double
def gammaincc(xp: ArrayModule, x: Array, y: Array) -> Any:
    a, b = xp.broadcast_arrays(x, y)
    return _incomplete(xp, a, b, upper=True)
