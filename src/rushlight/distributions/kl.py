"""Kullback-Leibler divergences between pairs of distributions, found by the pair of classes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..core.gradients.differentiate import grad
from ..core.tensor import Tensor
from ..operators.matrix.linalg_solve import solve_triangular
from .categories import Categorical, OneHotCategorical
from .counts import Bernoulli, Binomial, Geometric, Poisson
from .distribution import Distribution, ExponentialFamily
from .gammas import Exponential, Gamma, Pareto
from .line import Cauchy, Gumbel, HalfNormal, Laplace, Normal, Uniform, euler_constant
from .made_of import Independent, TransformedDistribution
from .unit import Beta, ContinuousBernoulli, Dirichlet
from .utils import sum_rightmost
from .vectors import LowRankMultivariateNormal, MultivariateNormal, mahalanobis

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
        raise NotImplementedError(f"No KL(p || q) is implemented for p type {p.__name__} and q type {q.__name__}")
    return _KL_REGISTRY[min(matches, key=lambda ab: (p.__mro__.index(ab[0]), q.__mro__.index(ab[1])))]


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
        raise NotImplementedError("KL between Binomials where q.total_count > p.total_count is not implemented")
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
    p: LowRankMultivariateNormal | MultivariateNormal, q: LowRankMultivariateNormal | MultivariateNormal
) -> Tensor:
    if p.event_shape != q.event_shape:
        raise ValueError(
            "KL-divergence between two (Low Rank) Multivariate Normals with different event shapes cannot be computed"
        )
    return _multivariate_normal(*[MultivariateNormal(d.loc, scale_tril=d.scale_tril) for d in (p, q)])


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


@register_kl(Bernoulli, Poisson)
def _bernoulli_poisson(p: Bernoulli, q: Poisson) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


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


def _under_uniform(p: Any, q: Uniform) -> Tensor:
    return -(q.high - q.low).log()


def _nowhere(p: Any, q: Any) -> tuple:
    """No value of p is one that q lacks."""
    return ()


def _beyond(value: Tensor, *outside: Tensor) -> Tensor:
    """Infinite where one of the conditions says that p has values where q has none."""
    for condition in outside:
        value = value.masked_fill(condition, math.inf)
    return value


# -- what p knows: means of functions of x ---------------------------------------------------------


def _log_mean_between(low: Tensor, high: Tensor) -> Tensor:
    """The mean of log(x) between two ends, the lower of which may be 0."""
    return (high.xlogy(high) - low.xlogy(low)) / (high - low) - 1


def _log_mean_of_uniform(p: Uniform) -> Tensor:
    return _log_mean_between(p.low, p.high)


def _log_mean_of_pareto(p: Pareto) -> Tensor:
    return p.scale.log() + 1 / p.alpha


def _decay_of_exponential(p: Exponential, q: Gumbel) -> Tensor:
    rate = p.rate * q.scale
    return (q.loc / q.scale).exp() * rate / (rate + 1)


def _decay_of_gamma(p: Gamma, q: Gumbel) -> Tensor:
    return (q.loc / q.scale).exp() * (1 + 1 / (p.rate * q.scale)).pow(-p.concentration)


def _decay_of_normal(p: Normal, q: Gumbel) -> Tensor:
    return ((q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale).pow(2)).exp()


def _decay_of_uniform(p: Uniform, q: Gumbel) -> Tensor:
    ends = [((q.loc - end) / q.scale).exp() for end in (p.low, p.high)]
    return (ends[0] - ends[1]) * q.scale / (p.high - p.low)


# p, q, the mean of q's log density, and where p has values that q lacks; as PyTorch's, continuous
# Bernoulli and uniform distributions are infinitely far already where they end at the same place.
_MIXED: tuple[tuple[Any, Any, Callable[[Any, Any], Tensor], Callable[[Any, Any], tuple]], ...] = (
    (Beta, ContinuousBernoulli, lambda p, q: _under_continuous_bernoulli(q, p.mean), _nowhere),
    (Beta, Exponential, lambda p, q: _under_exponential(q, p.mean), _nowhere),
    (Beta, Gamma, lambda p, q: _under_gamma(q, p.mean, p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()), _nowhere),
    (Beta, Normal, lambda p, q: _under_normal(q, p.mean, p.variance), _nowhere),
    (Beta, Uniform, _under_uniform, lambda p, q: (q.low > 0, q.high < 1)),
    (ContinuousBernoulli, Exponential, lambda p, q: _under_exponential(q, p.mean), _nowhere),
    (ContinuousBernoulli, Normal, lambda p, q: _under_normal(q, p.mean, p.variance), _nowhere),
    (ContinuousBernoulli, Uniform, _under_uniform, lambda p, q: (q.low >= 0, q.high <= 1)),
    (Exponential, Gumbel, lambda p, q: _under_gumbel(q, p.mean, _decay_of_exponential(p, q)), _nowhere),
    (Gamma, Gumbel, lambda p, q: _under_gumbel(q, p.mean, _decay_of_gamma(p, q)), _nowhere),
    (Gamma, Normal, lambda p, q: _under_normal(q, p.mean, p.variance), _nowhere),
    (Gumbel, Normal, lambda p, q: _under_normal(q, p.mean, p.variance), _nowhere),
    (Normal, Gumbel, lambda p, q: _under_gumbel(q, p.mean, _decay_of_normal(p, q)), _nowhere),
    (Pareto, Exponential, lambda p, q: _under_exponential(q, p.mean), lambda p, q: (p.alpha <= 1,)),
    (Pareto, Gamma, lambda p, q: _under_gamma(q, p.mean, _log_mean_of_pareto(p)), lambda p, q: (p.alpha <= 1,)),
    (Pareto, Normal, lambda p, q: _under_normal(q, p.mean, p.variance), lambda p, q: (p.alpha <= 2,)),
    (Uniform, Beta, lambda p, q: _under_beta(q, _log_mean_of_uniform(p), _log_mean_between(1 - p.high, 1 - p.low)),
     lambda p, q: (p.low < 0, p.high > 1)),
    (Uniform, ContinuousBernoulli, lambda p, q: _under_continuous_bernoulli(q, p.mean), lambda p, q: (p.low <= 0, p.high >= 1)),
    (Uniform, Exponential, lambda p, q: _under_exponential(q, p.mean), lambda p, q: (p.low < 0,)),
    (Uniform, Gamma, lambda p, q: _under_gamma(q, p.mean, _log_mean_of_uniform(p)), lambda p, q: (p.low < 0,)),
    (Uniform, Gumbel, lambda p, q: _under_gumbel(q, p.mean, _decay_of_uniform(p, q)), _nowhere),
    (Uniform, Pareto, lambda p, q: _under_pareto(q, _log_mean_of_uniform(p)), lambda p, q: (p.low < q.scale,)),
)  # fmt: skip


def _mixed(under: Callable[[Any, Any], Tensor], outside: Callable[[Any, Any], tuple]) -> Callable:
    """Minus p's entropy, minus the mean of q's log density under p."""
    return lambda p, q: _beyond(-p.entropy() - under(p, q), *outside(p, q))


for _p, _q, _under, _where in _MIXED:
    register_kl(_p, _q)(_mixed(_under, _where))


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous(p: ContinuousBernoulli, q: ContinuousBernoulli) -> Tensor:
    own = _under_continuous_bernoulli(p, p.mean)
    return own - _under_continuous_bernoulli(q, p.mean)


def _outside(p: Any, q: Any) -> Tensor:
    """p has values where q has none, whatever their parameters."""
    like = p.mean + q.mean
    return like.new_full(like.shape, math.inf)


# By p: the kinds that lack some of its values.
_LACKING: dict[Any, tuple[Any, ...]] = {
    Beta: (Pareto,), ContinuousBernoulli: (Pareto,), Poisson: (Bernoulli, Binomial), Pareto: (Beta, ContinuousBernoulli, Uniform),
    Exponential: (Beta, ContinuousBernoulli, Pareto, Uniform), Gamma: (Beta, ContinuousBernoulli, Pareto, Uniform),
    **dict.fromkeys((Gumbel, Laplace, Normal), (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
}  # fmt: skip
for _p, _lacking in _LACKING.items():
    for _q in _lacking:
        register_kl(_p, _q)(_outside)
