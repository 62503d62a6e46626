"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .base.device import device as _device
from .base.dtypes import dtype as _dtype
from .base.formats import layout as _layout
from .base.formats import memory_format as _memory_format
from .base.shapes import Size as _Size
from .core.tensor import Tensor as _Tensor
from .operators.random.generator import Generator as _Generator

def airy_ai(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The Airy function Ai."""
def bessel_j0(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The Bessel function J0."""
def bessel_j1(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The Bessel function J1."""
def bessel_y0(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The Bessel function Y0."""
def bessel_y1(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The Bessel function Y1."""
def chebyshev_polynomial_t(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The chebyshev polynomial t of degree `other` at `input`."""
def chebyshev_polynomial_u(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The chebyshev polynomial u of degree `other` at `input`."""
def chebyshev_polynomial_v(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The chebyshev polynomial v of degree `other` at `input`."""
def chebyshev_polynomial_w(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The chebyshev polynomial w of degree `other` at `input`."""
def digamma(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The derivative of `lgamma`."""
def entr(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`-input * log(input)`, 0 at zero."""
def erf(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The error function."""
def erfc(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`1 - erf(input)`, exact in the tail."""
def erfcx(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`exp(input ** 2) * erfc(input)`."""
def erfinv(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse of the error function."""
def exp2(input: _Tensor, *, out: Any = None) -> _Tensor:
    """2 to the power of every element."""
def expit(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`1 / (1 + exp(-input))`, without overflow."""
def expm1(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`exp(input) - 1`, exact near zero."""
def gammainc(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The regularised lower incomplete gamma function."""
def gammaincc(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The regularised upper incomplete gamma function."""
def gammaln(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The logarithm of the absolute gamma function."""
def hermite_polynomial_h(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The hermite polynomial h of degree `other` at `input`."""
def hermite_polynomial_he(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The hermite polynomial he of degree `other` at `input`."""
def i0(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The modified Bessel function of order 0."""
def i0e(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`exp(-|input|) * i0(input)`."""
def i1(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The modified Bessel function of order 1."""
def i1e(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`exp(-|input|) * i1(input)`."""
def laguerre_polynomial_l(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The laguerre polynomial l of degree `other` at `input`."""
def legendre_polynomial_p(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The legendre polynomial p of degree `other` at `input`."""
def log1p(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`log(1 + input)`, exact near zero."""
def log_ndtr(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The logarithm of `ndtr`."""
def logit(input: _Tensor, eps: _b.float | None = None, *, out: Any = None) -> _Tensor:
    """The inverse of sigmoid; `eps` clamps the input into [eps, 1 - eps]."""
def logsumexp(input: _Tensor, dim: _b.int | Sequence[_b.int] | None, keepdim: _b.bool = False, *, out: Any = None) -> _Tensor:
    """The logarithm of the sum of exponentials over `dim`, without overflow."""
def modified_bessel_i0(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The modified Bessel function I0."""
def modified_bessel_i1(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The modified Bessel function I1."""
def modified_bessel_k0(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The modified Bessel function K0."""
def modified_bessel_k1(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The modified Bessel function K1."""
def multigammaln(input: _Tensor, p: _b.int, *, out: Any = None) -> _Tensor:
    """The logarithm of the multivariate gamma function of dimension `p`."""
def ndtr(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The area under the normal curve up to every element."""
def ndtri(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The inverse of `ndtr`."""
def polygamma(n: _b.int, input: _Tensor, *, out: Any = None) -> _Tensor:
    """The n-th derivative of `digamma`."""
def psi(input: _Tensor, *, out: Any = None) -> _Tensor:
    """The derivative of `lgamma`."""
def round(input: _Tensor, *, decimals: _b.int = 0, out: Any = None) -> _Tensor:
    """The nearest integer, halves to even; or the nearest number of so many decimals."""
def scaled_modified_bessel_k0(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`exp(x) K0(x)`."""
def scaled_modified_bessel_k1(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`exp(x) K1(x)`."""
def shifted_chebyshev_polynomial_t(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The shifted chebyshev polynomial t of degree `other` at `input`."""
def shifted_chebyshev_polynomial_u(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The shifted chebyshev polynomial u of degree `other` at `input`."""
def shifted_chebyshev_polynomial_v(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The shifted chebyshev polynomial v of degree `other` at `input`."""
def shifted_chebyshev_polynomial_w(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The shifted chebyshev polynomial w of degree `other` at `input`."""
def sinc(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`sin(pi * input) / (pi * input)`, 1 at zero."""
def spherical_bessel_j0(input: _Tensor, *, out: Any = None) -> _Tensor:
    """`sin(x) / x`."""
def xlog1py(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input * log1p(other)`, 0 where input is 0."""
def xlogy(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """`input * log(other)`, 0 where input is 0."""
def zeta(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: Any = None) -> _Tensor:
    """The Hurwitz zeta function."""
