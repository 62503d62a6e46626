"""Distributions of counts: coins, trials, rare events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.dtypes import finfo
from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.loss.difference import binary_cross_entropy_with_logits
from ..operators.pointwise.activation_smooth import logsigmoid, softplus
from ..operators.random.gamma_draws import binomial
from ..operators.random.sampling import bernoulli, poisson
from . import constraints
from .distribution import Distribution, ExponentialFamily, require
from .gammas import Gamma
from .utils import ProbsOrLogits, broadcast_all, fact

__all__ = ["Bernoulli", "Binomial", "Geometric", "NegativeBinomial", "Poisson"]


class Bernoulli(ProbsOrLogits, ExponentialFamily):
    """One with probability `probs`, else zero.

    Args:
        probs: probabilities; or
        logits: their log odds.

    Example:
        >>> d = torch.distributions.Bernoulli(probs=0.25)
        >>> d.mean, d.log_prob(torch.tensor(1.0))
        (tensor(0.2500), tensor(-1.3863))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.boolean
    has_enumerate_support = True
    _mean_carrier_measure = 0

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._keep(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    mean = fact(lambda self: self.probs)

    @property
    def mode(self) -> Tensor:
        return (self.probs >= 0.5).to(self.probs.dtype).masked_fill(self.probs == 0.5, float("nan"))

    variance = fact(lambda self: self.probs * (1 - self.probs))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        return -binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self) -> Tensor:
        return binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")

    def enumerate_support(self, expand: bool = True) -> Tensor:
        values = self._param.new_zeros((2,) + (1,) * len(self._batch_shape))
        values[1] = 1
        return values.expand((-1, *self._batch_shape)) if expand else values

    _natural_params = fact(lambda self: (self.probs.logit(),))

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.exp().log1p()


class Binomial(ProbsOrLogits, Distribution):
    """How many of `total_count` trials succeed, each with probability `probs`.

    Args:
        total_count: trials.
        probs: probabilities; or
        logits: their log odds.

    Example:
        >>> d = torch.distributions.Binomial(10, probs=0.5)
        >>> d.mean, d.log_prob(torch.tensor(5.0))
        (tensor(5.), tensor(-1.4020))
    """

    arg_constraints = {
        "total_count": constraints.nonnegative_integer,
        "probs": constraints.unit_interval,
        "logits": constraints.real,
    }
    has_enumerate_support = True

    def __init__(
        self, total_count: Any = 1, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        (self.total_count,) = self._keep(probs, logits, total_count)
        super().__init__(self.total_count.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.integer_interval(0, self.total_count)

    mean = fact(lambda self: self.total_count * self.probs)

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    variance = fact(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        with no_grad():
            return binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        n, logits = self.total_count, self.logits
        choose = (n + 1).lgamma() - (value + 1).lgamma() - (n - value + 1).lgamma()
        return choose + value * logits - n * softplus(logits, threshold=50.0)

    def entropy(self) -> Tensor:
        total = int(self.total_count.max())
        if not bool(self.total_count.min() == total):
            raise NotImplementedError("Inhomogeneous total count not supported by `entropy`.")
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(log_prob.exp() * log_prob).sum(0)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        from ..operators.create.ranges import arange

        total = int(self.total_count.max())
        if not bool(self.total_count.min() == total):
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = arange(1 + total, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class Geometric(ProbsOrLogits, Distribution):
    """How many trials fail before one, of probability `probs`, succeeds.

    Args:
        probs: probabilities; or
        logits: their log odds.

    Example:
        >>> d = torch.distributions.Geometric(probs=0.25)
        >>> d.mean, d.log_prob(torch.tensor(0.0))
        (tensor(3.), tensor(-1.3863))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        self._keep(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            what = f"parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution"
            end = "to be positive but found invalid values:"
            require(self.probs > 0, self.probs, self, f"Expected {what}", end, wrong_only=True)

    mean = fact(lambda self: 1.0 / self.probs - 1.0)
    mode = fact(lambda self: self.probs.new_zeros(self.probs.shape))
    variance = fact(lambda self: (1.0 / self.probs - 1.0) / self.probs)

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        tiny = finfo(self.probs.dtype).tiny
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone()
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        nats = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return nats / self.probs


class NegativeBinomial(ProbsOrLogits, Distribution):
    """Successes, each of probability `probs`, before `total_count` failures have come.

    Args:
        total_count: failures that end the trials.
        probs: probabilities; or
        logits: their log odds.

    Example:
        >>> torch.distributions.NegativeBinomial(3, probs=0.5).mean
        tensor(3.)
    """

    arg_constraints = {
        "total_count": constraints.greater_than_eq(0),
        "probs": constraints.half_open_interval(0.0, 1.0),
        "logits": constraints.real,
    }
    support = constraints.nonnegative_integer

    def __init__(
        self, total_count: Any, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        (self.total_count,) = self._keep(probs, logits, total_count)
        super().__init__(self.total_count.shape, validate_args=validate_args)

    mean = fact(lambda self: self.total_count * self.logits.exp())
    mode = fact(lambda self: ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0))
    variance = fact(lambda self: self.mean / (-self.logits).sigmoid())

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            rates = Gamma(self.total_count, (-self.logits).exp(), validate_args=False)
            return poisson(rates.sample(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        n = self.total_count
        weights = n * logsigmoid(-self.logits) + value * logsigmoid(self.logits)
        choose = -(n + value).lgamma() + (1.0 + value).lgamma() + n.lgamma()
        return weights - choose.masked_fill(n + value == 0.0, 0.0)


class Poisson(ExponentialFamily):
    """Counts of mean `rate`.

    Args:
        rate: at least 0.

    Example:
        >>> d = torch.distributions.Poisson(4.0)
        >>> d.mean, d.log_prob(torch.tensor(4.0))
        (tensor(4.), tensor(-1.6329))
    """

    arg_constraints = {"rate": constraints.nonnegative}
    support = constraints.nonnegative_integer

    def __init__(self, rate: Tensor | float, validate_args: bool | None = None) -> None:
        (self.rate,) = broadcast_all(rate)
        super().__init__(self.rate.shape, validate_args=validate_args)

    mean = variance = fact(lambda self: self.rate)
    mode = fact(lambda self: self.rate.floor())

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            return poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        rate, value = broadcast_all(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()

    _natural_params = fact(lambda self: (self.rate.log(),))

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.exp()
