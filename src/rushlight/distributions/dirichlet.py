"""The Dirichlet distribution: random probabilities."""

from __future__ import annotations

from collections.abc import Sequence

from ..base.shapes import Size
from ..core.tensor import Tensor
from ..operators.random.gamma_draws import _sample_dirichlet
from . import constraints
from .exp_family import ExponentialFamily

__all__ = ["Dirichlet"]


class Dirichlet(ExponentialFamily):
    """Vectors of positive numbers that sum to 1, along the last dimension.

    Args:
        concentration: (..., K), positive.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> d = torch.distributions.Dirichlet(torch.tensor([1.0, 1.0, 2.0]))
        >>> d.mean, d.event_shape
        (tensor([0.2500, 0.2500, 0.5000]), torch.Size([3]))
    """

    arg_constraints = {"concentration": constraints.independent(constraints.positive, 1)}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, concentration: Tensor, validate_args: bool | None = None) -> None:
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        shape = concentration.shape
        super().__init__(shape[:-1], shape[-1:], validate_args=validate_args)

    @property
    def mean(self) -> Tensor:
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def mode(self) -> Tensor:
        less = (self.concentration - 1).clamp(min=0.0)
        mode = less / less.sum(-1, True)
        at_corner = (self.concentration < 1).all(dim=-1)
        corner = self.concentration.new_zeros(mode.shape)
        corner.scatter_(-1, mode.argmax(dim=-1, keepdim=True), 1.0)
        return corner.where(at_corner.unsqueeze(-1), mode)

    @property
    def variance(self) -> Tensor:
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(Size(sample_shape))
        return _sample_dirichlet(self.concentration.expand(shape))

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        a = self.concentration
        return (a - 1.0).xlogy(value).sum(-1) + a.sum(-1).lgamma() - a.lgamma().sum(-1)

    def entropy(self) -> Tensor:
        a = self.concentration
        k, total = a.size(-1), a.sum(-1)
        nats = a.lgamma().sum(-1) - total.lgamma() - (k - total) * total.digamma()
        return nats - ((a - 1.0) * a.digamma()).sum(-1)

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.concentration,)

    def _log_normalizer(self, x: Tensor) -> Tensor:  # type: ignore[override]
        return x.lgamma().sum(-1) - x.sum(-1).lgamma()
