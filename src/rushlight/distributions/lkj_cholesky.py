"""The LKJ distribution of correlation matrices, by their Cholesky factors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.dtypes import finfo
from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from ..operators.create.ranges import arange
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of `dim` by `dim` correlation matrices; their density grows with det^(concentration - 1).

    Lewandowski, Kurowicka and Joe 2009; samples are drawn by their onion method, row by row.

    Args:
        dim: rows and columns, at least 2.
        concentration: positive; 1 makes all correlation matrices equally likely.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> factor = torch.distributions.LKJCholesky(3).sample()
        >>> (factor @ factor.T).diagonal().round(decimals=3)
        tensor([1., 1., 1.])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(
        self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None
    ) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")  # fmt: skip
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.size(), Size((dim, dim)), validate_args)
        self._beta = _radii(dim, self.concentration)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._twin(_instance)
        batch = Size(batch_shape)
        new.dim = self.dim
        new.concentration = self.concentration.expand(batch)
        new._beta = self._beta.expand((*batch, self.dim))
        Distribution.__init__(new, batch, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            y = self._beta.sample(Size(sample_shape)).unsqueeze(-1)
            like = {"dtype": y.dtype, "device": y.device}
            normal = NAMESPACES["torch"]["randn"](self._extended_shape(sample_shape), **like).tril(
                -1
            )
            sphere = normal / normal.pow(2).sum(-1, keepdim=True).sqrt()
            sphere[..., 0, :] = 0.0  # the first row has no direction
            w = y.sqrt() * sphere
            rest = (1 - w.pow(2).sum(-1)).clamp(min=finfo(w.dtype).tiny).sqrt()
            return w + rest.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n, c = self.dim, self.concentration
        order = arange(2, n + 1, device=c.device)
        powers = 2 * (c - 1).unsqueeze(-1) + n - order
        density = (powers * value.diagonal(dim1=-1, dim2=-2)[..., 1:].log()).sum(-1)
        alpha = c + 0.5 * (n - 1)
        scale = 0.5 * (n - 1) * math.log(math.pi) + (alpha - 0.5).mvlgamma(n - 1)
        return density - (scale - alpha.lgamma() * (n - 1))


def _radii(dim: int, concentration: Tensor) -> Beta:
    """The distribution of the squared length of each row left of the diagonal."""
    steps = arange(dim, dtype=concentration.dtype, device=concentration.device) - 1
    steps = steps.clamp(min=0)
    around = concentration.unsqueeze(-1) + 0.5 * (dim - 2)
    return Beta(steps + 0.5, around - 0.5 * steps)
