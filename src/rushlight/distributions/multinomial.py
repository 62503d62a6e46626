"""The multinomial distribution: how often each class is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from . import constraints
from .binomial import Binomial
from .categorical import Categorical, OverCategories
from .utils import broadcast_all

__all__ = ["Multinomial"]


class Multinomial(OverCategories):
    """Counts along the last dim of `total_count` independent draws of a categorical.

    Args:
        total_count: how many draws.
        probs: weights along the last dimension, which are divided by their sum; or
        logits: their logarithms.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> torch.distributions.Multinomial(10, torch.tensor([1.0, 3.0])).mean
        tensor([2.5000, 7.5000])
    """

    arg_constraints = {"probs": constraints.simplex, "logits": constraints.real_vector}

    def __init__(
        self,
        total_count: int = 1,
        probs: Tensor | float | None = None,
        logits: Tensor | float | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if not isinstance(total_count, int):
            raise NotImplementedError("inhomogeneous total_count is not supported")
        self.total_count = total_count
        self._categorical = Categorical(probs, logits)
        self._binomial = Binomial(total_count, probs=self.probs)
        event_shape = self._categorical.param_shape[-1:]
        super().__init__(self._categorical.batch_shape, event_shape, validate_args=validate_args)

    @constraints.dependent_property(is_discrete=True, event_dim=1)
    def support(self) -> Any:  # type: ignore[override]
        return constraints.multinomial(self.total_count)

    @property
    def mean(self) -> Tensor:
        return self.probs * self.total_count

    @property
    def variance(self) -> Tensor:
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        sample_shape = Size(sample_shape)
        with no_grad():
            drawn = self._categorical.sample(Size((self.total_count,)) + sample_shape)
            drawn = drawn.permute(*range(1, drawn.dim()), 0)
            counts = self.probs.new_zeros(self._extended_shape(sample_shape))
            return counts.scatter_add_(-1, drawn, counts.new_ones(drawn.shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        logits, value = broadcast_all(self.logits, value)
        logits = logits.masked_fill((value == 0) & (logits == -float("inf")), 0)
        orders = (value.sum(-1) + 1).lgamma() - (value + 1).lgamma().sum(-1)
        return orders + (logits * value).sum(-1)

    def entropy(self) -> Tensor:
        from ..operators.create.from_data import tensor

        n = tensor(self.total_count, device=self.probs.device)
        values = self._binomial.enumerate_support(expand=False)[1:]
        weights = self._binomial.log_prob(values).exp()
        term = (weights * (values + 1).lgamma()).sum((0, -1))
        return n * self._categorical.entropy() - (n + 1.0).lgamma() + term
