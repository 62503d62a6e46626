"""Dropout layers."""

from __future__ import annotations

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AlphaDropout", "Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "FeatureAlphaDropout"]


class _DropoutNd(Module):
    """Holds `p`, and calls the function of the same name."""

    __constants__ = ["p", "inplace"]
    _name: str

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        if p < 0 or p > 1:
            raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._name)(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"


class Dropout(_DropoutNd):
    """Set elements to zero at random in training, and scale the others by 1 / (1 - p).

    In evaluation the input comes back as it is.

    Args:
        p: probability that an element becomes zero.

    Shape:
        any -> the same.

    Raises:
        ValueError: if `p` is not between 0 and 1.

    Example:
        >>> drop = nn.Dropout(p=0.5)
        >>> sorted(set(drop(torch.ones(100)).tolist()))
        [0.0, 2.0]
        >>> drop.eval()(torch.ones(3))
        tensor([1., 1., 1.])
    """

    _name = "dropout"


class Dropout1d(_DropoutNd):
    """As `Dropout2d`: whole channels of signals, (N, C, L)."""

    _name = "dropout1d"


class Dropout2d(_DropoutNd):
    """Set whole channels to zero at random in training, and scale the others by 1 / (1 - p).

    Args:
        p: probability that a channel becomes zero.

    Shape:
        (N, C, H, W) or (C, H, W) -> the same.

    Example:
        >>> y = nn.Dropout2d(0.5)(torch.ones(2, 8, 3, 3))
        >>> bool((y.amax((2, 3)) == y.amin((2, 3))).all())  # a channel is all 0 or all 2
        True
    """

    _name = "dropout2d"


class Dropout3d(_DropoutNd):
    """As `Dropout2d`: whole channels of volumes, (N, C, D, H, W)."""

    _name = "dropout3d"


class AlphaDropout(_DropoutNd):
    """Dropout for networks of SELU: elements get a fixed negative value instead of zero.

    What is left is scaled and shifted, so that mean and variance stay the same.

    Args:
        p: probability that an element is replaced.

    Shape:
        any -> the same.

    Example:
        >>> y = nn.AlphaDropout(0.5)(torch.zeros(1000))
        >>> len(set(y.tolist()))
        2
        >>> nn.AlphaDropout(0.5).eval()(torch.ones(2))
        tensor([1., 1.])
    """

    _name = "alpha_dropout"


class FeatureAlphaDropout(_DropoutNd):
    """`AlphaDropout` of whole channels.

    Args:
        p: probability that a channel is replaced.

    Shape:
        (N, C, *) -> the same.

    Example:
        >>> y = nn.FeatureAlphaDropout(0.5)(torch.zeros(2, 8, 5))
        >>> bool((y.amax(2) == y.amin(2)).all())
        True
    """

    _name = "feature_alpha_dropout"
