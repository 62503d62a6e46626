"""Student's t distribution."""  # noqa: N999

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size
from ..core.tensor import Tensor
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import broadcast_all, standard_normal

__all__ = ["StudentT"]


class StudentT(Distribution):
    """A normal number over the root of a chi-squared one, with `df` degrees of freedom.

    Args:
        df: degrees of freedom, positive.
        loc: the mode.
        scale: the width, positive.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> torch.distributions.StudentT(3.0).variance
        tensor(3.)
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

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

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = super().expand(batch_shape, _instance)
        new._chi2 = self._chi2.expand(new.batch_shape)
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc.masked_fill(self.df <= 1, math.nan)

    @property
    def mode(self) -> Tensor:
        return self.loc

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
