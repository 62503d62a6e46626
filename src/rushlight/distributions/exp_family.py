"""Exponential families: densities exp(t(x) . theta - F(theta) + k(x))."""

from __future__ import annotations

from typing import Any

from ..core.gradients.differentiate import grad
from ..core.tensor import Tensor
from .distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution that knows its natural parameters, which gives entropy and divergence.

    Args:
        batch_shape, event_shape: as in `Distribution`.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> isinstance(torch.distributions.Normal(0.0, 1.0), torch.distributions.ExponentialFamily)
        True
    """

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    @property
    def _natural_params(self) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """By the Bregman divergence of the log normalizer (Nielsen and Nock 2010)."""
        result = -self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        normalizer = self._log_normalizer(*params)
        gradients = grad(normalizer.sum(), params, create_graph=True)
        result = result + normalizer
        for param, g in zip(params, gradients):
            product = param * g
            result = result - product.reshape(self._batch_shape + (-1,)).sum(-1)
        return result
