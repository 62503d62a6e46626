"""Kullback-Leibler divergences between pairs of distributions, found by the pair of classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.gradients.differentiate import grad
from ..core.tensor import Tensor
from ..operators.matrix.linalg_solve import solve_triangular
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .categorical import Categorical
from .cauchy import Cauchy
from .dirichlet import Dirichlet
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .exponential import Exponential
from .gamma import Gamma
from .geometric import Geometric
from .gumbel import Gumbel, euler_constant
from .half_normal import HalfNormal
from .independent import Independent
from .laplace import Laplace
from .lowrank_multivariate_normal import LowRankMultivariateNormal
from .multivariate_normal import MultivariateNormal, mahalanobis
from .normal import Normal
from .one_hot_categorical import OneHotCategorical
from .pareto import Pareto
from .poisson import Poisson
from .transformed_distribution import TransformedDistribution
from .uniform import Uniform
from .utils import sum_rightmost

__all__ = ["kl_divergence", "register_kl"]

_KL_REGISTRY: dict[tuple[type, type], Callable] = {}


def register_kl(type_p: type, type_q: type) -> Callable:
    """Decorator: the divergence of a `type_p` from a `type_q`, which may be base classes.

    Args:
        type_p, type_q: the two classes.

    Raises:
        TypeError: if one of them is not a class.

    Example:
        >>> class Fixed(torch.distributions.Normal):
        ...     pass
        >>> @torch.distributions.register_kl(Fixed, Fixed)
        ... def _(p, q):
        ...     return (p.loc - q.loc) ** 2
        >>> torch.distributions.kl_divergence(Fixed(0.0, 1.0), Fixed(3.0, 1.0))
        tensor(9.)
    """
    for name, cls in (("type_p", type_p), ("type_q", type_q)):
        if not isinstance(cls, type):
            raise TypeError(f"{name} should be a class, not {cls!r}")

    def decorator(fn: Callable) -> Callable:
        _KL_REGISTRY[type_p, type_q] = fn
        return fn

    return decorator


def _find(p: type, q: type) -> Callable:
    """The rule of the nearest classes: those furthest down in both lines of descent."""
    matches = [(a, b) for a, b in _KL_REGISTRY if issubclass(p, a) and issubclass(q, b)]
    if not matches:
        raise NotImplementedError(
            f"No KL(p || q) is implemented for p type {p.__name__} and q type {q.__name__}"
        )
    return _KL_REGISTRY[
        min(matches, key=lambda ab: (p.__mro__.index(ab[0]), q.__mro__.index(ab[1])))
    ]


def kl_divergence(p: Distribution, q: Distribution) -> Tensor:
    """KL(p || q), how far a distribution is from another.

    Args:
        p: where draws come from.
        q: what they are taken for.

    Raises:
        NotImplementedError: if nobody has registered the two kinds.

    Example:
        >>> torch.distributions.kl_divergence(torch.distributions.Normal(0.0, 1.0), torch.distributions.Normal(1.0, 1.0))
        tensor(0.5000)
    """
    return _find(type(p), type(q))(p, q)


def _where_infinite(value: Tensor, condition: Tensor) -> Tensor:
    return value.masked_fill(condition, math.inf)


def _infinite(like: Tensor) -> Tensor:
    return like.new_full(like.shape, math.inf)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Bernoulli, q: Bernoulli) -> Tensor:
    from ..operators.pointwise.activation_smooth import softplus

    t1 = p.probs * (softplus(-q.logits) - softplus(-p.logits))
    t1 = _where_infinite(t1, q.probs == 0).masked_fill(p.probs == 0, 0)
    t2 = (1 - p.probs) * (softplus(q.logits) - softplus(p.logits))
    t2 = _where_infinite(t2, q.probs == 1).masked_fill(p.probs == 1, 0)
    return t1 + t2


@register_kl(Beta, Beta)
def _beta(p: Beta, q: Beta) -> Tensor:
    p_sum, q_sum = (d.concentration1 + d.concentration0 for d in (p, q))
    t1 = q.concentration1.lgamma() + q.concentration0.lgamma() + p_sum.lgamma()
    t2 = p.concentration1.lgamma() + p.concentration0.lgamma() + q_sum.lgamma()
    t3 = (p.concentration1 - q.concentration1) * p.concentration1.digamma()
    t4 = (p.concentration0 - q.concentration0) * p.concentration0.digamma()
    return t1 - t2 + t3 + t4 + (q_sum - p_sum) * p_sum.digamma()


@register_kl(Binomial, Binomial)
def _binomial(p: Binomial, q: Binomial) -> Tensor:
    if (p.total_count < q.total_count).any():
        raise NotImplementedError(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    odds = p.probs * (p.logits - q.logits)
    kl = p.total_count * (odds + (-p.probs).log1p() - (-q.probs).log1p())
    return _where_infinite(kl, p.total_count > q.total_count)


@register_kl(Categorical, Categorical)
def _categorical(p: Categorical, q: Categorical) -> Tensor:
    t = p.probs * (p.logits - q.logits)
    t = _where_infinite(t, (q.probs == 0).expand(t.shape))
    return t.masked_fill((p.probs == 0).expand(t.shape), 0).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: OneHotCategorical, q: OneHotCategorical) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Cauchy, q: Cauchy) -> Tensor:  # Chyzak and Nielsen 2019
    t1 = ((p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)).log()
    return t1 - (4 * p.scale * q.scale).log()


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Dirichlet, q: Dirichlet) -> Tensor:
    p_sum, q_sum = p.concentration.sum(-1), q.concentration.sum(-1)
    t1 = p_sum.lgamma() - q_sum.lgamma()
    t2 = (p.concentration.lgamma() - q.concentration.lgamma()).sum(-1)
    off = p.concentration - q.concentration
    pull = p.concentration.digamma() - p_sum.digamma().unsqueeze(-1)
    return t1 - t2 + (off * pull).sum(-1)


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: ExponentialFamily, q: ExponentialFamily) -> Tensor:
    """The Bregman divergence of the log normalizers (Nielsen and Nock 2010)."""
    if type(p) is not type(q):
        raise NotImplementedError(
            "The cross KL-divergence between different exponential families cannot be computed using "
            f"Bregman divergences (p is {type(p).__name__}, q is {type(q).__name__})"
        )
    at = [t.detach().requires_grad_() for t in p._natural_params]
    normalizer = p._log_normalizer(*at)
    gradients = grad(normalizer.sum(), at, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for theirs, ours, g in zip(q._natural_params, at, gradients):
        result = result - sum_rightmost((theirs - ours) * g, len(q.event_shape))
    return result


@register_kl(Exponential, Exponential)
def _exponential(p: Exponential, q: Exponential) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Gamma, q: Gamma) -> Tensor:
    t1 = q.concentration * (p.rate / q.rate).log()
    t2 = q.concentration.lgamma() - p.concentration.lgamma()
    t3 = (p.concentration - q.concentration) * p.concentration.digamma()
    return t1 + t2 + t3 + (q.rate - p.rate) * (p.concentration / p.rate)


@register_kl(Geometric, Geometric)
def _geometric(p: Geometric, q: Geometric) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Gumbel, q: Gumbel) -> Tensor:
    ct1, ct2, ct3 = p.scale / q.scale, q.loc / q.scale, p.loc / q.scale
    t1 = -ct1.log() - ct2 + ct3
    t3 = (ct2 + (1 + ct1).lgamma() - ct3).exp()
    return t1 + ct1 * euler_constant + t3 - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: HalfNormal, q: HalfNormal) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Pareto, Pareto)
def _pareto(p: Pareto, q: Pareto) -> Tensor:
    """Infinite where p has values below q's smallest; not that of the exponentials beneath, which forgets the scales."""
    ratio = q.alpha / p.alpha
    found = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return found.masked_fill(p.scale < q.scale, math.inf)


@register_kl(Laplace, Laplace)
def _laplace(p: Laplace, q: Laplace) -> Tensor:
    ratio = p.scale / q.scale
    off = (p.loc - q.loc).abs()
    return -ratio.log() + off / q.scale + ratio * (-off / p.scale).exp() - 1


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(LowRankMultivariateNormal, MultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _lowrank(
    p: LowRankMultivariateNormal | MultivariateNormal,
    q: LowRankMultivariateNormal | MultivariateNormal,
) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed"
        )
    return _multivariate_normal(
        *[MultivariateNormal(d.loc, scale_tril=d.scale_tril) for d in (p, q)]
    )


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate_normal(p: MultivariateNormal, q: MultivariateNormal) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two Multivariate Normals with different event shapes cannot be computed"
        )
    lp, lq = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    n = p.event_shape[0]
    half_log_det = lq.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    half_log_det = half_log_det - lp.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    trace = solve_triangular(lq, lp, upper=False).pow(2).sum((-2, -1))
    distance = mahalanobis(lq, q.loc - p.loc)
    return half_log_det + 0.5 * (trace + distance - n)


@register_kl(Normal, Normal)
def _normal(p: Normal, q: Normal) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    off = ((p.loc - q.loc) / q.scale).pow(2)
    return 0.5 * (ratio + off - 1 - ratio.log())


@register_kl(Poisson, Poisson)
def _poisson(p: Poisson, q: Poisson) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: TransformedDistribution, q: TransformedDistribution) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise NotImplementedError
    return kl_divergence(p.base_dist, q.base_dist)


@register_kl(Uniform, Uniform)
def _uniform(p: Uniform, q: Uniform) -> Tensor:
    kl = ((q.high - q.low) / (p.high - p.low)).log()
    return _where_infinite(kl, (q.low > p.low) | (q.high < p.high))


@register_kl(Independent, Independent)
def _independent(p: Independent, q: Independent) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise NotImplementedError
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)


@register_kl(Exponential, Normal)
def _exponential_normal(p: Exponential, q: Normal) -> Tensor:
    variance, rate2 = q.scale.pow(2), p.rate.pow(2)
    t1 = 0.5 * (rate2 * variance * 2 * math.pi).log()
    return t1 - 1 + (1 / rate2 - q.loc / p.rate + q.loc.pow(2) / 2) / variance


@register_kl(Exponential, Gamma)
def _exponential_gamma(p: Exponential, q: Gamma) -> Tensor:
    ratio = q.rate / p.rate
    t1 = -q.concentration * ratio.log()
    t2 = ratio + q.concentration.lgamma() + q.concentration * euler_constant
    return t1 + t2 - (1 + euler_constant)


@register_kl(Gamma, Exponential)
def _gamma_exponential(p: Gamma, q: Exponential) -> Tensor:
    return -p.entropy() - q.rate.log() + q.rate * p.concentration / p.rate


@register_kl(Uniform, Normal)
def _uniform_normal(p: Uniform, q: Normal) -> Tensor:
    width = p.high - p.low
    t1 = (math.sqrt(math.pi * 2) * q.scale / width).log()
    t3 = ((p.high + p.low - 2 * q.loc) / 2).pow(2)
    return t1 + 0.5 * (width.pow(2) / 12 + t3) / q.scale.pow(2)


@register_kl(Laplace, Normal)
def _laplace_normal(p: Laplace, q: Normal) -> Tensor:
    variance = q.scale.pow(2)
    ratio = p.scale.pow(2) / variance
    t1 = 0.5 * (2 * ratio / math.pi).log()
    pull = 0.5 * p.loc.pow(2) - p.loc * q.loc + 0.5 * q.loc.pow(2)
    return -t1 + ratio + pull / variance - 1


@register_kl(Normal, Laplace)
def _normal_laplace(p: Normal, q: Laplace) -> Tensor:
    off = p.loc - q.loc
    z = off / p.scale
    t1 = (q.scale / p.scale).log()
    t2 = math.sqrt(2 / math.pi) * p.scale * (-0.5 * z.pow(2)).exp()
    t3 = off * (math.sqrt(0.5) * z).erf()
    return t1 + (t2 + t3) / q.scale - (0.5 * (1 + math.log(0.5 * math.pi)))


def _outside(p: Any, q: Any) -> Tensor:
    """The support of p reaches beyond that of q."""
    return _infinite(p.mean + q.mean)


for _pair in (
    (Exponential, Beta), (Exponential, Uniform), (Gamma, Beta),
    (Gamma, Uniform), (Normal, Beta), (Normal, Exponential), (Normal, Gamma), (Normal, Uniform),
    (Laplace, Beta), (Laplace, Exponential), (Laplace, Gamma), (Laplace, Uniform),
    (Poisson, Bernoulli), (Poisson, Binomial), (Gumbel, Beta), (Gumbel, Exponential),
    (Gumbel, Gamma), (Gumbel, Uniform),
):  # fmt: skip
    register_kl(*_pair)(_outside)


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)
