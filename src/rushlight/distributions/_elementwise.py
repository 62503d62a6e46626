"""Transforms of single numbers: exp, affine, sigmoid and their kin."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..base.dtypes import finfo
from ..core.tensor import Tensor
from ..operators.pointwise.activation_smooth import softplus
from . import constraints
from ._compose import PlainMap, Transform
from .utils import broadcast_all, sum_rightmost

if TYPE_CHECKING:
    from .distribution import Distribution


class ExpTransform(PlainMap):
    """y = exp(x).

    Args:
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

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
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

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

    @property
    def sign(self) -> Any:
        return self.exponent.sign()

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

    Args:
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

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

    Args:
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

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

    Args:
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

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

    Args:
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

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
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

    Example:
        >>> t = torch.distributions.AffineTransform(1.0, 2.0)
        >>> t(torch.tensor(3.0)), t.inv(torch.tensor(7.0))
        (tensor(7.), tensor(3.))
    """

    bijective = True

    def __init__(
        self, loc: Tensor | float, scale: Tensor | float, event_dim: int = 0, cache_size: int = 0
    ) -> None:
        super().__init__(cache_size=cache_size)
        self.loc, self.scale, self._event_dim = loc, scale, event_dim

    @property
    def event_dim(self) -> int:
        return self._event_dim

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return (
            constraints.independent(constraints.real, self.event_dim)
            if self.event_dim
            else constraints.real
        )

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
        volume = sum_rightmost(
            volume.expand(x.shape) if self._event_dim else volume, self._event_dim
        )
        return volume.expand(x.shape[: x.dim() - self._event_dim])


def _same(a: object, b: object) -> bool:
    same = a == b
    return bool(same.all()) if isinstance(same, Tensor) else same


class CumulativeDistributionTransform(Transform):
    """y = the cumulative probability of x under a distribution.

    Args:
        distribution: one that has a `cdf`.
        cache_size: 1 remembers the last pair, so that the inverse is exact; 0 does not.

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

    @property
    def domain(self) -> Any:  # type: ignore[override]
        return self.distribution.support

    def _call(self, x: Tensor) -> Tensor:
        return self.distribution.cdf(x)

    def _inverse(self, y: Tensor) -> Tensor:
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return self.distribution.log_prob(x)
