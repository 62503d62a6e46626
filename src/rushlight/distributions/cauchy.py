"""The Cauchy distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..base.shapes import Size
from ..core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """Numbers around the median `loc`, with tails so heavy that there is no mean.

    Args:
        loc: the median.
        scale: half of the width at half of the height, positive.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> torch.distributions.Cauchy(0.0, 1.0).cdf(torch.tensor(1.0))
        tensor(0.7500)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.scale = broadcast_all(loc, scale)
        super().__init__(self.loc.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.loc.new_full(self._extended_shape(), math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.loc.new_full(self._extended_shape(), math.inf)

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
