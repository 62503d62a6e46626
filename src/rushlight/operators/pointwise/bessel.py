"""The functions of `special` that PyTorch has without derivatives: Bessel, Airy, orthogonal polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..made_of.guards import FLOATS, only
from ..made_of.pointwise import binary, unary
from ..made_of.promotion import promote_float, promote_unary_float
from . import bessel_tables as tables
from .special_kernels import chebyshev, double, i0_double, i1_double

if TYPE_CHECKING:
    from ...base.array_module import ArrayModule
    from ...base.protocols import Array

# -- Bessel functions ---------------------------------------------------------------------------


def _wave(xp: ArrayModule, x: Array, order: int) -> tuple[Any, Any]:
    """J and Y of `order` for x >= 8: a slowly varying amplitude and phase."""
    p, q = (tables.P0, tables.Q0) if order == 0 else (tables.P1, tables.Q1)
    t = 128 / (x * x) - 1
    real, imag = chebyshev(t, p), chebyshev(t, q) / x
    angle = x - (0.25 + 0.5 * order) * math.pi
    size = xp.sqrt(2 / (math.pi * x))
    cos, sin = xp.cos(angle), xp.sin(angle)
    return size * (real * cos - imag * sin), size * (real * sin + imag * cos)


def _j_near(x: Array, order: int) -> Any:
    t = x * x / 32 - 1
    return chebyshev(t, tables.J1_NEAR) * x if order else chebyshev(t, tables.J0_NEAR)


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
        near = chebyshev(t, tables.Y1_NEAR) * inner + waves - 2 / (math.pi * inner)
    else:
        near = chebyshev(t, tables.Y0_NEAR) + waves
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
        near = chebyshev(t, tables.K1_NEAR) * inner + 1 / inner + logarithm * i1_double(xp, inner)
    else:
        near = chebyshev(t, tables.K0_NEAR) - logarithm * i0_double(xp, inner)
    outer = xp.maximum(x, 2.0)
    far = chebyshev(4 / outer - 1, tables.K1_FAR if order else tables.K0_FAR) / xp.sqrt(outer)
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
    near = chebyshev(xp.clip(x, -4.0, 4.0) / 4, tables.AIRY_NEAR)
    size = xp.maximum(xp.abs(x), 4.0)
    z = 2 / 3 * size * xp.sqrt(size)
    root = xp.sqrt(xp.sqrt(size))
    right = chebyshev(32 / 3 / z - 1, tables.AIRY_RIGHT) * xp.exp(-z) / root
    t = 2 * (16 / 3 / z) ** 2 - 1
    angle = z - math.pi / 4
    real, imag = chebyshev(t, tables.AIRY_P), chebyshev(t, tables.AIRY_Q) / z
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
    return (
        f"The {words} {kind.capitalize()} of degree `other` at `input`; it has no derivative here."
    )


def _polynomial(
    name: str, first: Callable[[Any], Any], step: Step, at_half: str, shifted: bool = False
) -> Any:
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
    "laguerre_polynomial_l",
    lambda x: 1 - x,
    lambda k, x, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1),
    "0.1250",
)
_polynomial(
    "legendre_polynomial_p",
    lambda x: x + 0.0,
    lambda k, x, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1),
    "-0.1250",
)
