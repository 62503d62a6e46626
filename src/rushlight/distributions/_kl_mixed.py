"""Divergences between distributions of different kinds: minus p's entropy, minus the mean of q's log density under p."""

from __future__ import annotations

import math
from typing import Any

from ..core.tensor import Tensor
from .beta import Beta
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl import register_kl
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .uniform import Uniform

# -- the mean of q's log density, from moments of p ------------------------------------------------


def _under_exponential(q: Exponential, mean: Tensor) -> Tensor:
    return q.rate.log() - q.rate * mean


def _under_gamma(q: Gamma, mean: Tensor, log_mean: Tensor) -> Tensor:
    scale = q.concentration * q.rate.log() - q.concentration.lgamma()
    return scale + (q.concentration - 1) * log_mean - q.rate * mean


def _under_normal(q: Normal, mean: Tensor, variance: Tensor) -> Tensor:
    spread = q.scale.pow(2)
    distance = variance + (mean - q.loc).pow(2)
    return -0.5 * ((2 * math.pi * spread).log() + distance / spread)


def _under_gumbel(q: Gumbel, mean: Tensor, decay: Tensor) -> Tensor:
    """`decay` is the mean of exp((q.loc - x) / q.scale)."""
    return (q.loc - mean) / q.scale - decay - q.scale.log()


def _under_pareto(q: Pareto, log_mean: Tensor) -> Tensor:
    return q.alpha.log() + q.alpha * q.scale.log() - (q.alpha + 1) * log_mean


def _under_beta(q: Beta, log_mean: Tensor, rest_mean: Tensor) -> Tensor:
    """`rest_mean` is the mean of log(1 - x)."""
    a, b = q.concentration1, q.concentration0
    scale = (a + b).lgamma() - a.lgamma() - b.lgamma()
    return scale + (a - 1) * log_mean + (b - 1) * rest_mean


def _under_continuous_bernoulli(q: ContinuousBernoulli, mean: Tensor) -> Tensor:
    return mean * q.logits + (-q.probs).log1p() + q._log_norm()


def _beyond(value: Tensor, *outside: Tensor) -> Tensor:
    """Infinite where one of the conditions says that p has values where q has none."""
    for condition in outside:
        value = value.masked_fill(condition, math.inf)
    return value


# -- Beta ------------------------------------------------------------------------------------------


@register_kl(Beta, ContinuousBernoulli)
def _beta_continuous(p: Beta, q: ContinuousBernoulli) -> Tensor:
    return -p.entropy() - _under_continuous_bernoulli(q, p.mean)


@register_kl(Beta, Exponential)
def _beta_exponential(p: Beta, q: Exponential) -> Tensor:
    return -p.entropy() - _under_exponential(q, p.mean)


@register_kl(Beta, Gamma)
def _beta_gamma(p: Beta, q: Gamma) -> Tensor:
    log_mean = p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    return -p.entropy() - _under_gamma(q, p.mean, log_mean)


@register_kl(Beta, Normal)
def _beta_normal(p: Beta, q: Normal) -> Tensor:
    return -p.entropy() - _under_normal(q, p.mean, p.variance)


@register_kl(Beta, Uniform)
def _beta_uniform(p: Beta, q: Uniform) -> Tensor:
    return _beyond(-p.entropy() + (q.high - q.low).log(), q.low > 0, q.high < 1)


# -- continuous Bernoulli --------------------------------------------------------------------------


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    own = _under_continuous_bernoulli(p, p.mean)
    return own - _under_continuous_bernoulli(q, p.mean)


@register_kl(ContinuousBernoulli, Exponential)
def _continuous_exponential(p: ContinuousBernoulli, q: Exponential) -> Tensor:
    return -p.entropy() - _under_exponential(q, p.mean)


@register_kl(ContinuousBernoulli, Normal)
def _continuous_normal(p: ContinuousBernoulli, q: Normal) -> Tensor:
    return -p.entropy() - _under_normal(q, p.mean, p.variance)


@register_kl(ContinuousBernoulli, Uniform)
def _continuous_uniform(p: ContinuousBernoulli, q: Uniform) -> Tensor:
    """As PyTorch's, infinite already where q ends at 0 or 1."""
    return _beyond(-p.entropy() + (q.high - q.low).log(), q.low >= 0, q.high <= 1)


# -- exponential, Gamma, Gumbel, normal ------------------------------------------------------------


@register_kl(Exponential, Gumbel)
def _exponential_gumbel(p: Exponential, q: Gumbel) -> Tensor:
    rate = p.rate * q.scale
    decay = (q.loc / q.scale).exp() * rate / (rate + 1)
    return -p.entropy() - _under_gumbel(q, p.mean, decay)


@register_kl(Gamma, Gumbel)
def _gamma_gumbel(p: Gamma, q: Gumbel) -> Tensor:
    decay = (q.loc / q.scale).exp() * (1 + 1 / (p.rate * q.scale)).pow(-p.concentration)
    return -p.entropy() - _under_gumbel(q, p.mean, decay)


@register_kl(Gamma, Normal)
def _gamma_normal(p: Gamma, q: Normal) -> Tensor:
    return -p.entropy() - _under_normal(q, p.mean, p.variance)


@register_kl(Gumbel, Normal)
def _gumbel_normal(p: Gumbel, q: Normal) -> Tensor:
    return -p.entropy() - _under_normal(q, p.mean, p.variance)


@register_kl(Normal, Gumbel)
def _normal_gumbel(p: Normal, q: Gumbel) -> Tensor:
    decay = ((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp()
    return -p.entropy() - _under_gumbel(q, p.mean, decay)


# -- Pareto ----------------------------------------------------------------------------------------


def _log_mean_of_pareto(p: Pareto) -> Tensor:
    return p.scale.log() + 1 / p.alpha


@register_kl(Pareto, Exponential)
def _pareto_exponential(p: Pareto, q: Exponential) -> Tensor:
    return _beyond(-p.entropy() - _under_exponential(q, p.mean), p.alpha <= 1)


@register_kl(Pareto, Gamma)
def _pareto_gamma(p: Pareto, q: Gamma) -> Tensor:
    found = -p.entropy() - _under_gamma(q, p.mean, _log_mean_of_pareto(p))
    return _beyond(found, p.alpha <= 1)


@register_kl(Pareto, Normal)
def _pareto_normal(p: Pareto, q: Normal) -> Tensor:
    return _beyond(-p.entropy() - _under_normal(q, p.mean, p.variance), p.alpha <= 2)


# -- uniform ---------------------------------------------------------------------------------------


def _log_mean_between(low: Tensor, high: Tensor) -> Tensor:
    """The mean of log(x) between two ends, the lower of which may be 0."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


@register_kl(Uniform, Beta)
def _uniform_beta(p: Uniform, q: Beta) -> Tensor:
    log_mean = _log_mean_between(p.low, p.high)
    rest_mean = _log_mean_between(1 - p.high, 1 - p.low)
    found = -p.entropy() - _under_beta(q, log_mean, rest_mean)
    return _beyond(found, p.low < 0, p.high > 1)


@register_kl(Uniform, ContinuousBernoulli)
def _uniform_continuous(p: Uniform, q: ContinuousBernoulli) -> Tensor:
    """As PyTorch's, infinite already where p ends at 0 or 1."""
    found = -p.entropy() - _under_continuous_bernoulli(q, p.mean)
    return _beyond(found, p.low <= 0, p.high >= 1)


@register_kl(Uniform, Exponential)
def _uniform_exponential(p: Uniform, q: Exponential) -> Tensor:
    return _beyond(-p.entropy() - _under_exponential(q, p.mean), p.low < 0)


@register_kl(Uniform, Gamma)
def _uniform_gamma(p: Uniform, q: Gamma) -> Tensor:
    found = -p.entropy() - _under_gamma(q, p.mean, _log_mean_between(p.low, p.high))
    return _beyond(found, p.low < 0)


@register_kl(Uniform, Gumbel)
def _uniform_gumbel(p: Uniform, q: Gumbel) -> Tensor:
    ends = [((q.loc - end) / q.scale).exp() for end in (p.low, p.high)]
    decay = (ends[0] - ends[1]) * q.scale / (p.high - p.low)
    return -p.entropy() - _under_gumbel(q, p.mean, decay)


@register_kl(Uniform, Pareto)
def _uniform_pareto(p: Uniform, q: Pareto) -> Tensor:
    found = -p.entropy() - _under_pareto(q, _log_mean_between(p.low, p.high))
    return _beyond(found, p.low < q.scale)


# -- what reaches beyond ---------------------------------------------------------------------------


def _outside(p: Any, q: Any) -> Tensor:
    """p has values where q has none, whatever their parameters."""
    like = p.mean + q.mean
    return like.new_full(like.shape, math.inf)


for _pair in (
    (Beta, Pareto), (ContinuousBernoulli, Pareto), (Exponential, ContinuousBernoulli),
    (Exponential, Pareto), (Gamma, ContinuousBernoulli), (Gamma, Pareto),
    (Gumbel, ContinuousBernoulli), (Gumbel, Pareto), (Laplace, ContinuousBernoulli),
    (Laplace, Pareto), (Normal, ContinuousBernoulli), (Normal, Pareto), (Pareto, Beta),
    (Pareto, ContinuousBernoulli), (Pareto, Uniform),
):  # fmt: skip
    register_kl(*_pair)(_outside)
