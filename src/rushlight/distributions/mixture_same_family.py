"""Mixtures of distributions of one family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from . import constraints
from .categorical import Categorical
from .distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A draw of the component that a categorical distribution picks.

    Args:
        mixture_distribution: a `Categorical` with one weight for each component.
        component_distribution: the components, along its last batch dimension.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> mix = torch.distributions.Categorical(torch.tensor([0.5, 0.5]))
        >>> d = torch.distributions.MixtureSameFamily(mix, torch.distributions.Normal(torch.tensor([-1.0, 3.0]), 1.0))
        >>> d.mean, d.variance
        (tensor(1.), tensor(5.))
    """

    arg_constraints: dict[str, Any] = {}
    has_rsample = False

    def __init__(
        self,
        mixture_distribution: Categorical,
        component_distribution: Distribution,
        validate_args: bool | None = None,
    ) -> None:
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of "
                "torch.distributions.Distribution"
            )
        self._check_shapes()
        self._num_component = component_distribution.batch_shape[-1]
        self._event_ndims = len(component_distribution.event_shape)
        super().__init__(
            component_distribution.batch_shape[:-1],
            component_distribution.event_shape,
            validate_args=validate_args,
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

    @property
    def mixture_distribution(self) -> Categorical:
        return self._mixture_distribution

    @property
    def component_distribution(self) -> Distribution:
        return self._component_distribution

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
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
