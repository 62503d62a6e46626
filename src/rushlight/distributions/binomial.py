"""The binomial distribution: successes among independent trials."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.pointwise.activation_smooth import softplus
from ..operators.random.gamma_draws import binomial
from . import constraints
from .distribution import Distribution
from .utils import (
    ProbsOrLogits,
)

__all__ = ["Binomial"]


class Binomial(ProbsOrLogits, Distribution):
    """How many of `total_count` trials succeed, each with probability `probs`.

    Args:
        total_count: trials.
        probs: probabilities; or
        logits: their log odds.
        validate_args: check parameters and values; on unless Python runs with -O.

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
        self,
        total_count: Any = 1,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        (self.total_count,) = self._keep(probs, logits, total_count)
        super().__init__(self.total_count.shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.integer_interval(0, self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.total_count * self.probs

    @property
    def mode(self) -> Tensor:
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

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
            raise NotImplementedError(
                "Inhomogeneous total count not supported by `enumerate_support`."
            )
        values = arange(1 + total, dtype=self._param.dtype, device=self._param.device)
        values = values.view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values
