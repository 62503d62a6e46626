"""Rows of the special functions."""

from __future__ import annotations

import math

from optable import Row, T

HALVES = ("float32", "float64", "float16", "bfloat16")
EDGES = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5]

# Name and the interval its samples come from.
ONE = {
    "erf": (-3, 3), "erfc": (-3, 3), "erfinv": (-0.9, 0.9), "lgamma": (0.3, 5), "digamma": (0.4, 5),
    "i0": (-4, 4), "special.erfcx": (-2, 4), "special.ndtr": (-3, 3), "special.log_ndtr": (-4, 3),
    "special.ndtri": (0.1, 0.9), "special.i0e": (0.3, 4), "special.i1": (0.3, 4),
    "special.i1e": (0.3, 4), "special.entr": (0.2, 3),
}  # fmt: skip
SIBLINGS = {
    "special.erf": (-2, 2), "special.erfc": (-2, 2), "special.erfinv": (-0.8, 0.8),
    "special.gammaln": (0.3, 4), "special.digamma": (0.3, 4), "special.psi": (0.3, 4),
    "special.i0": (-2, 2),
}  # fmt: skip
# Without derivatives, in PyTorch as well.
BESSEL = {
    "bessel_j0": (-30, 30), "bessel_j1": (-30, 30), "bessel_y0": (0.01, 30), "bessel_y1": (0.05, 30),
    "modified_bessel_i0": (-6, 6), "modified_bessel_i1": (-6, 6), "modified_bessel_k0": (0.05, 9),
    "modified_bessel_k1": (0.05, 9), "scaled_modified_bessel_k0": (0.05, 30),
    "scaled_modified_bessel_k1": (0.05, 30), "spherical_bessel_j0": (-9, 9), "airy_ai": (-9, 9),
}  # fmt: skip
POLYNOMIALS = (
    *[f"{s}chebyshev_polynomial_{k}" for s in ("", "shifted_") for k in "tuvw"],
    "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
)  # fmt: skip
METHODS = ("erf", "erfc", "erfinv", "lgamma", "digamma", "i0")

ROWS = [
    *[Row(n, T(3, 4, low=a, high=b), _out=True, _inplace=n in METHODS) for n, (a, b) in ONE.items()],
    *[Row(n, T(3, low=a, high=b), _second=False) for n, (a, b) in SIBLINGS.items()],
    *[Row(n, T(low=a, high=b), _id="0d") for n, (a, b) in ONE.items()],
    *[Row(n, T(5, low=a, high=b), _id="halves", _dtypes=("float16",), _grad=False)
      for n, (a, b) in ONE.items() if n in METHODS],
    *[Row(n, T(5, low=a, high=b), _id="bfloat16", _dtypes=("bfloat16",), _grad=False)
      for n, (a, b) in ONE.items() if n in METHODS],
    *[Row(n, T(0, 2), _id="empty") for n in ONE],
    *[Row(n, T(3, dtype="int", low=1, high=3), _id="int", _dtypes=("float32",), _tol=1e-4)
      for n in ONE if "erfinv" not in n and "ndtri" not in n],
    *[Row(n, T(value=EDGES, grad=False), _id="edges") for n in ONE],
    Row("lgamma", T(40, low=-20, high=30, grad=False), _id="wide"),
    Row("digamma", T(40, low=-9.7, high=30, grad=False), _id="wide", _tol=1e-4),
    Row("erf", T(200, low=-6, high=6, grad=False), _id="wide"),
    Row("erfc", T(200, low=-6, high=20, grad=False), _id="wide"),
    Row("erfinv", T(200, low=-1, high=1, grad=False), _id="wide"),
    Row("i0", T(100, low=-30, high=30, grad=False), _id="wide", _tol=1e-5),
    Row("special.i1e", T(100, low=-30, high=30, grad=False), _id="wide"),
    *[Row("polygamma", n, T(3, 4, low=0.4, high=5), _out=True, _tol=2e-5) for n in (0, 1, 2, 3)],
    Row("Tensor.polygamma", T(3, low=0.4, high=5), 1, _tol=2e-5),
    Row("special.polygamma", 1, T(3, low=0.4, high=5), _second=False, _tol=2e-5),
    Row("mvlgamma", T(3, low=2, high=5), 3, _inplace=True),
    Row("special.multigammaln", T(3, low=2, high=5), 2),
    Row("special.zeta", T(3, low=1.5, high=4, grad=False), T(3, low=0.5, high=4), _out=True),
    *[Row(n, T(3, 4, low=0.5, high=6, grad=False), T(4, low=0.3, high=8), _out=True)
      for n in ("special.gammainc", "special.gammaincc")],
    *[Row(n, T(3, low=0.5, high=6, grad=False), T(3, low=0.3, high=8)) for n in ("igamma", "igammac")],
    *[Row(f"special.{n}", T(60, low=a, high=b, grad=False), _out=True, _tol=2e-5)
      for n, (a, b) in BESSEL.items()],
    *[Row(f"special.{n}", T(3, dtype="int", low=1, high=5), _id="int", _dtypes=("float32",))
      for n in BESSEL],
    *[Row(f"special.{n}", T(value=EDGES, grad=False), _id="edges")
      for n in BESSEL if n not in ("airy_ai", "spherical_bessel_j0")],
    *[Row(f"special.{n}", T(4, 1, low=-1, high=1, grad=False), T(7, dtype="index:7"), _out=True)
      for n in POLYNOMIALS],
    *[Row(f"special.{n}", T(4, grad=False), 3) for n in POLYNOMIALS],
]  # fmt: skip
