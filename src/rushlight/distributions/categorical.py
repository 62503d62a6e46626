"""The categorical distribution: one of several classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.dtypes import finfo
from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import ProbsOrLogits, given_one

__all__ = ["Categorical"]


class Categorical(ProbsOrLogits, Distribution):
    """Indices 0 .. K-1, each with its own probability.

    Args:
        probs: weights along the last dimension, which are divided by their sum; or
        logits: their logarithms.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> d = torch.distributions.Categorical(torch.tensor([1.0, 1.0, 2.0]))
        >>> d.probs, d.entropy()
        (tensor([0.2500, 0.2500, 0.5000]), tensor(1.0397))
        >>> _ = torch.manual_seed(0)
        >>> d.sample((5,))
        tensor([2, 2, 1, 2, 2])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    has_enumerate_support = True
    _is_binary = False

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        validate_args: bool | None = None,
    ) -> None:
        if given_one("probs", "logits", probs, logits):
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
        else:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
        self._num_events = self._param.size(-1)
        super().__init__(self._param.shape[:-1], validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=0)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.integer_interval(0, self._num_events - 1)

    @property
    def mean(self) -> Tensor:
        return self._param.new_full(self._extended_shape(), float("nan"))

    @property
    def mode(self) -> Tensor:
        return self.probs.argmax(dim=-1)

    @property
    def variance(self) -> Tensor:
        return self._param.new_full(self._extended_shape(), float("nan"))

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        rows = self.probs.detach().reshape(-1, self._num_events)
        with no_grad():
            drawn = rows.multinomial(sample_shape.numel(), True).T
        return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        from ..operators.shape.expand import broadcast_tensors

        self._checked(value)
        index, logits = broadcast_tensors(value.long().unsqueeze(-1), self.logits)
        return logits.gather(-1, index[..., :1]).squeeze(-1)

    def entropy(self) -> Tensor:
        logits = self.logits.clamp(min=finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        from ..operators.create.ranges import arange

        n = self._num_events
        values = arange(n, device=self._param.device).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values


class OverCategories(Distribution):
    """A distribution whose parameters are those of a Categorical inside of it."""

    _categorical: Categorical

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._twin(_instance)
        new._categorical = self._categorical.expand(Size(batch_shape))
        new._batch_shape = Size(batch_shape)
        return new

    @property
    def logits(self) -> Tensor:
        return self._categorical.logits

    @property
    def probs(self) -> Tensor:
        return self._categorical.probs

    @property
    def _param(self) -> Tensor:
        return self._categorical._param

    @property
    def param_shape(self) -> Size:
        return self._categorical.param_shape
