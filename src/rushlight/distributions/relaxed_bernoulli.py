"""Relaxed coins: Bernoulli distributions made continuous."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size
from ..core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .transformed_distribution import TransformedDistribution
from .transforms import SigmoidTransform
from .utils import (
    ProbsOrLogits,
    broadcast_all,
    clamp_probs,
    standard_uniform,
)

__all__ = ["LogitRelaxedBernoulli", "RelaxedBernoulli"]


class LogitRelaxedBernoulli(ProbsOrLogits, Distribution):
    """The log odds of a relaxed coin (Maddison, Mnih and Teh 2017)."""

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.real

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        self.temperature = temperature
        self._keep(probs, logits)
        super().__init__(self._param.shape, validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        p = clamp_probs(self.probs.expand(shape))
        u = clamp_probs(standard_uniform(shape, p))
        return (u.log() - (-u).log1p() + p.log() - (-p).log1p()) / self.temperature

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        off = logits - value.mul(self.temperature)
        scale = self.temperature.log() if isinstance(self.temperature, Tensor) else _log(self)
        return scale + off - 2 * off.exp().log1p()


def _log(self: Any) -> float:
    import math

    return math.log(self.temperature)


class RelaxedBernoulli(TransformedDistribution):
    """Numbers of (0, 1), near 0 or 1 when `temperature` is low, with gradients of the draw.

    Args:
        temperature: positive.
        probs: probabilities; or
        logits: their log odds.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> d = torch.distributions.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor(0.5, requires_grad=True))
        >>> d.rsample().requires_grad
        True
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = LogitRelaxedBernoulli(temperature, probs, logits)
        super().__init__(base, SigmoidTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs
