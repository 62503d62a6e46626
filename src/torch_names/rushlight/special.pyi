"""Made by tools/stubs.py; edit the functions or that file, and run it."""

# ruff: noqa
import builtins as _b
from collections.abc import Callable, Iterator, Sequence
from typing import Any, overload

import numpy as np

from .base.device import device as _device
from .base.dtypes import dtype as _dtype
from .base.formats import layout as _layout
from .base.formats import qscheme as _qscheme
from .base.formats import memory_format as _memory_format
from .base.shapes import Size as _Size
from .core.tensor import Tensor as _Tensor
from . import return_types as _results
from .operators.random.generator import Generator as _Generator

def airy_ai(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Airy function Ai."""
def bessel_j0(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Bessel function of the first kind of order 0."""
def bessel_j1(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Bessel function of the first kind of order 1."""
def bessel_y0(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Bessel function of the second kind of order 0."""
def bessel_y1(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Bessel function of the second kind of order 1."""
def chebyshev_polynomial_t(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Chebyshev polynomial T of degree `other` at `input`; it has no derivative here."""
def chebyshev_polynomial_u(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Chebyshev polynomial U of degree `other` at `input`; it has no derivative here."""
def chebyshev_polynomial_v(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Chebyshev polynomial V of degree `other` at `input`; it has no derivative here."""
def chebyshev_polynomial_w(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Chebyshev polynomial W of degree `other` at `input`; it has no derivative here."""
def digamma(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The derivative of `lgamma`."""
def entr(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`-input * log(input)`: 0 at zero, minus infinity below."""
def erf(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The error function."""
def erfc(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`1 - erf(input)`, exact for large numbers too."""
def erfcx(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`exp(input ** 2) * erfc(input)`, without overflow."""
def erfinv(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The number whose error function every element is."""
def exp2(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """2 to the power of every element."""
def expit(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`1 / (1 + exp(-input))`: every number moved into (0, 1)."""
def expm1(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`exp(input) - 1`, exact for numbers near zero too."""
def gammainc(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The part of the gamma function's integral up to `other`: 0 at zero, 1 at infinity."""
def gammaincc(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The part of the gamma function's integral from `other` on: `1 - gammainc`."""
def gammaln(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The logarithm of the absolute value of the gamma function."""
def hermite_polynomial_h(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Hermite polynomial H of degree `other` at `input`; it has no derivative here."""
def hermite_polynomial_he(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Hermite polynomial He of degree `other` at `input`; it has no derivative here."""
def i0(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the first kind of order 0."""
def i0e(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`exp(-|input|) * i0(input)`, which does not overflow."""
def i1(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the first kind of order 1."""
def i1e(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`exp(-|input|) * i1(input)`, which does not overflow."""
def laguerre_polynomial_l(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Laguerre polynomial L of degree `other` at `input`; it has no derivative here."""
def legendre_polynomial_p(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Legendre polynomial P of degree `other` at `input`; it has no derivative here."""
def log1p(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`log(1 + input)`, exact for numbers near zero too."""
def log_ndtr(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The logarithm of `ndtr`, exact for very negative numbers too."""
def logit(input: _Tensor, eps: _b.float | None = None, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of `sigmoid`."""
def logsumexp(input: _Tensor, dim: _b.int | Sequence[_b.int] | None, keepdim: _b.bool = False, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The logarithm of the sum of exponentials over dimensions, computed so that nothing overflows."""
def modified_bessel_i0(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the first kind of order 0."""
def modified_bessel_i1(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the first kind of order 1."""
def modified_bessel_k0(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the second kind of order 0."""
def modified_bessel_k1(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The modified Bessel function of the second kind of order 1."""
def multigammaln(input: _Tensor, p: _b.int, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """As `torch.mvlgamma`."""
def ndtr(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The part of the standard normal distribution that lies below every element."""
def ndtri(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The inverse of `ndtr`: the number below which this part of the normal distribution lies."""
def polygamma(n: _b.int, input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The n-th derivative of `digamma`."""
def psi(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The derivative of `lgamma`."""
def round(input: _Tensor, *, decimals: _b.int = 0, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The nearest whole number, halves to the even one; or the nearest number with some decimals."""
def scaled_modified_bessel_k0(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`exp(input) * modified_bessel_k0(input)`, which does not vanish for large numbers."""
def scaled_modified_bessel_k1(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`exp(input) * modified_bessel_k1(input)`, which does not vanish for large numbers."""
def shifted_chebyshev_polynomial_t(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The shifted Chebyshev polynomial T of degree `other` at `input`; it has no derivative here."""
def shifted_chebyshev_polynomial_u(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The shifted Chebyshev polynomial U of degree `other` at `input`; it has no derivative here."""
def shifted_chebyshev_polynomial_v(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The shifted Chebyshev polynomial V of degree `other` at `input`; it has no derivative here."""
def shifted_chebyshev_polynomial_w(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The shifted Chebyshev polynomial W of degree `other` at `input`; it has no derivative here."""
def sinc(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`sin(pi * input) / (pi * input)`, which is 1 at zero."""
def spherical_bessel_j0(input: _Tensor, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`sin(input) / input`, which is 1 at zero."""
def xlog1py(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input * log(1 + other)`, and 0 where `input` is 0."""
def xlogy(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """`input * log(other)`, and 0 where `input` is 0."""
def zeta(input: _Tensor | _b.complex, other: _Tensor | _b.complex, *, out: _Tensor | Sequence[_Tensor] | None = None) -> _Tensor:
    """The Hurwitz zeta function: the sum of `1 / (k + other) ** input` over k = 0, 1, 2, ..."""
