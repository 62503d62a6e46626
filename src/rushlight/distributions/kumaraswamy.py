"""The Kumaraswamy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .gumbel import _remade, euler_constant
from .transformed_distribution import TransformedDistribution
from .transforms import AffineTransform, PowerTransform
from .uniform import Uniform
from .utils import broadcast_all

__all__ = ["Kumaraswamy"]


class Kumaraswamy(TransformedDistribution):
    """Numbers of (0, 1), much like a beta distribution but with a closed cumulative function.

    Args:
        concentration1, concentration0: positive.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> torch.distributions.Kumaraswamy(1.0, 2.0).mean
        tensor(0.3333)
    """

    arg_constraints = {
        "concentration1": constraints.positive,
        "concentration0": constraints.positive,
    }
    support = constraints.unit_interval
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self,
        concentration1: Tensor | float,
        concentration0: Tensor | float,
        validate_args: bool | None = None,
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

    @property
    def mean(self) -> Tensor:
        return self._moment(1)

    @property
    def mode(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        log = a.reciprocal() * (-b).log1p() - (-a * b).log1p()
        return log.exp().masked_fill((b < 1) | (a < 1), math.nan)

    @property
    def variance(self) -> Tensor:
        return self._moment(2) - self.mean.pow(2)

    def entropy(self) -> Tensor:
        a, b = self.concentration1, self.concentration0
        t0 = 1 - b.reciprocal()
        harmonic = (b + 1).digamma() + euler_constant
        return t0 + (1 - a.reciprocal()) * harmonic - a.log() - b.log()
