"""`torch.distributions.transforms`: the maps between random variables by name."""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence
from typing import Any

from ..base.dtypes import finfo
from ..core.tensor import Tensor
from ..operators.image.padding import pad
from ..operators.pointwise.activation_smooth import softplus
from ..operators.shape.join import cat, stack
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, fact, sum_rightmost


class Transform:
    """A map `y = t(x)` with `t.inv` and `log_abs_det_jacobian(x, y)`.

    Example:
        >>> t = torch.distributions.ExpTransform()
        >>> y = t(torch.tensor(2.0))
        >>> t.inv(y), t.log_abs_det_jacobian(torch.tensor(2.0), y)
        (tensor(2.), tensor(2.))
    """

    bijective = False
    domain: Any
    codomain: Any

    def __init__(self, cache_size: int = 0) -> None:
        if cache_size not in (0, 1):
            raise ValueError("cache_size must be 0 or 1")
        self._cache_size = cache_size
        self._cached_x_y: tuple[Any, Any] = (None, None)
        self._inv: Any = None
        super().__init__()  # of a class beside this one, such as a Module

    @property
    def event_dim(self) -> int:
        """How many of the last dimensions are one event."""
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError("Please use either .domain.event_dim or .codomain.event_dim")

    @property
    def inv(self) -> Transform:
        """The inverse map; its own inverse is this very object."""
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = _InverseTransform(self)
            self._inv = weakref.ref(inverse)
        return inverse

    @property
    def sign(self) -> Any:
        """1 where y grows with x, -1 where it falls."""
        raise NotImplementedError

    def with_cache(self, cache_size: int = 1) -> Any:
        """This map, remembering the last pair it mapped."""
        if self._cache_size == cache_size:
            return self
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__)
        Transform.__init__(twin, cache_size)
        return twin

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._call(x)
        held_x, held_y = self._cached_x_y
        if x is held_x:
            return held_y
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size == 0:
            return self._inverse(y)
        held_x, held_y = self._cached_x_y
        if y is held_y:
            return held_x
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """log |dy/dx| at `x`, where `y = t(x)`."""
        raise NotImplementedError

    def forward_shape(self, shape: Sequence[int]) -> Any:
        """The shape of y for an x of `shape`."""
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        """The shape of x for a y of `shape`."""
        return shape

    def __repr__(self) -> str:
        return type(self).__name__ + "()"


class _InverseTransform(Transform):
    """Another map turned round."""

    def __init__(self, transform: Transform) -> None:
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    domain = fact(lambda self: self._inv.codomain)
    codomain = fact(lambda self: self._inv.domain)
    bijective = fact(lambda self: self._inv.bijective)
    sign = fact(lambda self: self._inv.sign)
    inv = fact(lambda self: self._inv)

    def with_cache(self, cache_size: int = 1) -> Any:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = object.__hash__

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def _inv_call(self, y: Tensor) -> Tensor:
        return self._inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"


class ComposeTransform(Transform):
    """Several maps, the first applied first.

    Args:
        parts: the maps.

    Example:
        >>> t = torch.distributions.ComposeTransform([torch.distributions.AffineTransform(1.0, 2.0), torch.distributions.ExpTransform()])
        >>> t(torch.tensor(-0.5))
        tensor(1.)
    """

    def __init__(self, parts: Sequence[Transform], cache_size: int = 0) -> None:
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = list(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = object.__hash__

    @property
    def domain(self) -> Any:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        domain = self.parts[0].domain
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim += part.domain.event_dim - part.codomain.event_dim
            event_dim = max(event_dim, part.domain.event_dim)
        extra = event_dim - domain.event_dim
        return constraints.independent(domain, extra) if extra else domain

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        if not self.parts:
            return constraints.real
        codomain = self.parts[-1].codomain
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim += part.codomain.event_dim - part.domain.event_dim
            event_dim = max(event_dim, part.codomain.event_dim)
        extra = event_dim - codomain.event_dim
        return constraints.independent(codomain, extra) if extra else codomain

    bijective = fact(lambda self: all(p.bijective for p in self.parts))

    @property
    def sign(self) -> Any:
        sign: Any = 1
        for part in self.parts:
            sign = sign * part.sign
        return sign

    @property
    def inv(self) -> Transform:
        inverse = None if self._inv is None else self._inv()
        if inverse is None:
            inverse = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv = weakref.ref(inverse)
            inverse._inv = weakref.ref(self)
        return inverse

    def with_cache(self, cache_size: int = 1) -> Any:
        if self._cache_size == cache_size:
            return self
        return ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def _inv_call(self, y: Tensor) -> Tensor:
        for part in reversed(self.parts):
            y = part._inv_call(y)
        return y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return x.new_zeros(x.shape)
        steps = [x]
        for part in self.parts[:-1]:
            steps.append(part(steps[-1]))
        steps.append(y)
        event_dim = self.domain.event_dim
        total: Any = 0
        for part, before, after in zip(self.parts, steps[:-1], steps[1:]):
            volume = part.log_abs_det_jacobian(before, after)
            total = total + sum_rightmost(volume, event_dim - part.domain.event_dim)
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return total

    def forward_shape(self, shape: Sequence[int]) -> Any:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self) -> str:
        inside = ",\n    ".join(repr(p) for p in self.parts)
        return f"{type(self).__name__}(\n    {inside}\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """A map whose last batch dims count as one event.

    Args:
        base_transform: the map.
        reinterpreted_batch_ndims: how many of the last dimensions.

    Example:
        >>> t = torch.distributions.IndependentTransform(torch.distributions.ExpTransform(), 1)
        >>> x = torch.tensor([1.0, 2.0])
        >>> t.log_abs_det_jacobian(x, t(x))
        tensor(3.)
    """

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @property
    def codomain(self) -> Any:  # type: ignore[override]
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    bijective = fact(lambda self: self.base_transform.bijective)
    sign = fact(lambda self: self.base_transform.sign)

    def _call(self, x: Tensor) -> Tensor:
        if x.dim() < self.domain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        if y.dim() < self.codomain.event_dim:
            raise ValueError("Too few dimensions on input")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        volume = self.base_transform.log_abs_det_jacobian(x, y)
        return sum_rightmost(volume, self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Any:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Any:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"IndependentTransform({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class PlainMap(Transform):
    """A map without parameters: all objects of one kind are equal."""

    bijective = True
    sign: Any = 1

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    __hash__ = object.__hash__


class ExpTransform(PlainMap):
    """y = exp(x).

    Example:
        >>> torch.distributions.ExpTransform()(torch.tensor(0.0))
        tensor(1.)
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return x.exp()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.log()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return x


class PowerTransform(Transform):
    """y = x ** exponent.

    Args:
        exponent: a number or a tensor.

    Example:
        >>> torch.distributions.PowerTransform(2.0)(torch.tensor(3.0))
        tensor(9.)
    """

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent: Tensor | float, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    sign = fact(lambda self: self.exponent.sign())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PowerTransform):
            return False
        return bool(self.exponent.eq(other.exponent).all())

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return x.pow(self.exponent)

    def _inverse(self, y: Tensor) -> Tensor:
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return (self.exponent * y / x).abs().log()


def _clipped_sigmoid(x: Tensor) -> Tensor:
    """The sigmoid, never quite 0 or 1, so that there is a way back."""
    limits = finfo(x.dtype)
    return x.sigmoid().clamp(min=limits.tiny, max=1.0 - limits.eps)


class SigmoidTransform(PlainMap):
    """y = 1 / (1 + exp(-x)).

    Example:
        >>> torch.distributions.SigmoidTransform()(torch.tensor(0.0))
        tensor(0.5000)
    """

    domain = constraints.real
    codomain = constraints.unit_interval

    def _call(self, x: Tensor) -> Tensor:
        return _clipped_sigmoid(x)

    def _inverse(self, y: Tensor) -> Tensor:
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x) - softplus(x)


class SoftplusTransform(PlainMap):
    """y = log(1 + exp(x)).

    Example:
        >>> torch.distributions.SoftplusTransform()(torch.tensor(0.0))
        tensor(0.6931)
    """

    domain = constraints.real
    codomain = constraints.positive

    def _call(self, x: Tensor) -> Tensor:
        return softplus(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -softplus(-x)


class TanhTransform(PlainMap):
    """y = tanh(x).

    Example:
        >>> torch.distributions.TanhTransform()(torch.tensor(0.0))
        tensor(0.)
    """

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)

    def _call(self, x: Tensor) -> Tensor:
        return x.tanh()

    def _inverse(self, y: Tensor) -> Tensor:
        return y.atanh()

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        # log(1 - tanh(x)^2) without cancellation for large x
        return 2.0 * (math.log(2.0) - x - softplus(-2.0 * x))


class AbsTransform(PlainMap):
    """y = |x|.

    Example:
        >>> torch.distributions.AbsTransform()(torch.tensor([-1.0, 2.0]))
        tensor([1., 2.])
    """

    domain = constraints.real
    codomain = constraints.positive
    bijective = False

    def _call(self, x: Tensor) -> Tensor:
        return x.abs()

    def _inverse(self, y: Tensor) -> Tensor:
        return y


class AffineTransform(Transform):
    """y = loc + scale * x.

    Args:
        loc, scale: numbers or tensors.
        event_dim: how many of the last dimensions are one event.

    Example:
        >>> t = torch.distributions.AffineTransform(1.0, 2.0)
        >>> t(torch.tensor(3.0)), t.inv(torch.tensor(7.0))
        (tensor(7.), tensor(3.))
    """

    bijective = True

    def __init__(self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    event_dim = fact(lambda self: self._event_dim)

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    codomain = domain

    @property
    def sign(self) -> Any:
        if isinstance(self.scale, Tensor):
            return self.scale.sign()
        return (self.scale > 0) - (self.scale < 0)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AffineTransform):
            return False
        return _same(self.loc, other.loc) and _same(self.scale, other.scale)

    __hash__ = object.__hash__

    def _call(self, x: Tensor) -> Tensor:
        return self.loc + self.scale * x

    def _inverse(self, y: Tensor) -> Tensor:
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if isinstance(self.scale, Tensor):
            volume = self.scale.abs().log()
        else:
            volume = x.new_full(x.shape, math.log(abs(self.scale)))
        volume = sum_rightmost(volume.expand(x.shape) if self._event_dim else volume, self._event_dim)
        return volume.expand(x.shape[: x.dim() - self._event_dim])


def _same(a: object, b: object) -> bool:
    same = a == b
    return bool(same.all()) if isinstance(same, Tensor) else same


class CumulativeDistributionTransform(Transform):
    """y = the cumulative probability of x under a distribution.

    Args:
        distribution: one that has a `cdf`.

    Example:
        >>> torch.distributions.CumulativeDistributionTransform(torch.distributions.Normal(0.0, 1.0))(torch.tensor(0.0))
        tensor(0.5000)
    """

    bijective = True
    codomain = constraints.unit_interval
    sign: Any = 1

    def __init__(self, distribution: Distribution, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    domain = fact(lambda self: self.distribution.support)

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)


class SoftmaxTransform(PlainMap):
    """y = softmax(x) along the last dimension; several x have the same y, so it has no `log_abs_det_jacobian`.

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

    Example:
        >>> torch.distributions.ReshapeTransform((4,), (2, 2))(torch.arange(4.0))
        tensor([[0., 1.],
                [2., 3.]])
    """

    bijective = True

    def __init__(self, in_shape: Sequence[int], out_shape: Sequence[int], cache_size: int = 0) -> None:
        self.in_shape, self.out_shape = tuple(in_shape), tuple(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError("in_shape, out_shape have different numbers of elements")
        super().__init__(cache_size=cache_size)

    domain = fact(lambda self: constraints.independent(constraints.real, len(self.in_shape)))
    codomain = fact(lambda self: constraints.independent(constraints.real, len(self.out_shape)))

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

    Example:
        >>> t = torch.distributions.CatTransform([torch.distributions.ExpTransform(), torch.distributions.AffineTransform(0.0, 2.0)])
        >>> t(torch.tensor([0.0, 3.0]))
        tensor([1., 6.])
    """

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        self.dim = dim

    bijective = fact(lambda self: all(t.bijective for t in self.transforms))

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
    """As `CatTransform`, with a map for each slice along `dim`."""

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        super().__init__(cache_size=cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq]
        self.dim = dim

    bijective = fact(lambda self: all(t.bijective for t in self.transforms))
    domain = fact(lambda self: constraints.stack([t.domain for t in self.transforms], self.dim))
    codomain = fact(lambda self: constraints.stack([t.codomain for t in self.transforms], self.dim))

    def _call(self, x: Tensor) -> Tensor:
        return stack([t(p) for t, p in zip(self.transforms, x.unbind(self.dim))], self.dim)

    def _inverse(self, y: Tensor) -> Tensor:
        return stack([t.inv(p) for t, p in zip(self.transforms, y.unbind(self.dim))], self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        triples = zip(self.transforms, x.unbind(self.dim), y.unbind(self.dim))
        return stack([t.log_abs_det_jacobian(a, b) for t, a, b in triples], self.dim)


__all__ = [
    "AbsTransform",
    "AffineTransform",
    "CatTransform",
    "ComposeTransform",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "ExpTransform",
    "IndependentTransform",
    "LowerCholeskyTransform",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "TanhTransform",
    "Transform",
    "identity_transform",
]
