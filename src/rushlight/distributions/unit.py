"""Distributions of what lies between 0 and 1, one number or several that sum to 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size
from ..core.tensor import Tensor
from ..operators.loss.difference import binary_cross_entropy_with_logits
from ..operators.random.gamma_draws import _sample_dirichlet
from ..operators.shape.join import stack
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .line import Normal, Uniform, _remade, euler_constant
from .made_of import Independent, TransformedDistribution
from .transforms import AffineTransform, PowerTransform, StickBreakingTransform
from .utils import (
    ProbsOrLogits,
    broadcast_all,
    clamp_probs,
    fact,
    given_one,
    lazy_property,
    logits_to_probs,
    standard_uniform,
)

__all__ = ["Beta", "ContinuousBernoulli", "Dirichlet", "Kumaraswamy", "LogisticNormal"]


class Dirichlet(ExponentialFamily):
    """Vectors of positive numbers that sum to 1, along the last dimension.

    Args:
        concentration: (..., K), positive.

    Example:
        >>> d = torch.distributions.Dirichlet(torch.tensor([1.0, 1.0, 2.0]))
        >>> d.mean, d.event_shape
        (tensor([0.2500, 0.2500, 0.5000]), torch.Size([3]))
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    mean = fact(lambda self: self.concentration / self.concentration.sum(-1, True))

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        at_corner = (self.concentration < 1).all(dim=-1)
        corner = self.concentration.new_zeros(mode.shape)
        corner.scatter_(-1, mode.argmax(dim=-1, keepdim=True), 1.0)
        return corner.where(at_corner.unsqueeze(-1), mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(Size(sample_shape))
        return _sample_dirichlet(self.concentration.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        a = self.concentration
        return (a - 1.0).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a = self.concentration
        k, total = a.size(-1), a.sum(-1)
        nats = a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma()
        return nats - ((a - 1.0) * a.digamma()).sum(-1)

    _natural_params = fact(lambda self: (self.concentration,))

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()


class Beta(ExponentialFamily):
    """Numbers between 0 and 1.

    Args:
        concentration1, concentration0: weights of the two ends, positive.

    Example:
        >>> d = torch.distributions.Beta(2.0, 3.0)
        >>> d.mean, d.log_prob(torch.tensor(0.5))
        (tensor(0.4000), tensor(0.4055))
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True
    _inner = ("_dirichlet",)

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        both = stack(broadcast_all(concentration1, concentration0), -1)
        self._dirichlet = Dirichlet(both, validate_args=validate_args)
        super().__init__(self._dirichlet._batch_shape, validate_args=validate_args)

    concentration1 = fact(lambda self: self._dirichlet.concentration[..., 0])
    concentration0 = fact(lambda self: self._dirichlet.concentration[..., 1])
    mean = fact(lambda self: self.concentration1 / (self.concentration1 + self.concentration0))
    mode = fact(lambda self: self._dirichlet.mode[..., 0])

    @property
    def variance(self) -> Tensor:
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self._dirichlet.rsample(sample_shape).select(-1, 0)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        return self._dirichlet.log_prob(stack([value, 1.0 - value], -1))

    def entropy(self) -> Tensor:
        return self._dirichlet.entropy()

    _natural_params = fact(lambda self: (self.concentration1, self.concentration0))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma() + y.lgamma() - (x + y).lgamma()


class Kumaraswamy(TransformedDistribution):
    """Numbers of (0, 1), much like a beta distribution but with a closed cumulative function.

    Args:
        concentration1, concentration0: positive.

    Example:
        >>> torch.distributions.Kumaraswamy(1.0, 2.0).mean
        tensor(0.3333)
    """

    arg_constraints = {"concentration1": constraints.positive, "concentration0": constraints.positive}
    support = constraints.unit_interval
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self, concentration1: Tensor | float, concentration0: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.concentration1, self.concentration0 = broadcast_all(concentration1, concentration0)
        like = self.concentration0
        base = Uniform(like.new_zeros(like.shape), like.new_ones(like.shape))
        transforms = [
            PowerTransform(exponent=self.concentration0.reciprocal()),
            AffineTransform(loc=1.0, scale=-1.0),
            PowerTransform(exponent=self.concentration1.reciprocal()),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        both = (self.concentration1, self.concentration0)
        return _remade(self, Kumaraswamy, both, batch_shape)

    def _moment(self, n: int) -> Tensor:
        arg = 1 + n / self.concentration1
        log = arg.lgamma() + self.concentration0.lgamma() - (arg + self.concentration0).lgamma()
        return self.concentration0 * log.exp()

    mean = fact(lambda self: self._moment(1))

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log = a.reciprocal() * (-b).log1p() - (-a * b).log1p()
        return log.exp().masked_fill((b < 1) | (a < 1), math.nan)

    variance = fact(lambda self: self._moment(2) - self.mean.pow(2))

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        t0 = 1 - b.reciprocal()
        harmonic = (b + 1).digamma() + euler_constant
        return t0 + (1 - a.reciprocal()) * harmonic - a.log() - b.log()


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Numbers of [0, 1] with density in proportion to p^x (1 - p)^(1 - x) (Loaiza-Ganem and Cunningham 2019).

    Between the two `lims`, around p = 0.5, closed forms divide zero by zero: Taylor series stand in.

    Args:
        probs: p, between 0 and 1; or
        logits: its log odds.
        lims: where the series are used.

    Example:
        >>> torch.distributions.ContinuousBernoulli(probs=0.25).mean
        tensor(0.4102)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        if given_one("probs", "logits", probs, logits):
            (self.probs,) = broadcast_all(probs)
            if validate_args is not None and not bool(constraints.unit_interval.check(self.probs).all()):
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _far(self) -> Tensor:
        """Where p is far enough from a half."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        """The probabilities, those near a half replaced by one that divides nothing by zero."""
        return self.probs.where(self._far(), self.probs.new_tensor(self._lims[0]))

    def _log_norm(self) -> Tensor:
        p = self._cut()
        wide = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
        x = (self.probs - 0.5).pow(2)
        near = self.probs.new_tensor(2.0).log() + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return wide.where(self._far(), near)

    @property
    def mean(self) -> Tensor:
        p = self._cut()
        wide = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        return wide.where(self._far(), 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        p = self._cut()
        wide = p * (p - 1) / (1 - 2 * p).pow(2) + 1 / ((-p).log1p() - p.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        return wide.where(self._far(), 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        cross = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_norm() - cross

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        p = self._cut()
        wide = (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)
        found = wide.where(self._far(), value)
        return found.clamp(min=0.0, max=1.0)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut()
        top = (-p + value * (2 * p - 1)).log1p() - (-p).log1p()
        return (top / (p.log() - (-p).log1p())).where(self._far(), value)

    def entropy(self) -> Tensor:
        rest = (-self.probs).log1p()
        return self.mean * (rest - self.probs.log()) - self._log_norm() - rest

    _natural_params = fact(lambda self: (self.logits,))

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """log((e^x - 1) / x), by its series near zero."""
        (x,) = natural_params
        far = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = x.where(far, x.new_tensor(self._lims[0] - 0.5))
        wide = (cut.exp() - 1).abs().log() - cut.abs().log()
        return wide.where(far, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)


class LogisticNormal(TransformedDistribution):
    """Vectors of positive numbers that sum to 1, made from normal numbers by breaking a stick piece by piece.

    Args:
        loc, scale: of the normal numbers: (..., K - 1) for K parts.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> d = torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2))
        >>> d.sample().sum().round(decimals=3)
        tensor(1.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base: Any = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def _normal(self) -> Any:
        return self.base_dist.base_dist if isinstance(self.base_dist, Independent) else self.base_dist

    loc = fact(lambda self: self._normal.loc)
    scale = fact(lambda self: self._normal.scale)
