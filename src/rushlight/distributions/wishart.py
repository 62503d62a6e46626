"""The Wishart distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size, broadcast_shapes
from ..core.tensor import Tensor
from ..operators.create.filled import empty
from ..operators.create.ranges import arange
from ..operators.matrix.linalg_factor import cholesky
from ..operators.matrix.linalg_solve import cholesky_solve
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .multivariate_normal import _precision_to_scale_tril
from .utils import lazy_property, standard_normal

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """Matrices X'X of `df` normal rows X whose covariance is given, or its inverse, or its factor.

    Args:
        df: rows, more than D - 1.
        covariance_matrix: (..., D, D); or
        precision_matrix: its inverse; or
        scale_tril: its lower Cholesky factor.
        validate_args: check parameters and values; on unless Python runs with -O.

    Raises:
        ValueError: if not exactly one of the three matrices is given.

    Example:
        >>> torch.distributions.Wishart(torch.tensor(3.0), torch.eye(2)).mean
        tensor([[3., 0.],
                [0., 3.]])
    """

    arg_constraints = {
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
        "df": constraints.greater_than(0),
    }
    support = constraints.positive_definite
    has_rsample = True

    def __init__(
        self,
        df: Tensor | float,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        given = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        held = [(name, m) for name, m in given.items() if m is not None]
        if len(held) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = held
        if matrix.dim() < 2:
            raise ValueError(
                "scale_tril must be at least two-dimensional, with optional leading batch dimensions"
            )
        size = matrix.shape[-1]
        df = df if isinstance(df, Tensor) else matrix.new_tensor(float(df))
        if bool((df <= size - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        batch_shape = broadcast_shapes(df.shape, matrix.shape[:-2])
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self._factor = (
            matrix
            if name == "scale_tril"
            else cholesky(matrix)
            if name == "covariance_matrix"
            else _precision_to_scale_tril(matrix)
        )
        super().__init__(batch_shape, matrix.shape[-2:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._twin(_instance)
        size = (*batch_shape, *self.event_shape)
        new._factor = self._factor.expand(size)
        new.scale_tril = new._factor
        new.df = self.df.expand(Size(batch_shape))
        Distribution.__init__(new, Size(batch_shape), self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        return self._factor.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        return (self._factor @ self._factor.mT).expand(self._batch_shape + self._event_shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        n = self._event_shape[-1]
        one = empty(n, n, dtype=self._factor.dtype, device=self._factor.device).zero_()
        one.diagonal().fill_(1.0)
        return cholesky_solve(one, self._factor).expand(self._batch_shape + self._event_shape)

    @property
    def mean(self) -> Tensor:
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v.square() + diagonal[..., :, None] * diagonal[..., None, :])  # fmt: skip

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws by Bartlett's decomposition: chi-squared numbers beside normal ones."""
        n = self._event_shape[-1]
        shape = Size(sample_shape) + self._batch_shape
        steps = arange(n, dtype=self._factor.dtype, device=self._factor.device)
        chi = Chi2(self.df.unsqueeze(-1) - steps).rsample(Size(sample_shape))
        below = standard_normal((*shape, n * (n - 1) // 2), self._factor)
        noise = chi.sqrt().diag_embed()
        i, j = [[r for r in range(n) for c in range(r)], [c for r in range(n) for c in range(r)]]
        if i:
            noise[..., i, j] = below
        chol = self._factor @ noise
        return chol @ chol.mT

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        n = self._event_shape[-1]
        nu = self.df
        log_det = self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        solved = cholesky_solve(value, self._factor).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (
            -nu * (n * math.log(2.0) / 2 + log_det)
            - (nu / 2).mvlgamma(n)
            + (nu - n - 1) / 2 * value.slogdet()[1]
            - solved / 2
        )

    def entropy(self) -> Tensor:
        """The differential entropy."""
        n = self._event_shape[-1]
        half = self.df / 2
        log_det = self._factor.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        steps = arange(n, dtype=self._factor.dtype, device=self._factor.device) / 2
        slope = (half.unsqueeze(-1) - steps).digamma().sum(-1)  # of mvlgamma
        scale = (n + 1) * (n * math.log(2.0) / 2 + log_det) + half.mvlgamma(n)
        return scale - (self.df - n - 1) / 2 * slope + half * n

    @property
    def _natural_params(self) -> tuple[Tensor, Tensor]:
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        x, y = natural_params
        n = self._event_shape[-1]
        half = y + (n + 1) / 2
        return half * (math.log(2.0) * n - (-2 * x).slogdet()[1]) + half.mvlgamma(n)
