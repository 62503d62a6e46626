"""Transforms that see several numbers at once: onto simplices, into matrices, piece by piece."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.dtypes import finfo
from ..core.tensor import Tensor
from ..operators.image.padding import pad
from ..operators.pointwise.activation_smooth import softplus
from ..operators.shape.join import cat, stack
from . import constraints
from ._compose import PlainMap, Transform
from ._elementwise import SigmoidTransform


class SoftmaxTransform(PlainMap):
    """y = softmax(x) along the last dimension; several x have the same y, so it has no `log_abs_det_jacobian`.

    Args:
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

    Example:
        >>> torch.distributions.SoftmaxTransform()(torch.zeros(4))
        tensor([0.2500, 0.2500, 0.2500, 0.2500])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = False

    def _call(self, x: Tensor) -> Tensor:
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def forward_shape(self, shape: Sequence[int]) -> Any:
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        return shape

    inverse_shape = forward_shape


class StickBreakingTransform(PlainMap):
    """From K - 1 real numbers to K positive ones that sum to 1, breaking a stick piece by piece.

    Args:
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

    Example:
        >>> torch.distributions.StickBreakingTransform()(torch.zeros(2))
        tensor([0.3333, 0.3333, 0.3333])
    """

    domain = constraints.real_vector
    codomain = constraints.simplex

    def _call(self, x: Tensor) -> Tensor:
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        z = SigmoidTransform()._call(x - offset.log())
        left = (1 - z).cumprod(-1)
        return pad(z, [0, 1], value=1) * pad(left, [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        most = y[..., :-1]
        offset = y.shape[-1] - most.new_ones(most.shape[-1]).cumsum(-1)
        rest = (1 - most.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return most.log() - rest.log() + offset.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        offset = x.shape[-1] + 1 - x.new_ones(x.shape[-1]).cumsum(-1)
        x = x - offset.log()
        return (-x - softplus(-x) + y[..., :-1].log()).sum(-1)  # -x - softplus(-x): log sigmoid(-x)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return (*shape[:-1], shape[-1] + 1)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return (*shape[:-1], shape[-1] - 1)


class LowerCholeskyTransform(PlainMap):
    """From any square matrix to a lower triangular one with positive diagonal.

    Args:
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

    Example:
        >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def _call(self, x: Tensor) -> Tensor:
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(PlainMap):
    """From any square matrix to a positive definite one.

    Args:
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

    Example:
        >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
        tensor([[1., 0.],
                [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def _call(self, x: Tensor) -> Tensor:
        lower = LowerCholeskyTransform()(x)
        return lower @ lower.mT

    def _inverse(self, y: Tensor) -> Tensor:
        from ..operators.matrix.linalg_factor import cholesky

        return LowerCholeskyTransform().inv(cholesky(y))


class CorrCholeskyTransform(PlainMap):
    """From D(D-1)/2 real numbers to the Cholesky factor of a D by D correlation matrix.

    Args:
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

    Example:
        >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(3))
        tensor([[1., 0., 0.],
                [0., 1., 0.],
                [0., 0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky

    def _call(self, x: Tensor) -> Tensor:
        x = x.tanh()
        eps = finfo(x.dtype).eps
        r = _into_lower(x.clamp(min=-1 + eps, max=1 - eps))
        left = (1 - r**2).sqrt().cumprod(-1)
        unit = r + x.new_ones(r.shape[-1]).diag_embed()
        return unit * pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y: Tensor) -> Tensor:
        left = pad((1 - (y * y).cumsum(-1))[..., :-1], [1, 0], value=1)
        t = _out_of_lower(y) / _out_of_lower(left).sqrt()
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        left = 1 - (y * y).cumsum(-1)
        stretched = 0.5 * _out_of_lower(left.log(), -2).sum(-1)
        tanh = -2 * (x + softplus(-2 * x) - math.log(2.0)).sum(-1)
        return stretched + tanh

    def forward_shape(self, shape: Sequence[int]) -> Any:
        d = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if d * (d - 1) // 2 != shape[-1]:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return (*shape[:-1], d, d)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        d = shape[-1]
        return (*shape[:-2], d * (d - 1) // 2)


def _into_lower(x: Tensor) -> Tensor:
    """A matrix, zero but for `x` row by row below its diagonal."""
    d = round((0.25 + 2 * x.shape[-1]) ** 0.5 + 0.5)
    rows = [(i, j) for i in range(d) for j in range(i)]
    flat = x.new_zeros(x.shape[:-1] + (d * d,))
    at = [i * d + j for i, j in rows]
    flat[..., at] = x
    return flat.reshape(x.shape[:-1] + (d, d))


def _out_of_lower(m: Tensor, diagonal: int = -1) -> Tensor:
    d = m.shape[-1]
    at = [i * d + j for i in range(d) for j in range(i + diagonal + 1)]
    return m.reshape(m.shape[:-2] + (d * d,))[..., at]


class ReshapeTransform(Transform):
    """The same numbers in another event shape.

    Args:
        in_shape, out_shape: event shapes with equally many elements.
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

    Example:
        >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.arange(4.0))
        tensor([[0., 1.],
                [2., 3.]])
    """

    bijective = True

    def __init__(
        self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0
    ) -> None:
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.in_shape))

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, len(self.out_shape))

    def _call(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return tuple(shape[: len(shape) - len(self.in_shape)]) + self.out_shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return tuple(shape[: len(shape) - len(self.out_shape)]) + self.in_shape


class CatTransform(Transform):
    """Several maps, each for its own length along `dim`.

    Args:
        tseq: the maps.
        dim: along which the input is cut.
        lengths: of the pieces; 1 each if not given.
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

    Example:
        >>> t = torch.distributions.CatTransform([torch.distributions.ExpTransform(), torch.distributions.AffineTransform(0.0, 2.0)])
        >>> t(torch.tensor([0.0, 3.0]))
        tensor([1., 6.])
    """

    def __init__(
        self,
        tseq: Sequence[Transform],
        dim: int = 0,
        lengths: Sequence[int] | None = None,
        cache_size: int = 0,
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        self.dim = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)

    def _parts(self, x: Tensor) -> Any:
        return x.split(self.lengths, self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return cat([t(p) for t, p in zip(self.transforms, self._parts(x))], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return cat([t.inv(p) for t, p in zip(self.transforms, self._parts(y))], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        triples = zip(self.transforms, self._parts(x), self._parts(y))
        return cat([t.log_abs_det_jacobian(a, b) for t, a, b in triples], self.dim)


class StackTransform(Transform):
    """Several maps, one for each slice along `dim`.

    Args:
        tseq: the maps.
        dim: along which the input is cut.
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

    Example:
        >>> t = torch.distributions.StackTransform([torch.distributions.ExpTransform(), torch.distributions.AffineTransform(0.0, 2.0)])
        >>> t(torch.tensor([0.0, 3.0]))
        tensor([1., 6.])
    """

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.dim = dim

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.stack([t.codomain for t in self.transforms], self.dim)

    def _call(self, x: Tensor) -> Tensor:
        return stack([t(p) for t, p in zip(self.transforms, x.unbind(self.dim))], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return stack([t.inv(p) for t, p in zip(self.transforms, y.unbind(self.dim))], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        triples = zip(self.transforms, x.unbind(self.dim), y.unbind(self.dim))
        return stack([t.log_abs_det_jacobian(a, b) for t, a, b in triples], self.dim)
