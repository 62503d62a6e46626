"""Distributions made of another one: its batch counted as events, its draws mapped."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .transforms import ComposeTransform, Transform
from .utils import fact, sum_rightmost

__all__ = ["Independent", "TransformedDistribution"]


class Independent(Distribution):
    """The joint distribution over the last `reinterpreted_batch_ndims` batch dims of another.

    Args:
        base_distribution: the other one.
        reinterpreted_batch_ndims: how many of its batch dimensions become part of an event.

    Example:
        >>> d = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(3), 1.0), 1)
        >>> d.batch_shape, d.event_shape
        (torch.Size([]), torch.Size([3]))
        >>> d.log_prob(torch.zeros(3))
        tensor(-2.7568)
    """

    arg_constraints: dict[str, Any] = {}

    def __init__(
        self, base_distribution: Distribution, reinterpreted_batch_ndims: int, validate_args: bool | None = None
    ) -> None:
        if reinterpreted_batch_ndims > len(base_distribution.batch_shape):
            raise ValueError(
                "Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual "
                f"{reinterpreted_batch_ndims} vs {len(base_distribution.batch_shape)}"
            )
        shape = base_distribution.batch_shape + base_distribution.event_shape
        event_dim = reinterpreted_batch_ndims + len(base_distribution.event_shape)
        cut = len(shape) - event_dim
        self.base_dist = base_distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._twin(_instance)
        batch_shape = Size(batch_shape)
        kept = self.event_shape[: self.reinterpreted_batch_ndims]
        new.base_dist = self.base_dist.expand(batch_shape + kept)
        new._batch_shape = batch_shape
        return new

    has_rsample = fact(lambda self: self.base_dist.has_rsample)

    @property
    def has_enumerate_support(self) -> bool:  # type: ignore[override]
        return self.reinterpreted_batch_ndims == 0 and self.base_dist.has_enumerate_support

    @constraints.dependent_property
    def support(self) -> Any:  # type: ignore[override]
        inner = self.base_dist.support
        n = self.reinterpreted_batch_ndims
        return constraints.independent(inner, n) if n else inner

    mean = fact(lambda self: self.base_dist.mean)
    mode = fact(lambda self: self.base_dist.mode)
    variance = fact(lambda self: self.base_dist.variance)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value: Tensor) -> Tensor:
        return sum_rightmost(self.base_dist.log_prob(value), self.reinterpreted_batch_ndims)

    def entropy(self) -> Tensor:
        return sum_rightmost(self.base_dist.entropy(), self.reinterpreted_batch_ndims)

    def enumerate_support(self, expand: bool = True) -> Tensor:
        if self.reinterpreted_batch_ndims > 0:
            raise NotImplementedError("Enumeration over cartesian product is not implemented")
        return self.base_dist.enumerate_support(expand=expand)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_dist}, {self.reinterpreted_batch_ndims})"


class TransformedDistribution(Distribution):
    """The distribution of t(x), where x is drawn from another distribution.

    Args:
        base_distribution: where x is drawn.
        transforms: a `Transform`, or a list of them, applied in order.

    Example:
        >>> d = torch.distributions.TransformedDistribution(torch.distributions.Normal(0.0, 1.0), [torch.distributions.ExpTransform()])
        >>> d.log_prob(torch.tensor(1.0))
        tensor(-0.9189)
    """

    arg_constraints: dict[str, Any] = {}
    base_dist: Any

    def __init__(self, base_distribution: Distribution, transforms: Any, validate_args: bool | None = None) -> None:
        self.transforms = _as_list(transforms)
        base_shape = base_distribution.batch_shape + base_distribution.event_shape
        base_event_dim = len(base_distribution.event_shape)
        whole = ComposeTransform(self.transforms)
        if len(base_shape) < whole.domain.event_dim:
            raise ValueError(
                "base_distribution needs to have shape with size at least "
                f"{whole.domain.event_dim}, but got {base_shape}."
            )
        shape = Size(whole.forward_shape(base_shape))
        expanded = Size(whole.inverse_shape(shape))
        if base_shape != expanded:
            batch = expanded[: len(expanded) - base_event_dim]
            base_distribution = base_distribution.expand(batch)
        extra = whole.domain.event_dim - base_event_dim
        if extra > 0:
            base_distribution = Independent(base_distribution, extra)
        self.base_dist = base_distribution
        change = whole.codomain.event_dim - whole.domain.event_dim
        event_dim = max(whole.codomain.event_dim, base_event_dim + change)
        cut = len(shape) - event_dim
        super().__init__(shape[:cut], shape[cut:], validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._twin(_instance)
        batch_shape = Size(batch_shape)
        shape = batch_shape + self.event_shape
        for t in reversed(self.transforms):
            shape = Size(t.inverse_shape(shape))
        base_batch = shape[: len(shape) - len(self.base_dist.event_shape)]
        new.base_dist = self.base_dist.expand(base_batch)
        new._batch_shape = batch_shape
        return new

    @constraints.dependent_property(is_discrete=False)
    def support(self) -> Any:  # type: ignore[override]
        if not self.transforms:
            return self.base_dist.support
        support = self.transforms[-1].codomain
        extra = len(self.event_shape) - support.event_dim
        return constraints.independent(support, extra) if extra > 0 else support

    has_rsample = fact(lambda self: self.base_dist.has_rsample)

    def sample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        with no_grad():
            x = self.base_dist.sample(sample_shape)
            for t in self.transforms:
                x = t(x)
            return x

    def rsample(self, sample_shape: Sequence[int] = Size()) -> Tensor:
        x = self.base_dist.rsample(sample_shape)
        for t in self.transforms:
            x = t(x)
        return x

    def log_prob(self, value: Tensor) -> Tensor:
        self._checked(value)
        event_dim = len(self.event_shape)
        log_prob: Any = 0.0
        y = value
        for t in reversed(self.transforms):
            x = t.inv(y)
            event_dim += t.domain.event_dim - t.codomain.event_dim
            volume = t.log_abs_det_jacobian(x, y)
            log_prob = log_prob - sum_rightmost(volume, event_dim - t.domain.event_dim)
            y = x
        base = self.base_dist.log_prob(y)
        return log_prob + sum_rightmost(base, event_dim - len(self.base_dist.event_shape))

    def _monotonize_cdf(self, value: Tensor) -> Tensor:
        """A falling map exchanges what is below with what is above."""
        sign: Any = 1
        for t in self.transforms:
            sign = sign * t.sign
        if isinstance(sign, int) and sign == 1:
            return value
        return sign * (value - 0.5) + 0.5

    def cdf(self, value: Tensor) -> Tensor:
        self._checked(value)
        for t in reversed(self.transforms):
            value = t.inv(value)
        return self._monotonize_cdf(self.base_dist.cdf(value))

    def icdf(self, value: Tensor) -> Tensor:
        value = self.base_dist.icdf(self._monotonize_cdf(value))
        for t in self.transforms:
            value = t(value)
        return value


def _as_list(transforms: Any) -> list[Transform]:
    if isinstance(transforms, Transform):
        return [transforms]
    if isinstance(transforms, list) and all(isinstance(t, Transform) for t in transforms):
        return transforms
    if isinstance(transforms, list):
        raise ValueError("transforms must be a Transform or a list of Transforms")
    raise ValueError(f"transforms must be a Transform or list, but was {transforms}")
