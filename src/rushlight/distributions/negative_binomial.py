"""The negative binomial distribution."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.pointwise.activation_smooth import logsigmoid
from ..operators.random.sampling import poisson
from . import constraints
from .distribution import Distribution
from .gamma import Gamma
from .utils import (
    ProbsOrLogits,
)

__all__ = ["NegativeBinomial"]


class NegativeBinomial(ProbsOrLogits, Distribution):
    """Successes, each of probability `probs`, before `total_count` failures have come.

    Args:
        total_count: failures that end the trials.
        probs: probabilities; or
        logits: their log odds.
        validate_args: check parameters and values; on unless Python runs with -O.

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
        self,
        total_count: Any,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (self.total_count,) = self._keep(probs, logits, total_count)
        super().__init__(self.total_count.shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.logits.exp()

    @property
    def mode(self) -> Tensor:
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self) -> Tensor:
        return self.mean / (-self.logits).sigmoid()

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
