"""The geometric distribution: failures before the first success."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import finfo
from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.loss.difference import binary_cross_entropy_with_logits
from . import constraints
from .distribution import Distribution, require
from .utils import (
    ProbsOrLogits,
    broadcast_all,
)

__all__ = ["Geometric"]


class Geometric(ProbsOrLogits, Distribution):
    """How many trials fail before one, of probability `probs`, succeeds.

    Args:
        probs: probabilities; or
        logits: their log odds.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> d = torch.distributions.Geometric(probs=0.25)
        >>> d.mean, d.log_prob(torch.tensor(0.0))
        (tensor(3.), tensor(-1.3863))
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.nonnegative_integer

    def __init__(
        self, probs: Any = None, logits: Any = None, validate_args: bool | None = None
    ) -> None:
        self._keep(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)
        if self._validate_args and probs is not None:
            what = f"parameter probs (Tensor of shape {tuple(self.probs.shape)}) of distribution"
            end = "to be positive but found invalid values:"
            require(self.probs > 0, self.probs, self, f"Expected {what}", end, wrong_only=True)

    @property
    def mean(self) -> Tensor:
        return 1.0 / self.probs - 1.0

    @property
    def mode(self) -> Tensor:
        return self.probs.new_zeros(self.probs.shape)

    @property
    def variance(self) -> Tensor:
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape: Any = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        tiny = finfo(self.probs.dtype).tiny
        with no_grad():
            u = self.probs.new_empty(shape).uniform_(tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        value, probs = broadcast_all(value, self.probs)
        probs = probs.clone()
        probs[(probs == 1) & (value == 0)] = 0
        return value * (-probs).log1p() + self.probs.log()

    def entropy(self) -> Tensor:
        nats = binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")
        return nats / self.probs
