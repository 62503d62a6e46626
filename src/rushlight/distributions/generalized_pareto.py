"""The generalised Pareto distribution: what lies above a high threshold."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, nan
from numbers import Number
from typing import Any

from ..base.shapes import Size
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, standard_uniform

__all__ = ["GeneralizedPareto"]

_TORCH = NAMESPACES["torch"]


class GeneralizedPareto(Distribution):
    """Numbers above `loc` whose tail is that of a power, an exponential, or ends.

    Args:
        loc: the smallest number.
        scale: the width, positive.
        concentration: positive for heavy tails, 0 for an exponential one, negative for one that ends.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
        tensor(2.)
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
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

    @property
    def mode(self) -> Tensor:
        return self.loc

    def entropy(self) -> Tensor:
        return (self.scale.log() + self.concentration + 1).broadcast_to(self._batch_shape)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        ends = self.loc - self.scale / self.concentration
        return constraints.interval(self.loc, _TORCH["where"](self.concentration < 0, ends, inf))
