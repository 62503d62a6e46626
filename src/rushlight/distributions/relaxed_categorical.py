"""Relaxed one-hot vectors: categorical distributions made continuous (Gumbel-softmax)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size
from ..core.tensor import Tensor
from . import constraints
from .categorical import Categorical, OverCategories
from .transformed_distribution import TransformedDistribution
from .transforms import ExpTransform
from .utils import broadcast_all, clamp_probs, standard_uniform

__all__ = ["ExpRelaxedCategorical", "RelaxedOneHotCategorical"]


class ExpRelaxedCategorical(OverCategories):
    """The logarithms of a relaxed one-hot vector (Maddison, Mnih and Teh 2017)."""

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.real_vector  # in truth those whose logsumexp is zero
    has_rsample = True

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        self.temperature = temperature
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        u = clamp_probs(standard_uniform(self._extended_shape(sample_shape), self.logits))
        scores = (self.logits - (-u.log()).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        k = self._categorical._num_events
        logits, value = broadcast_all(self.logits, value)
        t = self.temperature
        log_t = t.log() if isinstance(t, Tensor) else math.log(t)
        score = logits - value.mul(t)
        score = (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1)
        return score + (math.lgamma(k) + log_t * (k - 1))


class RelaxedOneHotCategorical(TransformedDistribution):
    """Vectors of positive numbers that sum to 1, nearly one-hot when `temperature` is low.

    Args:
        temperature: positive.
        probs: weights along the last dimension, which are divided by their sum; or
        logits: their logarithms.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> d = torch.distributions.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([1.0, 3.0]))
        >>> d.sample().sum().round(decimals=3)
        tensor(1.)
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.simplex
    has_rsample = True  # type: ignore[assignment]

    def __init__(
        self,
        temperature: Tensor | float,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        base = ExpRelaxedCategorical(temperature, probs, logits, validate_args=validate_args)
        super().__init__(base, ExpTransform(), validate_args=validate_args)

    @property
    def temperature(self) -> Any:
        return self.base_dist.temperature

    @property
    def logits(self) -> Tensor:
        return self.base_dist.logits

    @property
    def probs(self) -> Tensor:
        return self.base_dist.probs
