"""The continuous Bernoulli distribution on [0, 1]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.tensor import Tensor
from ..operators.loss.difference import binary_cross_entropy_with_logits
from . import constraints
from .distribution import Distribution
from .exp_family import ExponentialFamily
from .utils import (
    ProbsOrLogits,
    broadcast_all,
    clamp_probs,
    given_one,
    lazy_property,
    logits_to_probs,
    standard_uniform,
)

__all__ = ["ContinuousBernoulli"]


class ContinuousBernoulli(ProbsOrLogits, ExponentialFamily):
    """Numbers of [0, 1] with density in proportion to p^x (1 - p)^(1 - x) (Loaiza-Ganem and Cunningham 2019).

    Between the two `lims`, around p = 0.5, closed forms divide zero by zero: Taylor series stand in.

    Args:
        probs: p, between 0 and 1; or
        logits: its log odds.
        lims: where the series are used.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> torch.distributions.ContinuousBernoulli(probs=0.25).mean
        tensor(0.4102)
    """

    arg_constraints = {"probs": constraints.unit_interval, "logits": constraints.real}
    support = constraints.unit_interval
    has_rsample = True
    _mean_carrier_measure = 0

    def __init__(
        self,
        probs: Any = None,
        logits: Any = None,
        lims: tuple[float, float] = (0.499, 0.501),
        validate_args: bool | None = None,
    ) -> None:
        if given_one("probs", "logits", probs, logits):
            (self.probs,) = broadcast_all(probs)
            if validate_args is not None and not bool(constraints.unit_interval.check(self.probs).all()):  # fmt: skip
                raise ValueError("The parameter probs has invalid values")
            self.probs = clamp_probs(self.probs)
        else:
            (self.logits,) = broadcast_all(logits)
        self._lims = lims
        super().__init__(self._param.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._twin(_instance)
        new._lims = self._lims
        for name in ("probs", "logits"):
            if name in self.__dict__:
                setattr(new, name, self.__dict__[name].expand(Size(batch_shape)))
        super(ContinuousBernoulli, new).__init__(Size(batch_shape), validate_args=False)
        new._validate_args = self._validate_args
        return new

    @lazy_property
    def probs(self) -> Tensor:
        """The probabilities."""
        return clamp_probs(logits_to_probs(self.logits, is_binary=True))

    def _far(self) -> Tensor:
        """Where p is far enough from a half."""
        return (self.probs <= self._lims[0]) | (self.probs > self._lims[1])

    def _cut(self) -> Tensor:
        """The probabilities, those near a half replaced by one that divides nothing by zero."""
        return self.probs.where(self._far(), self.probs.new_tensor(self._lims[0]))

    def _log_norm(self) -> Tensor:
        p = self._cut()
        wide = ((-p).log1p() - p.log()).abs().log() - (1 - 2 * p).abs().log()
        x = (self.probs - 0.5).pow(2)
        near = self.probs.new_tensor(2.0).log() + (4.0 / 3.0 + 104.0 / 45.0 * x) * x
        return wide.where(self._far(), near)

    @property
    def mean(self) -> Tensor:
        p = self._cut()
        wide = p / (2 * p - 1) + 1 / ((-p).log1p() - p.log())
        x = self.probs - 0.5
        return wide.where(self._far(), 0.5 + (1.0 / 3.0 + 16.0 / 45.0 * x.pow(2)) * x)

    @property
    def variance(self) -> Tensor:
        p = self._cut()
        wide = p * (p - 1) / (1 - 2 * p).pow(2) + 1 / ((-p).log1p() - p.log()).pow(2)
        x = (self.probs - 0.5).pow(2)
        return wide.where(self._far(), 1.0 / 12.0 - (1.0 / 15.0 - 128.0 / 945.0 * x) * x)

    @property
    def stddev(self) -> Tensor:
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(standard_uniform(self._extended_shape(sample_shape), self.probs))

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        logits, value = broadcast_all(self.logits, value)
        cross = binary_cross_entropy_with_logits(logits, value, reduction="none")
        return self._log_norm() - cross

    def cdf(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        p = self._cut()
        wide = (p.pow(value) * (1 - p).pow(1 - value) + p - 1) / (2 * p - 1)
        found = wide.where(self._far(), value)
        return found.clamp(min=0.0, max=1.0)

    def icdf(self, value: Tensor) -> Tensor:
        p = self._cut()
        top = (-p + value * (2 * p - 1)).log1p() - (-p).log1p()
        return (top / (p.log() - (-p).log1p())).where(self._far(), value)

    def entropy(self) -> Tensor:
        rest = (-self.probs).log1p()
        return self.mean * (rest - self.probs.log()) - self._log_norm() - rest

    @property
    def _natural_params(self) -> tuple[Tensor]:
        return (self.logits,)

    def _log_normalizer(self, *natural_params: Tensor) -> Tensor:
        """log((e^x - 1) / x), by its series near zero."""
        (x,) = natural_params
        far = (x <= self._lims[0] - 0.5) | (x > self._lims[1] - 0.5)
        cut = x.where(far, x.new_tensor(self._lims[0] - 0.5))
        wide = (cut.exp() - 1).abs().log() - cut.abs().log()
        return wide.where(far, 0.5 * x + x.pow(2) / 24.0 - x.pow(4) / 2880.0)
