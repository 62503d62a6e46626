"""The von Mises distribution of angles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..base.dtypes import float64
from ..base.shapes import Size
from ..core.modes import no_grad
from ..core.public import NAMESPACES
from ..core.tensor import Tensor
from . import constraints
from .distribution import Distribution
from .utils import broadcast_all, lazy_property, standard_uniform

__all__ = ["VonMises"]


class VonMises(Distribution):
    """Angles around `loc`; the greater `concentration`, the closer.

    Args:
        loc: an angle.
        concentration: positive.
        validate_args: check parameters and values; on unless Python runs with -O.

    Example:
        >>> torch.distributions.VonMises(0.0, 2.0).log_prob(torch.tensor(0.0))
        tensor(-0.6619)
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(
        self, loc: Tensor | float, concentration: Tensor | float, validate_args: bool | None = None
    ) -> None:
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, validate_args=validate_args)

    def expand(self, batch_shape: Sequence[int], _instance: Distribution | None = None) -> Any:
        new = self._twin(_instance)
        new.loc = self.loc.expand(Size(batch_shape))
        new.concentration = self.concentration.expand(Size(batch_shape))
        Distribution.__init__(new, Size(batch_shape), validate_args=False)
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
        """The circular variance, 1 - I1(k) / I0(k)."""
        special = NAMESPACES["special"]
        return 1 - special["i1e"](self.concentration) / special["i0e"](self.concentration)

    def log_prob(self, value: Tensor) -> Tensor:
        if self._validate_args:
            self._validate_sample(value)
        k = self.concentration
        # log I0(k) by the scaled function, which does not overflow
        log_i0 = NAMESPACES["special"]["i0e"](k).log() + k
        return k * (value - self.loc).cos() - math.log(2 * math.pi) - log_i0

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draws by rejection (Best and Fisher 1979), in double precision, as for small k it must."""
        with no_grad():
            shape = self._extended_shape(sample_shape)
            k, loc = self.concentration.to(float64).expand(shape), self.loc.to(float64)
            r = _proposal(k)
            x, done = k.new_zeros(shape), k.new_zeros(shape) > 0
            while not bool(done.all()):
                u1, u2, u3 = standard_uniform((3, *shape), k).unbind()
                z = (math.pi * u1).cos()
                f = (1 + r * z) / (r + z)
                c = k * (r - f)
                accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
                x = ((u3 - 0.5).sign() * f.acos()).where(accept, x)
                done = done | accept
            return ((x + math.pi + loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)


def _proposal(k: Tensor) -> Tensor:
    """The parameter of the wrapped Cauchy distribution that is drawn from; a series where k is small."""
    tau = 1 + (1 + 4 * k**2).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * k)
    return (1 / k + k).where(k < 1e-5, (1 + rho**2) / (2 * rho))
