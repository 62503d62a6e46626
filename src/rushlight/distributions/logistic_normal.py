"""The logistic normal distribution: random probabilities from normal numbers."""

from __future__ import annotations

from typing import Any

from ..core.tensor import Tensor
from . import constraints
from .independent import Independent
from .normal import Normal
from .transformed_distribution import TransformedDistribution
from .transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Vectors of positive numbers that sum to 1, made from normal numbers by breaking a stick piece by piece.

    Args:
        loc, scale: of the normal numbers: (..., K - 1) for K parts.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> d = torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2))
        >>> d.sample().sum().round(decimals=3)
        tensor(1.)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, validate_args: bool | None = None
    ) -> None:
        base: Any = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    @property
    def _normal(self) -> Any:
        return (
            self.base_dist.base_dist if isinstance(self.base_dist, Independent) else self.base_dist
        )

    @property
    def loc(self) -> Tensor:
        return self._normal.loc

    @property
    def scale(self) -> Tensor:
        return self._normal.scale
