"""The multivariate normal distribution whose covariance is a few columns and a diagonal."""

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

__all__ = ["LowRankMultivariateNormal"]


class LowRankMultivariateNormal(Distribution):
    """Normal vectors around `loc` with covariance W W' + D, for W of few columns and a diagonal D.

    The determinant lemma and Woodbury's identity need a factor of one small matrix only, I + W' D^-1 W.

    Args:
        loc: (..., D), the mean.
        cov_factor: W, (..., D, few).
        cov_diag: the diagonal of D, (..., D), positive.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> d = torch.distributions.LowRankMultivariateNormal(torch.zeros(2), torch.ones(2, 1), torch.ones(2))
        >>> d.covariance_matrix
        tensor([[2., 1.],
                [1., 2.]])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(
        self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None
    ) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event:
            raise ValueError(f"cov_factor must be a batch of matrices with shape {event[0]} x m")
        if cov_diag.shape[-1:] != event:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event}")
        batch = _joint(loc.shape[:-1], cov_factor.shape[:-2], cov_diag.shape[:-1])
        self.loc = loc.expand((*batch, *event))
        self.cov_diag = cov_diag.expand((*batch, *event))
        self.cov_factor = cov_factor.expand((*batch, *cov_factor.shape[-2:]))
        self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag = cov_factor, cov_diag
        self._capacitance_tril = _capacitance(cov_factor, cov_diag)
        super().__init__(Size(batch), event, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._twin(_instance)
        batch = Size(batch_shape)
        new.loc = self.loc.expand(batch + self.event_shape)
        new.cov_diag = self.cov_diag.expand(batch + self.event_shape)
        new.cov_factor = self.cov_factor.expand((*batch, *self.cov_factor.shape[-2:]))
        for name in ("_unbroadcasted_cov_factor", "_unbroadcasted_cov_diag", "_capacitance_tril"):
            setattr(new, name, getattr(self, name))
        Distribution.__init__(new, batch, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def mode(self) -> Tensor:
        return self.loc

    @lazy_property
    def variance(self) -> Tensor:
        """The diagonal of the covariance matrix."""
        found = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return found.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def covariance_matrix(self) -> Tensor:
        """The covariance matrix."""
        w = self._unbroadcasted_cov_factor
        found = w @ w.mT + self._unbroadcasted_cov_diag.diag_embed()
        return found.expand(self._batch_shape + self._event_shape + self._event_shape)

    @lazy_property
    def scale_tril(self) -> Tensor:
        """The lower Cholesky factor of the covariance matrix."""
        return cholesky(self.covariance_matrix)

    @lazy_property
    def precision_matrix(self) -> Tensor:
        """The inverse of the covariance matrix."""
        d = self._unbroadcasted_cov_diag
        scaled = self._unbroadcasted_cov_factor.mT / d.unsqueeze(-2)
        a = solve_triangular(self._capacitance_tril, scaled, upper=False)
        found = d.reciprocal().diag_embed() - a.mT @ a
        return found.expand(self._batch_shape + self._event_shape + self._event_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        shape = self._extended_shape(sample_shape)
        few = standard_normal((*shape[:-1], self.cov_factor.shape[-1]), self.loc)
        each = standard_normal(shape, self.loc)
        along = (self._unbroadcasted_cov_factor @ few.unsqueeze(-1)).squeeze(-1)
        return self.loc + along + self._unbroadcasted_cov_diag.sqrt() * each

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        off = value - self.loc
        d = self._unbroadcasted_cov_diag
        along = (self._unbroadcasted_cov_factor.mT @ (off / d).unsqueeze(-1)).squeeze(-1)
        factor = self._capacitance_tril.expand((*along.shape[:-1], -1, -1))
        small = solve_triangular(factor, along.unsqueeze(-1), upper=False).squeeze(-1)
        distance = (off.pow(2) / d).sum(-1) - small.pow(2).sum(-1)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_det() + distance)

    def entropy(self) -> Tensor:
        found = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_det())
        return found.expand(self._batch_shape)

    def _log_det(self) -> Tensor:
        small = 2 * self._capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return small + self._unbroadcasted_cov_diag.log().sum(-1)


def _joint(*shapes: Sequence[int]) -> Any:
    try:
        return broadcast_shapes(*shapes)
    except RuntimeError as error:
        raise ValueError(f"Incompatible batch shapes: loc, cov_factor, cov_diag have {shapes}") from error  # fmt: skip


def _capacitance(w: Tensor, d: Tensor) -> Tensor:
    """The Cholesky factor of I + W' D^-1 W."""
    small = (w.mT / d.unsqueeze(-2)) @ w
    return cholesky(small + small.new_ones(small.shape[-1]).diag_embed())
