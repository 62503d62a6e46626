"""The functions of `special` that PyTorch has without derivatives: Bessel, Airy, orthogonal polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...base.arrays import Array, ArrayModule
from ..made_of.guards import FLOATS, only
from ..made_of.pointwise import binary, unary
from ..made_of.promotion import promote_float, promote_unary_float
from .special_kernels import chebyshev, double, i0_double, i1_double

# Chebyshev coefficients, lowest first.

# J0(x) in x * x / 32 - 1, for |x| <= 8.
J0_NEAR = (
    0.15772797147489012, -0.008723442352852221, 0.2651786132033368, -0.37009499387264977,
    0.15806710233209725, -0.034893769411408884, 0.004819180069467605, -0.00046062616620627504,
    3.246032882100508e-05, -1.7619469077621507e-06, 7.608163592418782e-08, -2.679253530557673e-09,
    7.848696314479465e-11, -1.9438346867370164e-12, 4.125320595634374e-14, -7.588508125447546e-16,
    1.2218515873961411e-17,
)  # fmt: skip

# J1(x) / x in x * x / 32 - 1, for |x| <= 8.
J1_NEAR = (
    0.08104484632565812, -0.1489751450676521, 0.1609992623572097, -0.08268049176681791,
    0.022213639654966037, -0.003646940600769276, 0.0004050337728354822, -3.255554866857259e-05,
    1.9858774049915165e-06, -9.521984756750436e-08, 3.687133759097148e-09, -1.178026622695885e-10,
    3.160154580348003e-12, -7.221755239651773e-14, 1.4232144003513942e-15,
    -2.4441972916190464e-17,
)  # fmt: skip

# Y0(x) - 2/pi log(x) J0(x) in x * x / 32 - 1, for 0 < x <= 8.
Y0_NEAR = (
    -0.03314611320328494, -0.2744743055297453, 0.17903431407718265, 0.26156734625504663,
    -0.17730201278114358, 0.04719668959576339, -0.007287962479552079, 0.0007531135932577742,
    -5.632079141056987e-05, 3.206532537654801e-06, -1.44072332740187e-07, 5.248794787330516e-09,
    -1.5837552541812015e-10, 4.02633081830612e-12, -8.747341203310769e-14, 1.6434898714919468e-15,
    -2.6977881152566837e-17,
)  # fmt: skip

# (Y1(x) - 2/pi (log(x) J1(x) - 1/x)) / x in x * x / 32 - 1, for 0 < x <= 8.
Y1_NEAR = (
    0.0025380132357417816, -0.01608717304766875, -0.09591204536083074, 0.08445197259652346,
    -0.028328123944594365, 0.005289897544167113, -0.0006414551451326356, 5.505982873338744e-05,
    -3.53808001868935e-06, 1.7707804556154404e-07, -7.11055004989928e-09, 2.344337905911516e-10,
    -6.4651518414115946e-12, 1.51429151205002e-13, -3.0511859694473254e-15, 5.34668038572867e-17,
    -8.224911372021585e-19,
)  # fmt: skip

# Real part of sqrt(pi x / 2) exp(-i(x - pi/4)) (J0 + i Y0) in 128 / (x * x) - 1, for x >= 8.
P0 = (
    0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06, -5.1705945376060975e-08,
    1.6306464635151382e-09, -7.86409137723707e-11, 5.168262387349193e-12, -4.3045788699253914e-13,
    4.3265957431549404e-14, -5.069034095935236e-15, 6.748072215733873e-16,
    -1.0011513723467786e-16, 1.6305919233744186e-17,
)  # fmt: skip

# Its imaginary part times x.
Q0 = (
    -0.12444683684269607, 0.0005470815954089319, -5.9315987288485175e-06, 1.4377965798375193e-07,
    -5.817532749493056e-09, 3.376097523734991e-10, -2.565397936797308e-11, 2.404916100281365e-12,
    -2.6690625482579414e-13, 3.4041800321963686e-14, -4.87994410531204e-15, 7.729703176242605e-16,
    -1.3348852171502517e-16, 2.4865952389390515e-17, -4.952892629886516e-18,
    1.0473158973776097e-18,
)  # fmt: skip

# Real part of sqrt(pi x / 2) exp(-i(x - 3 pi/4)) (J1 + i Y1) in 128 / (x * x) - 1, for x >= 8.
P1 = (
    1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08,
    -1.8718907491063067e-09, 8.816898659582339e-11, -5.704863640395645e-12, 4.699195515230542e-13,
    -4.6842237839904895e-14, 5.452674896044717e-15, -7.221180842274018e-16,
    1.0667689114335412e-16, -1.7312313216116335e-17, 3.0492991197665872e-18,
)  # fmt: skip

# Its imaginary part times x.
Q1 = (
    0.3742222965562826, -0.0007702178839325664, 7.3108922063643636e-06, -1.676782510726674e-07,
    6.583354662120443e-09, -3.749090950541556e-10, 2.8121750359748866e-11, -2.61145253946232e-12,
    2.8774212663332235e-13, -3.649001916061838e-14, 5.206626366226707e-15, -8.215318025458595e-16,
    1.4141084390211833e-16, -2.626761589838529e-17, 5.2192649196714085e-18,
)  # fmt: skip

# K0(x) + log(x / 2) I0(x) in x * x / 2 - 1, for 0 < x <= 2.
K0_NEAR = (
    -0.2676636966169514, 0.3442898999246285, 0.0359799365153615, 0.001264615411446926,
    2.286212103119452e-05, 2.5347910790261494e-07, 1.904516377220209e-09, 1.0349695257633625e-11,
    4.2598161427910826e-14, 1.3744654358807508e-16,
)  # fmt: skip

# (K1(x) - 1/x - log(x / 2) I1(x)) / x in x * x / 2 - 1, for 0 < x <= 2.
K1_NEAR = (
    -0.06409034516866254, -0.10916919599320105, -0.006636878452817714, -0.00016822792382067343,
    -2.389559180803608e-06, -2.1853569024549695e-08, -1.3982271326113327e-10,
    -6.618562752976041e-13, -2.4134516242987822e-15, -6.990873731242567e-18,
)  # fmt: skip

# sqrt(x) exp(x) K0(x) in 4 / x - 1, for x >= 2.
K0_FAR = (
    1.2201515410329777, -0.0314481013119645, 0.0015698838857300533, -0.00012849549581627802,
    1.39498137188765e-05, -1.8317555227191195e-06, 2.766813639445015e-07, -4.660489897687948e-08,
    8.574034017414225e-09, -1.6975345093890614e-09, 3.5773972814003283e-10,
    -7.957489244477396e-11, 1.8559491149549264e-11, -4.514597883374519e-12,
    1.1403405882073441e-12, -2.9800969231481784e-13, 8.032890775068375e-14,
    -2.2275133267462965e-14, 6.340076476276646e-15, -1.848593377920907e-15,
    5.5120559994043335e-16, -1.6782311257549006e-16, 5.2103917776435543e-17,
    -1.6475805939842632e-17, 5.3004337711773354e-18,
)  # fmt: skip

# sqrt(x) exp(x) K1(x) in 4 / x - 1, for x >= 2.
K1_FAR = (
    1.3603130952422213, 0.10392373657681724, -0.002857816859622779, 0.00019521551847135162,
    -1.936197974166083e-05, 2.406484947837217e-06, -3.5019606030878126e-07,
    5.7410841254500495e-08, -1.0345762465678097e-08, 2.0150497551970347e-09,
    -4.1903547593419254e-10, 9.218315187605315e-11, -2.129967838427791e-11, 5.139639673482343e-12,
    -1.2891739609498229e-12, 3.348419666052243e-13, -8.976705182010146e-14,
    2.4771544242195988e-14, -7.0198370892147685e-15, 2.038703166239861e-15,
    -6.057047270643018e-16, 1.8380935752430455e-16, -5.689462849193648e-17,
    1.7940510478863572e-17, -5.7567444820733025e-18,
)  # fmt: skip

# Ai(x) in x / 4, for |x| <= 4.
AIRY_NEAR = (
    0.03254538061227613, 0.09439601807945978, -0.2398181243417839, 0.06900545569582738,
    0.15465262172975722, -0.16163926232777537, 0.04281378021236704, 0.028911542674828466,
    -0.027546755168174036, 0.00700160555775314, 0.0022620764055913023, -0.0021852808430583384,
    0.0005316775980791098, 9.792739054967832e-05, -0.0001009381853675059, 2.3539940062029843e-05,
    2.6753769656817565e-06, -3.0606102084651644e-06, 6.860495066144505e-07, 4.968936931361923e-08,
    -6.569927472538063e-08, 1.4196601560933446e-08, 6.542818923223979e-10,
    -1.0518690031771204e-09, 2.197182241849868e-10, 6.194046214824015e-12,
    -1.3050654645505535e-11, 2.6418164375184958e-12, 4.088659087604871e-14,
    -1.2921374447667754e-13, 2.540436787301888e-14, 1.5582552188111634e-16,
    -1.0448923427545402e-15, 1.9991828262773915e-16, -1.8284711282615937e-19,
    -7.032397296437049e-18, 1.3116556459375693e-18,
)  # fmt: skip

# x ** 1/4 exp(z) Ai(x), z = 2/3 x ** 3/2, in 32/3 / z - 1, for x >= 4.
AIRY_RIGHT = (
    0.28037842751535313, -0.0016789385432554166, 3.5965340335216605e-05, -1.3808186027392284e-06,
    7.411228077315053e-08, -5.00238203900133e-09, 4.0069391741718425e-10, -3.6733124279590504e-11,
    3.760344395923738e-12, -4.2232133271874755e-13, 5.135094540336571e-14, -6.690958503904776e-15,
    9.266675456412906e-16, -1.3551438241607058e-16, 2.0811549631283098e-17,
    -3.3411649915917686e-18,
)  # fmt: skip

# Real part of sqrt(pi) x ** 1/4 exp(-i(z - pi/4)) (Ai - i Bi)(-x) in 2 (16/3 / z) ** 2 - 1.
AIRY_P = (
    0.9993708890742778, -0.0006216836584374116, 7.181193774368645e-06, -2.316269813501758e-07,
    1.3216283888528755e-08, -1.0938736172758127e-09, 1.1794620737908535e-10,
    -1.5518841909929856e-11, 2.386927411492466e-12, -4.16552889201035e-13, 8.071678110741467e-14,
    -1.708757321110567e-14, 3.902945148540815e-15, -9.523976784907064e-16, 2.4632810885752603e-16,
    -6.709077463464858e-17, 1.913939683718707e-17, -5.69308436211377e-18,
)  # fmt: skip

# Its imaginary part times z.
AIRY_Q = (
    -0.06882170556308001, 0.0006089151840832694, -1.3174151014089972e-05, 6.014071912908298e-07,
    -4.327537342298499e-08, 4.247731732954726e-09, -5.232285376834493e-10, 7.672290975115024e-11,
    -1.2923809452698712e-11, 2.43852975710829e-12, -5.059047237872084e-13, 1.1378513792256329e-13,
    -2.7441377308322258e-14, 7.03448211263258e-15, -1.9032114367198917e-15, 5.403040541409308e-16,
    -1.6016711026585234e-16, 4.9375274403528065e-17, -1.5773435797781153e-17,
    5.206129581838458e-18, -1.7706787947400164e-18, 6.191669620783275e-19,
    -2.2214932182107093e-19,
)  # fmt: skip


# -- Bessel functions ---------------------------------------------------------------------------


def _wave(xp: ArrayModule, x: Array, order: int) -> tuple[Any, Any]:
    """J and Y of `order` for x >= 8: a slowly varying amplitude and phase."""
    p, q = (P0, Q0) if order == 0 else (P1, Q1)
    t = 128 / (x * x) - 1
    real, imag = chebyshev(t, p), chebyshev(t, q) / x
    angle = x - (0.25 + 0.5 * order) * math.pi
    size = xp.sqrt(2 / (math.pi * x))
    cos, sin = xp.cos(angle), xp.sin(angle)
    return size * (real * cos - imag * sin), size * (real * sin + imag * cos)


def _j_near(x: Array, order: int) -> Any:
    t = x * x / 32 - 1
    return chebyshev(t, J1_NEAR) * x if order else chebyshev(t, J0_NEAR)


def _j(xp: ArrayModule, x: Array, order: int) -> Any:
    size = xp.abs(x)
    far, _ = _wave(xp, xp.maximum(size, 8.0), order)
    out = xp.where(size <= 8, _j_near(xp.minimum(size, 8.0), order), far)
    return xp.where(x < 0, -out, out) if order else out


def _y(xp: ArrayModule, x: Array, order: int) -> Any:
    inner = xp.clip(x, 1e-300, 8.0)
    t = inner * inner / 32 - 1
    waves = 2 / math.pi * xp.log(inner) * _j_near(inner, order)
    if order:
        near = chebyshev(t, Y1_NEAR) * inner + waves - 2 / (math.pi * inner)
    else:
        near = chebyshev(t, Y0_NEAR) + waves
    _, far = _wave(xp, xp.maximum(x, 8.0), order)
    return _on_the_right(xp, x, xp.where(x <= 8, near, far), -math.inf)


def _on_the_right(xp: ArrayModule, x: Array, out: Array, at_zero: float) -> Any:
    """`out` for x > 0, its limit at zero, nan on the left."""
    return xp.where(x > 0, out, xp.where(x == 0, at_zero, math.nan))


def _k(xp: ArrayModule, x: Array, order: int, scaled: bool) -> Any:
    inner = xp.clip(x, 1e-300, 2.0)
    t = inner * inner / 2 - 1
    logarithm = xp.log(inner / 2)
    if order:
        near = chebyshev(t, K1_NEAR) * inner + 1 / inner + logarithm * i1_double(xp, inner)
    else:
        near = chebyshev(t, K0_NEAR) - logarithm * i0_double(xp, inner)
    outer = xp.maximum(x, 2.0)
    far = chebyshev(4 / outer - 1, K1_FAR if order else K0_FAR) / xp.sqrt(outer)
    if scaled:
        near = near * xp.exp(inner)
    else:
        far = far * xp.exp(-outer)
    return _on_the_right(xp, x, xp.where(x <= 2, near, far), math.inf)


def _spherical(xp: ArrayModule, x: Array) -> Any:
    square = x * x
    series = 1 - square / 6 * (1 - square / 20 * (1 - square / 42))
    out = xp.where(xp.abs(x) < 0.05, series, xp.sin(x) / xp.where(x == 0, 1.0, x))
    return xp.where(xp.isinf(x), 0.0, out)


def _airy(xp: ArrayModule, x: Array) -> Any:
    near = chebyshev(xp.clip(x, -4.0, 4.0) / 4, AIRY_NEAR)
    size = xp.maximum(xp.abs(x), 4.0)
    z = 2 / 3 * size * xp.sqrt(size)
    root = xp.sqrt(xp.sqrt(size))
    right = chebyshev(32 / 3 / z - 1, AIRY_RIGHT) * xp.exp(-z) / root
    t = 2 * (16 / 3 / z) ** 2 - 1
    angle = z - math.pi / 4
    real, imag = chebyshev(t, AIRY_P), chebyshev(t, AIRY_Q) / z
    left = (real * xp.cos(angle) - imag * xp.sin(angle)) / (math.sqrt(math.pi) * root)
    return xp.where(xp.abs(x) <= 4, near, xp.where(x > 0, right, left))


def _define(name: str, body: Callable, doc: str, x: str, y: str) -> None:
    """`x` and `y` are the numbers of the example, and of its result."""

    @double
    def kernel(xp: ArrayModule, x: Array) -> Any:
        return body(xp, x)

    unary(
        name, kernel, rule=only(FLOATS, name, promote_unary_float), places=("special",), doc=doc,
        example=(f"torch.special.{name}(torch.tensor([{x}]))", f"tensor([{y}])"), inplace=False,
    )  # fmt: skip


_SCALED = "`exp(input) * modified_bessel_k{0}(input)`, which does not vanish for large numbers."
for _name, _row in {
    "bessel_j0": (lambda xp, x: _j(xp, x, 0), "The Bessel function of the first kind of order 0.", "0.0, 1.0", "1.0000, 0.7652"),
    "bessel_j1": (lambda xp, x: _j(xp, x, 1), "The Bessel function of the first kind of order 1.", "0.0, 1.0", "0.0000, 0.4401"),
    "bessel_y0": (lambda xp, x: _y(xp, x, 0), "The Bessel function of the second kind of order 0.", "1.0, 2.0", "0.0883, 0.5104"),
    "bessel_y1": (lambda xp, x: _y(xp, x, 1), "The Bessel function of the second kind of order 1.", "1.0, 2.0", "-0.7812, -0.1070"),
    "modified_bessel_i0": (i0_double, "The modified Bessel function of the first kind of order 0.", "0.0, 1.0", "1.0000, 1.2661"),
    "modified_bessel_i1": (i1_double, "The modified Bessel function of the first kind of order 1.", "0.0, 1.0", "0.0000, 0.5652"),
    "modified_bessel_k0": (lambda xp, x: _k(xp, x, 0, False), "The modified Bessel function of the second kind of order 0.",
                           "1.0, 2.0", "0.4210, 0.1139"),
    "modified_bessel_k1": (lambda xp, x: _k(xp, x, 1, False), "The modified Bessel function of the second kind of order 1.",
                           "1.0, 2.0", "0.6019, 0.1399"),
    "scaled_modified_bessel_k0": (lambda xp, x: _k(xp, x, 0, True), _SCALED.format(0), "1.0, 100.0", "1.1445, 0.1252"),
    "scaled_modified_bessel_k1": (lambda xp, x: _k(xp, x, 1, True), _SCALED.format(1), "1.0, 100.0", "1.6362, 0.1258"),
    "spherical_bessel_j0": (_spherical, "`sin(input) / input`, which is 1 at zero.", "0.0, 1.0", "1.0000, 0.8415"),
    "airy_ai": (_airy, "The Airy function Ai.", "0.0, 1.0", "0.3550, 0.1353"),
}.items():  # fmt: skip
    _define(_name, *_row)


# -- orthogonal polynomials ---------------------------------------------------------------------

Step = Callable[[int, Any, Any, Any], Any]


def _title(name: str) -> str:
    """`shifted_chebyshev_polynomial_t` as a sentence."""
    *family, kind = name.split("_")
    words = " ".join([w if w in ("shifted", "polynomial") else w.capitalize() for w in family])
    return f"The {words} {kind.capitalize()} of degree `other` at `input`; it has no derivative here."


def _polynomial(name: str, first: Callable[[Any], Any], step: Step, at_half: str, shifted: bool = False) -> Any:
    """A family by its recurrence: `step(k, x, p, q)` is p(k + 1) from p = p(k), q = p(k - 1).

    `at_half` is what its member of degree 2 is at 0.5, for the example.
    """

    @double
    def body(xp: ArrayModule, x: Array, y: Array) -> Any:
        if shifted:
            x = 2 * x - 1
        known = abs(y) < 2.0**63  # as PyTorch's degrees, which are whole numbers; others give 0
        x, degree = xp.broadcast_arrays(x, xp.trunc(xp.where(known, y, -1.0)))
        before, here = xp.ones_like(x), first(x)
        out = xp.where(degree < 0, 0.0, before)
        top = int(degree.max()) if degree.size else 0
        for k in range(1, top + 1):
            out = xp.where(degree == k, here, out)
            before, here = here, step(k, x, here, before)
        return out

    return binary(
        name, body, rule=only(FLOATS, name, promote_float), places=("special",), inplace=False,
        doc=_title(name),
        example=(f"torch.special.{name}(torch.tensor([0.5]), 2)", f"tensor([{at_half}])"),
    )  # fmt: skip


def _chebyshev_step(k: int, x: Array, p: Array, q: Array) -> Any:
    return 2 * x * p - q


# Of each kind: the member of degree 1, and those of degree 2 at 0.5, plain and shifted.
_KINDS = {
    "t": (lambda x: x, "-0.5000", "-1."), "u": (lambda x: 2 * x, "0.", "-1."),
    "v": (lambda x: 2 * x - 1, "-1.", "-1."), "w": (lambda x: 2 * x + 1, "1.", "-1."),
}  # fmt: skip
for _kind, (_first, _plain, _shifted) in _KINDS.items():
    _polynomial(f"chebyshev_polynomial_{_kind}", _first, _chebyshev_step, _plain)
    _polynomial(f"shifted_chebyshev_polynomial_{_kind}", _first, _chebyshev_step, _shifted, True)
_polynomial("hermite_polynomial_h", lambda x: 2 * x, lambda k, x, p, q: 2 * (x * p - k * q), "-1.")
_polynomial("hermite_polynomial_he", lambda x: x + 0.0, lambda k, x, p, q: x * p - k * q, "-0.7500")
_polynomial(
    "laguerre_polynomial_l", lambda x: 1 - x, lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1), "0.1250"
)
_polynomial(
    "legendre_polynomial_p", lambda x: x + 0.0, lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1), "-0.1250"
)
