"""Distributions of vectors and matrices: normal vectors, covariances, correlations."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from ..base.dtypes import finfo
from ..base.shapes import Size, broadcast_shapes
from ..core.modes import no_grad
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from ..operators.create.filled import empty
from ..operators.create.ranges import arange
from ..operators.matrix.linalg_factor import cholesky
from ..operators.matrix.linalg_solve import cholesky_solve, solve_triangular
from . import constraints
from .distribution import Distribution, ExponentialFamily
from .gammas import Chi2
from .unit import Beta
from .utils import broadcast_all, fact, lazy_property, standard_normal

__all__ = ["LKJCholesky", "LowRankMultivariateNormal", "MultivariateNormal", "Wishart"]


def _precision_to_scale_tril(precision: Tensor) -> Tensor:
    """The Cholesky factor of the inverse, from that of the matrix turned end for end."""
    turned = cholesky(precision.flip(-2, -1))
    upper = turned.flip(-2, -1).mT
    unit = upper.new_ones(upper.shape[-1]).diag_embed().expand(upper.shape)
    return solve_triangular(upper, unit, upper=False)


# The lower Cholesky factor of the covariance matrix, from each of the matrices that it may be given by.
_FACTORS: dict[str, Callable[[Any], Any]] = {
    "covariance_matrix": cholesky,
    "precision_matrix": _precision_to_scale_tril,
    "scale_tril": lambda matrix: matrix,
}


def _one_of(covariance: Any, precision: Any, scale_tril: Any) -> tuple[str, Any]:
    """The matrix that was given, and what it is."""
    held = [(n, m) for n, m in zip(_FACTORS, (covariance, precision, scale_tril)) if m is not None]
    if len(held) != 1:
        raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
    return held[0]


def _check_matrix(name: str, matrix: Tensor) -> None:
    if matrix.dim() < 2:
        raise ValueError(f"{name} must be at least two-dimensional, with optional leading batch dimensions")


class MultivariateNormal(Distribution):
    """Normal vectors around `loc`, by covariance, its inverse, or its Cholesky factor.

    Args:
        loc: (..., D), the mean.
        covariance_matrix: (..., D, D); or
        precision_matrix: its inverse; or
        scale_tril: its lower Cholesky factor.

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
        name, matrix = _one_of(covariance_matrix, precision_matrix, scale_tril)
        _check_matrix(name, matrix)
        batch_shape = broadcast_shapes(matrix.shape[:-2], loc.shape[:-1])
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self.loc = loc.expand((*batch_shape, -1))
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        self._unbroadcasted_scale_tril = _FACTORS[name](matrix)

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

    mean = mode = fact(lambda self: self.loc)

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


class LowRankMultivariateNormal(Distribution):
    """Normal vectors around `loc` with covariance W W' + D, for W of few columns and a diagonal D.

    The determinant lemma and Woodbury's identity need a factor of one small matrix only, I + W' D^-1 W.

    Args:
        loc: (..., D), the mean.
        cov_factor: W, (..., D, few).
        cov_diag: the diagonal of D, (..., D), positive.

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

    def __init__(self, loc: Tensor, cov_factor: Tensor, cov_diag: Tensor, validate_args: bool | None = None) -> None:
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event = loc.shape[-1:]
        _check_matrix("cov_factor", cov_factor)
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

    mean = mode = fact(lambda self: self.loc)

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
        self._checked(value)
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
        raise ValueError(f"Incompatible batch shapes: loc, cov_factor, cov_diag have {shapes}") from error


def _capacitance(w: Tensor, d: Tensor) -> Tensor:
    """The Cholesky factor of I + W' D^-1 W."""
    small = (w.mT / d.unsqueeze(-2)) @ w
    return cholesky(small + small.new_ones(small.shape[-1]).diag_embed())


class Wishart(ExponentialFamily):
    """Matrices X'X of `df` normal rows X whose covariance is given, or its inverse, or its factor.

    Args:
        df: rows, more than D - 1.
        covariance_matrix: (..., D, D); or
        precision_matrix: its inverse; or
        scale_tril: its lower Cholesky factor.

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
        name, matrix = _one_of(covariance_matrix, precision_matrix, scale_tril)
        _check_matrix("scale_tril", matrix)
        size = matrix.shape[-1]
        df = df if isinstance(df, Tensor) else matrix.new_tensor(float(df))
        if bool((df <= size - 1).any()):
            raise ValueError(f"Value of df={df} expected to be greater than ndim - 1 = {size - 1}.")
        batch_shape = broadcast_shapes(df.shape, matrix.shape[:-2])
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand((*batch_shape, -1, -1)))
        self._factor = _FACTORS[name](matrix)
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

    mean = fact(lambda self: self.df[..., None, None] * self.covariance_matrix)

    @property
    def mode(self) -> Tensor:
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, math.nan)
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self) -> Tensor:
        v = self.covariance_matrix
        diagonal = v.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (v.square() + diagonal[..., :, None] * diagonal[..., None, :])

    def rsample(self, sample_shape: Sequence[int] = (), max_try_correction: int | None = None) -> Tensor:
        """Draws by Bartlett's decomposition; as in PyTorch, whose check is the wrong way round, sound draws are drawn anew."""
        sample = self._bartlett(sample_shape)
        again = self.support.check(sample)
        across = [-1 - i for i in range(len(self._batch_shape))]
        again = again.amax(across) if across else again
        if again.any():
            warnings.warn("Singular sample detected.", stacklevel=2)
            for _ in range(10 if max_try_correction is None else max_try_correction):
                new = self._bartlett(again[again].shape)
                sample[again] = new
                left = ~self.support.check(new)
                again[again.clone()] = left.amax(across) if across else left
                if not again.any():
                    break
        return sample

    def _bartlett(self, sample_shape: Sequence[int]) -> Tensor:
        """Chi-squared numbers beside normal ones."""
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
        self._checked(value)
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


class LKJCholesky(Distribution):
    """Cholesky factors of `dim` by `dim` correlation matrices; their density grows with det^(concentration - 1).

    Lewandowski, Kurowicka and Joe 2009; samples are drawn by their onion method, row by row.

    Args:
        dim: rows and columns, at least 2.
        concentration: positive; 1 makes all correlation matrices equally likely.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> factor = torch.distributions.LKJCholesky(3).sample()
        >>> (factor @ factor.T).diagonal().round(decimals=3)
        tensor([1., 1., 1.])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim: int, concentration: Tensor | float = 1.0, validate_args: bool | None = None) -> None:
        if dim < 2:
            raise ValueError(f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}.")
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
            normal = NAMESPACES["torch"]["randn"](self._extended_shape(sample_shape), **like).tril(-1)
            sphere = normal / normal.pow(2).sum(-1, keepdim=True).sqrt()
            sphere[..., 0, :] = 0.0  # the first row has no direction
            w = y.sqrt() * sphere
            rest = (1 - w.pow(2).sum(-1)).clamp(min=finfo(w.dtype).tiny).sqrt()
            return w + rest.diag_embed()

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
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
