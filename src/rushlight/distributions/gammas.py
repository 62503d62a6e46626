"""Distributions around the gamma distribution: waiting times, squares and ratios, heavy tails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from math import inf, nan
from numbers import Number
from typing import Any

from ..base.dtypes import finfo
from ..base.shapes import Size
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from ..operators.pointwise.special import gammainc
from ..operators.random.gamma_draws import _standard_gamma
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .line import _remade, euler_constant
from .made_of import TransformedDistribution
from .transforms import AffineTransform, ExpTransform, PowerTransform
from .utils import broadcast_all, fact, standard_normal, standard_uniform

__all__ = [
    "Chi2",
    "Exponential",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "InverseGamma",
    "Pareto",
    "StudentT",
    "Weibull",
]


class Exponential(ExponentialFamily):
    """Waiting times of events that come at `rate`.

    Args:
        rate: events per unit of time, positive.

    Example:
        >>> d = torch.distributions.Exponential(2.0)
        >>> d.mean, d.cdf(torch.tensor(1.0))
        (tensor(0.5000), tensor(0.8647))
    """

    arg_constraints = {"rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = fact(lambda self: self.rate.reciprocal())
    mode = fact(lambda self: self.rate.new_zeros(self.rate.shape))
    stddev = fact(lambda self: self.rate.reciprocal())
    variance = fact(lambda self: self.rate.pow(-2))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.rate.new_empty(self._extended_shape(sample_shape)).exponential_() / self.rate

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        return self.rate.log() - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        return 1 - (-self.rate * value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        return -(-value).log1p() / self.rate

    def entropy(self) -> Tensor:
        return 1.0 - self.rate.log()

    _natural_params = fact(lambda self: (-self.rate,))

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return -(-x).log()


class Gamma(ExponentialFamily):
    """Positive numbers of shape `concentration` and rate `rate`.

    Args:
        concentration, rate: positive.

    Example:
        >>> d = torch.distributions.Gamma(2.0, 4.0)
        >>> d.mean, d.variance
        (tensor(0.5000), tensor(0.1250))
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        self.concentration, self.rate = broadcast_all(concentration, rate)
        super().__init__(self.concentration.shape, validate_args=validate_args)

    mean = fact(lambda self: self.concentration / self.rate)
    mode = fact(lambda self: ((self.concentration - 1) / self.rate).clamp(min=0))
    variance = fact(lambda self: self.concentration / self.rate.pow(2))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        value = _standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=finfo(value.dtype).tiny)  # a log of it is finite
        return value

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        a, rate = self.concentration, self.rate
        return a.xlogy(rate) + (a - 1).xlogy(value) - rate * value - a.lgamma()

    def entropy(self) -> Tensor:
        a = self.concentration
        return a - self.rate.log() + a.lgamma() + (1.0 - a) * a.digamma()

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        return gammainc(self.concentration, self.rate * value)

    _natural_params = fact(lambda self: (self.concentration - 1, -self.rate))

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return (x + 1).lgamma() + (x + 1) * (-y.reciprocal()).log()


class Chi2(Gamma):
    """The sum of `df` squared normal numbers.

    Args:
        df: degrees of freedom, positive.

    Example:
        >>> torch.distributions.Chi2(3.0).mean
        tensor(3.)
    """

    arg_constraints = {"df": constraints.positive}
    _inner = ("concentration", "rate")

    def __init__(self, df: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(0.5 * df, 0.5, validate_args=validate_args)

    df = fact(lambda self: self.concentration * 2)


class FisherSnedecor(Distribution):
    """The ratio of two chi-squared numbers, each over its degrees of freedom.

    Args:
        df1, df2: degrees of freedom of the upper and the lower one.

    Example:
        >>> torch.distributions.FisherSnedecor(2.0, 4.0).mean
        tensor(2.)
    """

    arg_constraints = {"df1": constraints.positive, "df2": constraints.positive}
    _inner = ("_gamma1", "_gamma2")
    support = constraints.positive
    has_rsample = True

    def __init__(self, df1: Tensor | float, df2: Tensor | float, validate_args: bool | None = None) -> None:
        self.df1, self.df2 = broadcast_all(df1, df2)
        self._gamma1 = Gamma(self.df1 * 0.5, self.df1)
        self._gamma2 = Gamma(self.df2 * 0.5, self.df2)
        super().__init__(self.df1.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 2, math.nan)
        return df2 / (df2 - 2)

    @property
    def mode(self) -> Tensor:
        mode = (self.df1 - 2) / self.df1 * self.df2 / (self.df2 + 2)
        return mode.masked_fill(self.df1 <= 2, math.nan)

    @property
    def variance(self) -> Tensor:
        df2 = self.df2.masked_fill(self.df2 <= 4, math.nan)
        top = 2 * df2.pow(2) * (self.df1 + df2 - 2)
        return top / (self.df1 * (df2 - 2).pow(2) * (df2 - 4))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        x1 = self._gamma1.rsample(sample_shape).view(self._extended_shape(sample_shape))
        x2 = self._gamma2.rsample(sample_shape).view(self._extended_shape(sample_shape))
        tiny = finfo(x2.dtype).tiny
        return (x1 / x2.clamp(min=tiny)).clamp(min=tiny)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        a, b = self.df1 * 0.5, self.df2 * 0.5
        ratio = self.df1 / self.df2
        t1 = (a + b).lgamma() - a.lgamma() - b.lgamma()
        t2 = a * ratio.log() + (a - 1) * value.log()
        return t1 + t2 - (a + b) * (ratio * value).log1p()


class StudentT(Distribution):
    """A normal number over the root of a chi-squared one, with `df` degrees of freedom.

    Args:
        df: degrees of freedom, positive.
        loc: the mode.
        scale: the width, positive.

    Example:
        >>> torch.distributions.StudentT(3.0).variance
        tensor(3.)
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _inner = ("_chi2",)

    def __init__(
        self,
        df: Tensor | float,
        loc: Tensor | float = 0.0,
        scale: Tensor | float = 1.0,
        validate_args: bool | None = None,
    ) -> None:
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.shape, validate_args=validate_args)

    mean = fact(lambda self: self.loc.masked_fill(self.df <= 1, math.nan))
    mode = fact(lambda self: self.loc)

    @property
    def variance(self) -> Tensor:
        finite = self.scale.pow(2) * self.df / (self.df - 2)
        infinite = finite.masked_fill(self.df <= 2, math.inf)
        return infinite.masked_fill(self.df <= 1, math.nan)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        z = standard_normal(self._extended_shape(sample_shape), self.df)
        chi2 = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (z * (chi2 / self.df).rsqrt())

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        y = (value - self.loc) / self.scale
        half = 0.5 * self.df
        norm = self.scale.log() + 0.5 * self.df.log() + 0.5 * math.log(math.pi)
        norm = norm + half.lgamma() - (half + 0.5).lgamma()
        return -0.5 * (self.df + 1.0) * (y**2.0 / self.df).log1p() - norm

    def entropy(self) -> Tensor:
        half = 0.5 * self.df
        log_beta = half.lgamma() + math.lgamma(0.5) - (0.5 * (self.df + 1)).lgamma()
        spread = 0.5 * (self.df + 1) * ((0.5 * (self.df + 1)).digamma() - half.digamma())
        return self.scale.log() + spread + 0.5 * self.df.log() + log_beta


class InverseGamma(TransformedDistribution):
    """Reciprocals of gamma numbers.

    Args:
        concentration, rate: of the gamma distribution, positive.

    Example:
        >>> torch.distributions.InverseGamma(3.0, 2.0).mean
        tensor(1.)
    """

    arg_constraints = {"concentration": constraints.positive, "rate": constraints.positive}
    support = constraints.positive
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, concentration: Tensor | float, rate: Tensor | float, validate_args: bool | None = None) -> None:
        base = Gamma(concentration, rate, validate_args=validate_args)
        power = PowerTransform(exponent=-base.rate.new_ones(()))
        super().__init__(base, power, validate_args=validate_args)

    concentration = fact(lambda self: self.base_dist.concentration)
    rate = fact(lambda self: self.base_dist.rate)

    @property
    def mean(self) -> Tensor:
        finite = self.rate / (self.concentration - 1)
        return finite.masked_fill(self.concentration <= 1, math.inf)

    mode = fact(lambda self: self.rate / (self.concentration + 1))

    @property
    def variance(self) -> Tensor:
        a = self.concentration
        return (self.rate.square() / ((a - 1).square() * (a - 2))).masked_fill(a <= 2, math.inf)

    def entropy(self) -> Tensor:
        a = self.concentration
        return a + self.rate.log() + a.lgamma() - (1 + a) * a.digamma()


class Weibull(TransformedDistribution):
    """Numbers scale * e ** (1 / concentration) of exponential e.

    Args:
        scale, concentration: positive.

    Example:
        >>> torch.distributions.Weibull(1.0, 2.0).mean
        tensor(0.8862)
    """

    arg_constraints = {"scale": constraints.positive, "concentration": constraints.positive}
    support = constraints.positive

    def __init__(self, scale: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.concentration = broadcast_all(scale, concentration)
        self.concentration_reciprocal = self.concentration.reciprocal()
        base = Exponential(self.scale.new_ones(self.scale.shape), validate_args=validate_args)
        transforms = [PowerTransform(exponent=self.concentration_reciprocal), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        return _remade(self, Weibull, (self.scale, self.concentration), batch_shape)

    mean = fact(lambda self: self.scale * (1 + self.concentration_reciprocal).lgamma().exp())

    @property
    def mode(self) -> Tensor:
        shape = ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()
        return self.scale * shape

    @property
    def variance(self) -> Tensor:
        r = self.concentration_reciprocal
        return self.scale.pow(2) * ((1 + 2 * r).lgamma().exp() - (2 * (1 + r).lgamma()).exp())

    def entropy(self) -> Tensor:
        r = self.concentration_reciprocal
        return euler_constant * (1 - r) + (self.scale * r).log() + 1


class Pareto(TransformedDistribution):
    """Numbers above `scale` whose density falls with the power alpha + 1.

    Args:
        scale: the smallest number, positive.
        alpha: how quickly the density falls, positive.

    Example:
        >>> torch.distributions.Pareto(1.0, 3.0).mean
        tensor(1.5000)
    """

    arg_constraints = {"alpha": constraints.positive, "scale": constraints.positive}

    def __init__(self, scale: Tensor | float, alpha: Tensor | float, validate_args: bool | None = None) -> None:
        self.scale, self.alpha = broadcast_all(scale, alpha)
        base = Exponential(self.alpha, validate_args=validate_args)
        transforms = [ExpTransform(), AffineTransform(loc=0, scale=self.scale)]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        return _remade(self, Pareto, (self.scale, self.alpha), batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.greater_than_eq(self.scale)

    @property
    def mean(self) -> Tensor:
        a = self.alpha.clamp(min=1)
        return a * self.scale / (a - 1)

    mode = fact(lambda self: self.scale)

    @property
    def variance(self) -> Tensor:
        a = self.alpha.clamp(min=2)
        return self.scale.pow(2) * a / ((a - 1).pow(2) * (a - 2))

    def entropy(self) -> Tensor:
        return (self.scale / self.alpha).log() + (1 + self.alpha.reciprocal())


_TORCH = NAMESPACES["torch"]


class GeneralizedPareto(Distribution):
    """Numbers above `loc` whose tail is that of a power, an exponential, or ends.

    Args:
        loc: the smallest number.
        scale: the width, positive.
        concentration: positive for heavy tails, 0 for an exponential one, negative for one that ends.

    Example:
        >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive, "concentration": constraints.real}
    has_rsample = True

    def __init__(
        self,
        loc: Tensor | float,
        scale: Tensor | float,
        concentration: Tensor | float,
        validate_args: bool | None = None,
    ) -> None:
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        plain = all(isinstance(v, Number) for v in (loc, scale, concentration))
        shape = Size() if plain else self.loc.size()
        super().__init__(shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._get_checked_instance(GeneralizedPareto, _instance)
        shape = Size(batch_shape)
        for name in self.arg_constraints:
            setattr(new, name, getattr(self, name).expand(shape))
        super(GeneralizedPareto, new).__init__(shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def _shaped(self) -> tuple[Tensor, Tensor]:
        """Where the tail is exponential, and the concentration with 1 there, to divide by."""
        c = self.concentration
        exponential = c.isclose(c.new_zeros(()))
        return exponential, _TORCH["where"](exponential, 1.0, c)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.loc))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        z = (value - self.loc) / self.scale
        exponential, c = self._shaped()
        power = 1 / c + z.new_ones(z.shape)
        tail = _TORCH["where"](power == 0, power, power * (c * z).log1p())
        return -self.scale.log() - _TORCH["where"](exponential, z, tail)

    def log_survival_function(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a larger number."""
        self._checked(value)
        z = (value - self.loc) / self.scale
        exponential, c = self._shaped()
        return _TORCH["where"](exponential, -z, -(c * z).log1p() / c)

    def log_cdf(self, value: Tensor) -> Tensor:
        """The logarithm of the probability of a smaller number."""
        return (-self.log_survival_function(value).exp()).log1p()

    def cdf(self, value: Tensor) -> Tensor:
        return self.log_cdf(value).exp()

    def icdf(self, value: Tensor) -> Tensor:
        exponential, c = self._shaped()
        log_above = (-value).log1p()
        tail = self.loc + self.scale / c * (-c * log_above).expm1()
        return _TORCH["where"](exponential, self.loc - self.scale * log_above, tail)

    @property
    def mean(self) -> Tensor:
        finite = self.concentration < 1
        c = _TORCH["where"](finite, self.concentration, 0.5)
        return _TORCH["where"](finite, self.loc + self.scale / (1 - c), nan)

    @property
    def variance(self) -> Tensor:
        finite = self.concentration < 0.5
        c = _TORCH["where"](finite, self.concentration, 0.25)
        found = self.scale**2 / ((1 - c) ** 2 * (1 - 2 * c))
        return _TORCH["where"](finite, found, nan)

    mode = fact(lambda self: self.loc)

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).broadcast_to(self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        ends = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, _TORCH["where"](self.concentration < 0, ends, inf))
