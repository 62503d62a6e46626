"""The multivariate normal distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size, broadcast_shapes
from ..core.tensor import Tensor
from ..operators.matrix.linalg_factor import cholesky
from ..operators.matrix.linalg_solve import solve_triangular
from . import constraints
from .distribution import Distribution
from .utils import lazy_property, standard_normal

__all__ = ["MultivariateNormal"]

_FORMS = ("covariance_matrix", "scale_tril", "precision_matrix")


class MultivariateNormal(Distribution):
    """Normal vectors around `loc`, by covariance, its inverse, or its Cholesky factor.

    Args:
        loc: (..., D), the mean.
        covariance_matrix: (..., D, D); or
        precision_matrix: its inverse; or
        scale_tril: its lower Cholesky factor.
        validate_args: check parameters and values; on unless Python runs with -O.

    Raises:
        ValueError: if not exactly one of the three matrices is given.

    Example:
        >>> d = torch.distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
        >>> d.log_prob(torch.zeros(2)), d.entropy()
        (tensor(-1.8379), tensor(2.8379))
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self,
        loc: Tensor,
        covariance_matrix: Tensor | None = None,
        precision_matrix: Tensor | None = None,
        scale_tril: Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        given = {
            "covariance_matrix": covariance_matrix,
            "scale_tril": scale_tril,
            "precision_matrix": precision_matrix,
        }
        held = [(name, m) for name, m in given.items() if m is not None]
        if len(held) != 1:
            raise ValueError(
                "Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified."
            )
        ((name, matrix),) = held
        if matrix.dim() < 2:
            raise ValueError(
                f"{name} must be at least two-dimensional, with optional leading batch dimensions"
            )
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        if name == "scale_tril":
            self._unbroadcasted_scale_tril = matrix
        elif name == "covariance_matrix":
            self._unbroadcasted_scale_tril = cholesky(matrix)
        else:
            self._unbroadcasted_scale_tril = _precision_to_scale_tril(matrix)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._twin(_instance)
        batch, event = Size(batch_shape), self.event_shape
        new.loc = self.loc.expand(batch + event)
        for name in _FORMS:
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(batch + event + event))
        new._batch_shape = batch
        return new

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        shape = self._batch_shape + self._event_shape + self._event_shape
        return self._unbroadcasted_scale_tril.expand(shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        lower = self._unbroadcasted_scale_tril
        shape = self._batch_shape + self._event_shape + self._event_shape
        return (lower @ lower.mT).expand(shape)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        shape = self._batch_shape + self._event_shape + self._event_shape
        return self._unbroadcasted_scale_tril.cholesky_inverse().expand(shape)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        squares = self._unbroadcasted_scale_tril.pow(2).sum(-1)
        return squares.expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        z = standard_normal(self._extended_shape(sample_shape), self.loc)
        return self.loc + (self._unbroadcasted_scale_tril @ z.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        lower = self._unbroadcasted_scale_tril
        distance = mahalanobis(lower, value - self.loc)
        half_log_det = lower.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + distance) - half_log_det

    def entropy(self) -> Tensor:
        half_log_det = self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        nats = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det
        return nats.expand(self._batch_shape) if len(self._batch_shape) else nats


def mahalanobis(lower: Tensor, x: Tensor) -> Tensor:
    """x' (L L')^-1 x, for `x` with batch dims of its own."""
    z = solve_triangular(lower, x.unsqueeze(-1), upper=False).squeeze(-1)
    return z.pow(2).sum(-1)


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse, from that of the matrix turned end for end."""
    turned = cholesky(precision.flip(-2, -1))
    upper = turned.flip(-2, -1).mT
    unit = upper.new_ones(upper.shape[-1]).diag_embed().expand(upper.shape)
    return solve_triangular(upper, unit, upper=False)
