"""Distributions on the real line, and of what their draws become by one map."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.dtypes import finfo, float64
from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from ..operators.random.draws import normal
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .made_of import TransformedDistribution
from .transforms import AbsTransform, AffineTransform, ExpTransform
from .utils import broadcast_all, euler_constant, fact, lazy_property, standard_normal, standard_uniform

__all__ = ["Cauchy", "Gumbel", "HalfCauchy", "HalfNormal", "Laplace", "LogNormal", "Normal", "Uniform", "VonMises"]


class Normal(ExponentialFamily):
    """Normal numbers around `loc` with standard deviation `scale`.

    Args:
        loc: the mean.
        scale: the standard deviation, positive.

    Example:
        >>> d = torch.distributions.Normal(0.0, 2.0)
        >>> d.log_prob(torch.tensor(0.0)), d.cdf(torch.tensor(0.0))
        (tensor(-1.6121), tensor(0.5000))
        >>> _ = torch.manual_seed(0)
        >>> d.sample((3,))
        tensor([ 3.0820, -0.5869, -4.3576])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = fact(lambda self: self.loc)
    stddev = fact(lambda self: self.scale)
    variance = fact(lambda self: self.scale.pow(2))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.loc + standard_normal(self._extended_shape(sample_shape), self.loc) * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        z = (value - self.loc) ** 2 / (2 * self.scale**2)
        return -z - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        return 0.5 * (1 + ((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)).erf())

    def icdf(self, value: Tensor) -> Tensor:
        return self.loc + self.scale * (2 * value - 1).erfinv() * math.sqrt(2)

    def entropy(self) -> Tensor:
        return 0.5 + 0.5 * math.log(2 * math.pi) + self.scale.log()

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        variance = self.scale.pow(2)
        return self.loc / variance, -0.5 * variance.reciprocal()

    def _log_normalizer(self, x: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return -0.25 * x.pow(2) / y + 0.5 * (-math.pi / y).log()


class Laplace(Distribution):
    """Numbers around `loc` whose density falls as exp(-|x - loc| / scale).

    Args:
        loc: the mean.
        scale: the width, positive.

    Example:
        >>> d = torch.distributions.Laplace(0.0, 1.0)
        >>> d.variance, d.cdf(torch.tensor(0.0))
        (tensor(2.), tensor(0.5000))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = fact(lambda self: self.loc)
    variance = fact(lambda self: 2 * self.scale.pow(2))
    stddev = fact(lambda self: 2**0.5 * self.scale)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        u = self.loc.new_empty(shape).uniform_(finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * (-u.abs()).log1p()

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        off = value - self.loc
        return 0.5 - 0.5 * off.sign() * (-off.abs() / self.scale).expm1()

    def icdf(self, value: Tensor) -> Tensor:
        term = value - 0.5
        return self.loc - self.scale * term.sign() * (-2 * term.abs()).log1p()

    def entropy(self) -> Tensor:
        return 1 + (2 * self.scale).log()


class Cauchy(Distribution):
    """Numbers around the median `loc`, with tails so heavy that there is no mean.

    Args:
        loc: the median.
        scale: half of the width at half of the height, positive.

    Example:
        >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
        tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = fact(lambda self: self.loc.new_full(self._extended_shape(), math.nan))
    mode = fact(lambda self: self.loc)
    variance = fact(lambda self: self.loc.new_full(self._extended_shape(), math.inf))

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        unit = self.loc.new_empty(self._extended_shape(sample_shape)).cauchy_()
        return self.loc + unit * self.scale

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        off = ((value - self.loc) / self.scale) ** 2
        return -math.log(math.pi) - self.scale.log() - off.log1p()

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        return ((value - self.loc) / self.scale).atan() / math.pi + 0.5

    def icdf(self, value: Tensor) -> Tensor:
        return (math.pi * (value - 0.5)).tan() * self.scale + self.loc

    def entropy(self) -> Tensor:
        return math.log(4 * math.pi) + self.scale.log()


class Uniform(Distribution):
    """Numbers of [low, high).

    Args:
        low, high: the limits; low is smaller.

    Example:
        >>> d = torch.distributions.Uniform(0.0, 4.0)
        >>> d.mean, d.log_prob(torch.tensor(1.0))
        (tensor(2.), tensor(-1.3863))
    """

    has_rsample = True

    @property
    def arg_constraints(self) -> dict[str, Any]:  # type: ignore[override]
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    def __init__(self, low: Tensor | float, high: Tensor | float, validate_args: bool | None = None) -> None:
        self.low, self.high = broadcast_all(low, high)
        super().__init__(self.low.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.interval(self.low, self.high)

    mean = fact(lambda self: (self.high + self.low) / 2)
    mode = fact(lambda self: self.low.new_full(self.low.shape, float("nan")))
    stddev = fact(lambda self: (self.high - self.low) / 12**0.5)
    variance = fact(lambda self: (self.high - self.low).pow(2) / 12)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        u = standard_uniform(self._extended_shape(sample_shape), self.low)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return inside.log() - (self.high - self.low).log()

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value: Tensor) -> Tensor:
        return value * (self.high - self.low) + self.low

    def entropy(self) -> Tensor:
        return (self.high - self.low).log()


class Gumbel(TransformedDistribution):
    """Numbers loc - scale * log(-log(u)) of uniform u.

    Args:
        loc: the mode.
        scale: the width, positive.

    Example:
        >>> torch.distributions.Gumbel(0.0, 1.0).mean
        tensor(0.5772)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        limits = finfo(self.loc.dtype)
        low = self.loc.new_full(self.loc.shape, limits.tiny)
        high = self.loc.new_full(self.loc.shape, 1 - limits.eps)
        base = Uniform(low, high, validate_args=validate_args)
        transforms = [
            ExpTransform().inv,
            AffineTransform(loc=0, scale=-self.scale.new_ones(self.scale.shape)),
            ExpTransform().inv,
            AffineTransform(loc=self.loc, scale=-self.scale),
        ]
        super().__init__(base, transforms, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        return _remade(self, Gumbel, (self.loc, self.scale), batch_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    mean = fact(lambda self: self.loc + self.scale * euler_constant)
    mode = fact(lambda self: self.loc)
    stddev = fact(lambda self: (math.pi / math.sqrt(6)) * self.scale)
    variance = fact(lambda self: self.stddev.pow(2))

    def entropy(self) -> Tensor:
        return self.scale.log() + (1 + euler_constant)


def _remade(self: Any, kind: Any, parameters: tuple, batch_shape: Sequence[int]) -> Any:
    """A transformed distribution whose transforms hold parameters is made anew to be expanded."""
    new = kind(*[p.expand(batch_shape) for p in parameters], validate_args=False)
    new._validate_args = self._validate_args
    return new


class VonMises(Distribution):
    """Angles around `loc`; the greater `concentration`, the closer.

    Args:
        loc: an angle.
        concentration: positive.

    Example:
        >>> torch.distributions.VonMises(0.0, 2.0).log_prob(torch.tensor(0.0))
        tensor(-0.6619)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    mean = mode = fact(lambda self: self.loc)

    @lazy_property
    def variance(self) -> Tensor:
        """The circular variance, 1 - I1(k) / I0(k)."""
        special = NAMESPACES["special"]
        return 1 - special["i1e"](self.concentration) / special["i0e"](self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        k = self.concentration
        # log I0(k) by the scaled function, which does not overflow
        log_i0 = NAMESPACES["special"]["i0e"](k).log() + k
        return k * (value - self.loc).cos() - math.log(2 * math.pi) - log_i0

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws by rejection (Best and Fisher 1979), in double precision, as for small k it must."""
        with no_grad():
            shape = self._extended_shape(sample_shape)
            k, loc = self.concentration.to(float64).expand(shape), self.loc.to(float64)
            r = _proposal(k)
            x, done = k.new_zeros(shape), k.new_zeros(shape) > 0
            while not bool(done.all()):
                u1, u2, u3 = standard_uniform((3, *shape), k).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = ((u3 - 0.5).sign() * f.acos()).where(accept, x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)


def _proposal(k: Tensor) -> Tensor:
    """The parameter of the wrapped Cauchy distribution that is drawn from; a series where k is small."""
    tau = 1 + (1 + 4 * k**2).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * k)
    return (1 / k + k).where(k < 1e-5, (1 + rho**2) / (2 * rho))


class LogNormal(TransformedDistribution):
    """Numbers whose logarithm is normal.

    Args:
        loc, scale: mean and standard deviation of the logarithm.

    Example:
        >>> d = torch.distributions.LogNormal(0.0, 1.0)
        >>> d.mean, d.mode
        (tensor(1.6487), tensor(0.3679))
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.positive
    has_rsample = True  # type: ignore[assignment]

    def __init__(self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None) -> None:
        base = Normal(loc, scale, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    loc = fact(lambda self: self.base_dist.loc)
    scale = fact(lambda self: self.base_dist.scale)
    mean = fact(lambda self: (self.loc + self.scale.pow(2) / 2).exp())
    mode = fact(lambda self: (self.loc - self.scale.square()).exp())

    @property
    def variance(self) -> Tensor:
        squared = self.scale.pow(2)
        return squared.expm1() * (2 * self.loc + squared).exp()

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() + self.loc


class _Half(TransformedDistribution):
    """Absolute values of numbers around zero, whose density is twice that of the numbers."""

    arg_constraints = {"scale": constraints.positive}
    support = constraints.nonnegative
    has_rsample = True  # type: ignore[assignment]
    scale = fact(lambda self: self.base_dist.scale)
    mode = fact(lambda self: self.scale.new_zeros(self.scale.shape))

    def __init__(self, base: Distribution, validate_args: bool | None) -> None:
        super().__init__(base, AbsTransform(), validate_args=validate_args)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        log_prob = self.base_dist.log_prob(value) + math.log(2)
        return log_prob.masked_fill(value < 0, -math.inf)

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, value: Tensor) -> Tensor:
        return self.base_dist.icdf((value + 1) / 2)

    def entropy(self) -> Tensor:
        return self.base_dist.entropy() - math.log(2)


class HalfNormal(_Half):
    """Absolute values of normal numbers around zero.

    Args:
        scale: standard deviation of the normal numbers, positive.

    Example:
        >>> torch.distributions.HalfNormal(1.0).mean
        tensor(0.7979)
    """

    mean = fact(lambda self: self.scale * math.sqrt(2 / math.pi))
    variance = fact(lambda self: self.scale.pow(2) * (1 - 2 / math.pi))

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Normal(0, scale, validate_args=False), validate_args)


class HalfCauchy(_Half):
    """Absolute values of Cauchy numbers around zero.

    Args:
        scale: the median, positive.

    Example:
        >>> torch.distributions.HalfCauchy(1.0).cdf(torch.tensor(1.0))
        tensor(0.5000)
    """

    mean = fact(lambda self: self.scale.new_full(self._extended_shape(), math.inf))
    variance = fact(lambda self: self.base_dist.variance)

    def __init__(self, scale: Tensor | float, validate_args: bool | None = None) -> None:
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)
