"""Draws of the gamma family, differentiable in their parameters by implicit differentiation.

A draw x of a distribution with cumulative function F(x; a) moves with `a` as dx/da = -(dF/da) / p(x)
(Figurnov, Mohamed and Mnih 2018, "Implicit reparameterization gradients"). Both derivatives below are
one integral of the density times its score, taken over that side of x where the score keeps its sign,
so nothing cancels; PyTorch's own approximations are good to about three digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...base.arrays import Array, ArrayModule, RandomStream
from ...base.dtypes import title
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..pointwise.special_kernels import digamma, double
from .draws import floating
from .generator import stream_for

# Double exponential quadrature on [0, inf): s = exp(v - exp(-v)), Takahasi and Mori 1974.
_STEP = 0.05
_NODES = [_STEP * i for i in range(-70, 83)]
_POINTS = [(math.exp(v - math.exp(-v)), 1.0 + math.exp(-v)) for v in _NODES]


def _integral(xp: ArrayModule, f: Callable[[Any], Any], rate: Array) -> Any:
    """The integral of f over [0, inf), where f decays about as exp(-rate * s)."""
    total = xp.zeros_like(rate)
    for s, weight in _POINTS:
        total += f(s / rate) * (s * weight * _STEP)
    return total / rate


def _gamma_series(xp: ArrayModule, a: Array, x: Array) -> Any:
    """dx/da for x below 1, by the power series of the incomplete gamma function."""
    term = xp.ones_like(x)
    plain, square = term / a, term / (a * a)
    for k in range(1, 24):
        term = term * (-x / k)
        plain += term / (a + k)
        square += term / ((a + k) * (a + k))
    return -x * xp.exp(x) * ((xp.log(x) - digamma(xp, a)) * plain - square)


def _gamma_grad(xp: ArrayModule, a: Array, x: Array) -> Any:
    """How a standard gamma draw `x` moves with its shape parameter `a`."""
    small = x < 1.0
    near = _gamma_series(xp, a, xp.where(small, x, 0.5))
    x = xp.where(small, 1.0, x)
    centre = digamma(xp, a)
    below = xp.log(x) < centre
    spread = xp.sqrt(x) + 0.1

    def lower(s: Array) -> Any:  # t = x exp(-s)
        return -x * xp.exp(-a * s - x * xp.expm1(-s)) * (xp.log(x) - s - centre)

    def upper(s: Array) -> Any:  # t = x + s
        return xp.exp((a - 1) * xp.log1p(s / x) - s) * (xp.log(x + s) - centre)

    left = _integral(xp, lower, xp.maximum(xp.where(below, a - x, a + x), spread))
    rate = xp.maximum(1 - (a - 1) / x, 1 / spread)
    right = _integral(xp, upper, xp.where(below, 1.0, rate))
    return xp.where(small, near, xp.where(below, left, right))


def _beta_series(xp: ArrayModule, a: Array, b: Array, x: Array, centre: Array) -> Any:
    """(dx/da) / (1 - x) for x well below 1 / b, by the power series of the incomplete beta function."""
    term = xp.ones_like(x)
    plain, square = term / a, term / (a * a)
    for k in range(1, 40):
        term = term * (x * (k - b) / k)
        plain += term / (a + k)
        square += term / ((a + k) * (a + k))
    return -x * xp.exp(-b * xp.log1p(-x)) * ((xp.log(x) - centre) * plain - square)


def _beta_grad(xp: ArrayModule, x: Array, a: Array, total: Array) -> Any:
    """How a draw x of Beta(a, total - a) moves with `a`, divided by 1 - x."""
    b = total - a
    centre = digamma(xp, a) - digamma(xp, total)
    small = x * xp.maximum(b, 1.0) < 0.4
    near = _beta_series(xp, a, b, xp.where(small, x, 0.2 / xp.maximum(b, 1.0)), centre)
    x = xp.where(small, 0.5, x)
    y = 1 - x
    below = xp.log(x) < centre
    spread = xp.sqrt(total) + 0.1

    def lower(s: Array) -> Any:  # t = x exp(-s)
        ratio = xp.log1p(-x * xp.exp(-s)) - xp.log(y)
        return -x / y * xp.exp(-a * s + (b - 1) * ratio) * (xp.log(x) - s - centre)

    def upper(s: Array) -> Any:  # 1 - t = y exp(-s)
        log_t = xp.log1p(-y * xp.exp(-s))
        return xp.exp(-b * s + (a - 1) * (log_t - xp.log(x))) * (log_t - centre)

    # On the side not taken the rate only has to keep the integral finite.
    left = _integral(xp, lower, xp.where(below, xp.maximum(a - (b - 1) * x / y, a / spread), total + 1))
    rate = xp.maximum(b - (a - 1) * y / x, b / spread)
    right = _integral(xp, upper, xp.where(below, total + 1, rate))
    return xp.where(small, near, xp.where(below, left, right))


@double
def _standard_gamma_grad_body(xp: ArrayModule, alpha: Array, x: Array) -> Any:
    return _quietly(xp, _gamma_grad, alpha, x)


@double
def _dirichlet_grad_body(xp: ArrayModule, x: Array, alpha: Array, total: Array) -> Any:
    return _quietly(xp, _beta_grad, x, alpha, total)


def _quietly(xp: ArrayModule, body: Callable, *arrays: Array) -> Any:
    """Both sides of `where` are computed, and the one not taken may well overflow."""
    import numpy as np

    with np.errstate(all="ignore"):
        return body(xp, *arrays)


def _no_second(name: str) -> Callable:
    def refuse(g: Tensor) -> Tensor:
        raise RuntimeError(f"derivative for '{name}' is not implemented")

    return refuse


standard_gamma_grad = Op(_standard_gamma_grad_body, "_standard_gamma_grad", broadcasts=True)
standard_gamma_grad.derivative(alpha=_no_second("_standard_gamma_grad"), x=_no_second("_standard_gamma_grad"))
dirichlet_grad = Op(_dirichlet_grad_body, "_dirichlet_grad", broadcasts=True)
dirichlet_grad.derivative(
    x=_no_second("_dirichlet_grad"), alpha=_no_second("_dirichlet_grad"), total=_no_second("_dirichlet_grad")
)


def _gamma_body(xp: ArrayModule, alpha: Array, *, stream: RandomStream) -> Any:
    return stream.gamma(alpha)


def _dirichlet_body(xp: ArrayModule, alpha: Array, *, stream: RandomStream) -> Any:
    return stream.dirichlet(alpha)


def _dirichlet_backward(g: Tensor, alpha: Tensor, out: Tensor) -> Tensor:
    slope = dirichlet_grad(out, alpha, alpha.sum(-1, keepdim=True).expand(alpha.shape))
    return slope * (g - (out * g).sum(-1, keepdim=True))


def _like_alpha(alpha: Array, *, stream: RandomStream) -> tuple:
    return alpha.shape, alpha.dtype


_gamma = Op(
    _gamma_body, "_standard_gamma", meta=_like_alpha, grad_name="StandardGammaBackward0", facts=Facts(refuses=True)
)
_gamma.derivative(alpha=lambda g, alpha, out: g * standard_gamma_grad(alpha, out))
_dirichlet = Op(_dirichlet_body, "_sample_dirichlet", meta=_like_alpha, facts=Facts(refuses=True))
_dirichlet.derivative(alpha=_dirichlet_backward)


@public("torch")
def _standard_gamma(input: Tensor, generator: Any = None) -> Tensor:
    """Gamma numbers of rate 1 whose shape parameters are the elements of `input`."""
    floating("gamma", input.dtype)
    return _gamma(input, stream=stream_for(generator, input.device, "_standard_gamma"))


@public("torch")
def _sample_dirichlet(input: Tensor, generator: Any = None) -> Tensor:
    """Points of the simplex along the last dim, of the concentrations that stand there."""
    floating("dirichlet", input.dtype)
    return _dirichlet(input, stream=stream_for(generator, input.device, "_sample_dirichlet"))


def _binomial_body(xp: ArrayModule, count: Array, prob: Array, *, stream: RandomStream) -> Any:
    count, prob = xp.broadcast_arrays(count, prob)
    if hasattr(stream, "binomial"):
        return stream.binomial(count, prob)
    heads = xp.zeros_like(prob)  # a device without a sampler of its own tosses every coin
    for i in range(int(count.max()) if count.size else 0):
        heads += (stream.uniform(prob.shape, prob.dtype) < prob) & (i < count)
    return heads


def _zero(g: Tensor) -> Tensor:
    return g.new_zeros(g.shape)


_binomial = Op(_binomial_body, "binomial", broadcasts=True, facts=Facts(refuses=True))
_binomial.derivative(count=_zero, prob=_zero)


@public("torch")
def binomial(count: Tensor, prob: Tensor, generator: Any = None) -> Tensor:
    """Random counts of successes.

    Args:
        count: how many trials.
        prob: the probability of success in each; shapes broadcast.

    Example:
        >>> torch.binomial(torch.tensor([10.0, 10.0]), torch.tensor([0.0, 1.0]))
        tensor([ 0., 10.])
    """
    for name, t in (("count", count), ("prob", prob)):
        if not t.is_floating_point():
            raise ValueError(f"binomial only supports floating-point dtypes for {name}, got: {title(t.dtype)}")
    if count.dtype != prob.dtype:
        raise RuntimeError(f"Found dtype {prob.dtype} but expected {count.dtype}")
    return _binomial(count, prob, stream=stream_for(generator, prob.device, "binomial"))
