"""Categorical distributions whose draws are one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.shapes import Size
from ..core.tensor import Tensor
from ..operators.create.ranges import eye
from . import constraints
from .categorical import Categorical, OverCategories

__all__ = ["OneHotCategorical", "OneHotCategoricalStraightThrough"]


class OneHotCategorical(OverCategories):
    """Vectors of K elements, all zero but one.

    Args:
        probs: weights along the last dimension, which are divided by their sum; or
        logits: their logarithms.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> d = torch.distributions.OneHotCategorical(torch.tensor([1.0, 3.0]))
        >>> d.mean, d.log_prob(torch.tensor([0.0, 1.0]))
        (tensor([0.2500, 0.7500]), tensor(-0.2877))
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}
    support = constraints.one_hot
    has_enumerate_support = True

    def __init__(
        self,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self._categorical = Categorical(probs, logits)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self._categorical.probs

    @property
    def mode(self) -> Tensor:
        return _one_hot(self._categorical.mode, self._categorical)

    @property
    def variance(self) -> Tensor:
        return self._categorical.probs * (1 - self._categorical.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return _one_hot(self._categorical.sample(Size(sample_shape)), self._categorical)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self) -> Tensor:
        return self._categorical.entropy()

    def enumerate_support(self, expand: bool = True) -> Tensor:
        n = self._event_shape[0]
        values = eye(n, dtype=self._param.dtype, device=self._param.device)
        values = values.view((n,) + (1,) * len(self._batch_shape) + (n,))
        return values.expand((n, *self._batch_shape, n)) if expand else values


class OneHotCategoricalStraightThrough(OneHotCategorical):
    """One-hot draws whose gradient is that of the probabilities (Bengio et al. 2013).

    Args:
        probs: weights along the last dimension, which are divided by their sum; or
        logits: their logarithms.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> d = torch.distributions.OneHotCategoricalStraightThrough(torch.tensor([1.0, 3.0], requires_grad=True))
        >>> d.rsample().requires_grad
        True
    """

    has_rsample = True

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        probs = self._categorical.probs
        return self.sample(sample_shape) + (probs - probs.detach())


def _one_hot(index: Tensor, categorical: Categorical) -> Tensor:
    probs = categorical.probs
    hot = probs.new_zeros(index.shape + (categorical._num_events,))
    return hot.scatter_(-1, index.unsqueeze(-1), 1)
