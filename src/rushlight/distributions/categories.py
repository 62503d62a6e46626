"""Distributions over several classes, their relaxed forms, and mixtures."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.dtypes import finfo
from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.create.ranges import eye
from . import constraints
from .counts import Binomial
from .distribution import Distribution
from .made_of import TransformedDistribution
from .transforms import ExpTransform, SigmoidTransform
from .utils import ProbsOrLogits, broadcast_all, clamp_probs, fact, given_one, standard_uniform

__all__ = [
    "Categorical",
    "ExpRelaxedCategorical",
    "LogitRelaxedBernoulli",
    "MixtureSameFamily",
    "Multinomial",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
]


class Categorical(ProbsOrLogits, Distribution):
    """Indices 0 .. K-1, each with its own probability.

    Args:
        probs: weights along the last dimension, which are divided by their sum; or
        logits: their logarithms.

    Example:
        >>> d = torch.distributions.Categorical(torch.tensor([1.0, 1.0, 2.0]))
        >>> d.probs, d.entropy()
        (tensor([0.2500, 0.2500, 0.5000]), tensor(1.0397))
        >>> _ = torch.manual_seed(0)
        >>> d.sample((5,))
        tensor([2, 2, 1, 2, 2])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(self, probs: Any = None, logits: Any = None, validate_args: bool | None = None) -> None:
        if given_one("probs", "logits", probs, logits):
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size(-1)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.integer_interval(0, self._num_events - 1)

    mean = variance = fact(lambda self: self._param.new_full(self._extended_shape(), float("nan")))
    mode = fact(lambda self: self.probs.argmax(dim=-1))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.detach().reshape(-1, self._num_events)
        with no_grad():
            drawn = rows.multinomial(sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        from ..operators.shape.expand import broadcast_tensors

        self._checked(value)
        index, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        from ..operators.create.ranges import arange

        n = self._num_events
        values = arange(n, device=self._param.device).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class OverCategories(Distribution):
    """A distribution whose parameters are those of a Categorical inside of it."""

    _categorical: Categorical
    _inner = ("_categorical",)

    logits = fact(lambda self: self._categorical.logits)
    probs = fact(lambda self: self._categorical.probs)
    _param = fact(lambda self: self._categorical._param)
    param_shape = fact(lambda self: self._categorical.param_shape)


class Multinomial(OverCategories):
    """Counts along the last dim of `total_count` independent draws of a categorical.

    Args:
        total_count: how many draws.
        probs: weights along the last dimension, which are divided by their sum; or
        logits: their logarithms.

    Example:
        >>> torch.distributions.Multinomial(10, torch.tensor([1.0, 3.0])).mean
        tensor([2.5000, 7.5000])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        self._binomial = Binomial(total_count, probs=self.probs)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.multinomial(self.total_count)

    mean = fact(lambda self: self.probs * self.total_count)
    variance = fact(lambda self: self.total_count * self.probs * (1 - self.probs))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        with no_grad():
            drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape)
            drawn = drawn.permute(*range(1, drawn.dim()), 0)
            counts = self.probs.new_zeros(self._extended_shape(sample_shape))
            return counts.scatter_add_(-1, drawn, counts.new_ones(drawn.shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        orders = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return orders + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        from ..operators.create.from_data import tensor

        n = tensor(self.total_count, device=self.probs.device)
        values = self._binomial.enumerate_support(expand=False)[1:]
        weights = self._binomial.log_prob(values).exp()
        term = (weights * (values + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - (n + 1.0).lgamma() + term


class OneHotCategorical(OverCategories):
    """As `Categorical`, but a sample is a vector with a single 1."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    mean = fact(lambda self: self._categorical.probs)
    mode = fact(lambda self: _one_hot(self._categorical.mode, self._categorical))
    variance = fact(lambda self: self._categorical.probs * (1 - self._categorical.probs))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return _one_hot(self._categorical.sample(Size(sample_shape)), self._categorical)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """As `OneHotCategorical`, with gradients of the probabilities through its samples."""

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        probs = self._categorical.probs
        return self.sample(sample_shape) + (probs - probs.detach())


def _one_hot(index: Tensor, categorical: Categorical) -> Tensor:
    probs = categorical.probs
    hot = probs.new_zeros(index.shape + (categorical._num_events,))
    return hot.scatter_(-1, index.unsqueeze(-1), 1)


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """The log odds of a relaxed coin (Maddison, Mnih and Teh 2017)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(
        self, temperature: Tensor | float, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self.temperature = temperature
        self._keep(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(standard_uniform(shape, p))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        off = logits - value.mul(self.temperature)
        scale = self.temperature.log() if isinstance(self.temperature, Tensor) else _log(self)
        return scale + off - 2 * off.exp().log1p()


def _log(self: Any) -> float:
    import math

    return math.log(self.temperature)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers of (0, 1), near 0 or 1 when `temperature` is low, with gradients of the draw.

    Args:
        temperature: positive.
        probs: probabilities; or
        logits: their log odds.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> d = torch.distributions.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor(0.5, requires_grad=True))
        >>> d.rsample().requires_grad
        True
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    temperature = fact(lambda self: self.base_dist.temperature)
    logits = fact(lambda self: self.base_dist.logits)
    probs = fact(lambda self: self.base_dist.probs)


class ExpRelaxedCategorical(OverCategories):
    """The logarithms of a relaxed one-hot vector (Maddison, Mnih and Teh 2017)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # in truth those whose logsumexp is zero
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        u = clamp_probs(standard_uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        t = self.temperature
        log_t = t.log() if isinstance(t, Tensor) else math.log(t)
        score = logits - value.mul(t)
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + (math.lgamma(k) + log_t * (k - 1))


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of positive numbers that sum to 1, nearly one-hot when `temperature` is low.

    Args:
        temperature: positive.
        probs: weights along the last dimension, which are divided by their sum; or
        logits: their logarithms.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> d = torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([1.0, 3.0]))
        >>> d.sample().sum().round(decimals=3)
        tensor(1.)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    temperature = fact(lambda self: self.base_dist.temperature)
    logits = fact(lambda self: self.base_dist.logits)
    probs = fact(lambda self: self.base_dist.probs)


class MixtureSameFamily(Distribution):
    """A draw of the component that a categorical distribution picks.

    Args:
        mixture_distribution: a `Categorical` with one weight for each component.
        component_distribution: the components, along its last batch dimension.

    Example:
        >>> mix = torch.distributions.Categorical(torch.tensor([0.5, 0.5]))
        >>> d = torch.distributions.MixtureSameFamily(mix, torch.distributions.Normal(torch.tensor([-1.0, 3.0]), 1.0))
        >>> d.mean, d.variance
        (tensor(1.), tensor(5.))
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False

    def __init__(
        self, mixture_distribution: Categorical, component_distribution: Distribution, validate_args: bool | None = None
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution need to be an instance of torch.distributions.Distribution")
        self._check_shapes()
        self._num_component = component_distribution.batch_shape[-1]
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(
            component_distribution.batch_shape[:-1], component_distribution.event_shape, validate_args=validate_args
        )

    def _check_shapes(self) -> None:
        mixture, component = self._mixture_distribution, self._component_distribution
        outer = component.batch_shape[:-1]
        for a, b in zip(reversed(mixture.batch_shape), reversed(outer)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` ({mixture.batch_shape}) is not compatible "
                    f"with `component_distribution.batch_shape`({outer})"
                )
        k = mixture.logits.shape[-1]
        if component.batch_shape[-1] != k:
            raise ValueError(
                f"`mixture_distribution component` ({k}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({component.batch_shape[-1]})"
            )

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._twin(_instance)
        batch = Size(batch_shape)
        components = batch + (self._num_component,)
        new._component_distribution = self._component_distribution.expand(components)
        new._mixture_distribution = self._mixture_distribution.expand(batch)
        new._batch_shape = batch
        return new

    @constraints.dependent_property
    def support(self) -> Any:  # type: ignore[override]
        return constraints.MixtureSameFamilyConstraint(self._component_distribution.support)

    mixture_distribution = fact(lambda self: self._mixture_distribution)
    component_distribution = fact(lambda self: self._component_distribution)

    def _pad_mixture_dimensions(self, x: Tensor) -> Tensor:
        lacking = len(self.batch_shape) - len(self.mixture_distribution.batch_shape)
        shape = x.shape[:-1] + (1,) * lacking + x.shape[-1:] + (1,) * self._event_ndims
        return x.reshape(shape)

    @property
    def mean(self) -> Tensor:
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        return (probs * self.component_distribution.mean).sum(-1 - self._event_ndims)

    @property
    def variance(self) -> Tensor:
        """The mean of the variances plus the variance of the means."""
        dim = -1 - self._event_ndims
        probs = self._pad_mixture_dimensions(self.mixture_distribution.probs)
        within = (probs * self.component_distribution.variance).sum(dim)
        off = self.component_distribution.mean - self.mean.unsqueeze(dim)
        return within + (probs * off.pow(2.0)).sum(dim)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        x = value.unsqueeze(-1 - self._event_ndims)
        of_parts = self.component_distribution.log_prob(x)
        weights = self.mixture_distribution.logits.log_softmax(dim=-1)
        return (of_parts + weights).logsumexp(dim=-1)

    def cdf(self, value: Tensor) -> Tensor:
        of_parts = self.component_distribution.cdf(value.unsqueeze(-1 - self._event_ndims))
        return (of_parts * self.mixture_distribution.probs).sum(-1)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            sample_shape = Size(sample_shape)
            at = len(sample_shape) + len(self.batch_shape)
            picked = self.mixture_distribution.sample(sample_shape)
            drawn = self.component_distribution.sample(sample_shape)
            event = self.component_distribution.event_shape
            index = picked.reshape(picked.shape + (1,) * (self._event_ndims + 1))
            index = index.expand(picked.shape + (1,) + event)
            return drawn.gather(at, index).squeeze(at)

    def __repr__(self) -> str:
        return f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
