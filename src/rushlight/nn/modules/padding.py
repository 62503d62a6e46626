"""Padding layers."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _ntuple

__all__ = [
    "CircularPad1d", "CircularPad2d", "CircularPad3d",
    "ConstantPad1d", "ConstantPad2d", "ConstantPad3d",
    "ReflectionPad1d", "ReflectionPad2d", "ReflectionPad3d",
    "ReplicationPad1d", "ReplicationPad2d", "ReplicationPad3d",
    "ZeroPad1d", "ZeroPad2d", "ZeroPad3d",
]  # fmt: skip


class _PadNd(Module):
    """Padding of the last `_n` dimensions in `_mode`."""

    __constants__ = ["padding"]
    _n: int
    _mode: str

    def __init__(self, padding: int | str | Sequence[int]) -> None:
        super().__init__()
        self.padding = _ntuple(2 * self._n)(padding)

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    _mode = "constant"

    def __init__(self, padding: int | str | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPadNd):
    """As `ConstantPad2d`, of the last dimension alone: (left, right), or one number."""

    _n = 1


class ConstantPad2d(_ConstantPadNd):
    """Pad the last two dimensions with one value.

    Args:
        padding: (left, right, top, bottom), or one number for all. Negative numbers cut.
        value: the value.

    Shape:
        (*, H, W) -> (*, top + H + bottom, left + W + right).

    Example:
        >>> nn.ConstantPad2d((1, 0, 1, 0), 9.0)(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[9., 9., 9.],
                 [9., 1., 2.],
                 [9., 3., 4.]]])
    """

    _n = 2


class ConstantPad3d(_ConstantPadNd):
    """As `ConstantPad2d`, of the last three dimensions: (left, right, top, bottom, front, back), or one number."""

    _n = 3


class _ZeroPad(_ConstantPadNd):
    def __init__(self, padding: int | str | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """As `ZeroPad2d`, of the last dimension alone: (left, right), or one number."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """As `ConstantPad2d`, with zeros."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """As `ZeroPad2d`, of the last three dimensions: (left, right, top, bottom, front, back), or one number."""


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class ReflectionPad1d(_ReflectionPadNd):
    """As `ReflectionPad2d`, of the last dimension alone: (left, right), or one number."""

    _n = 1


class ReflectionPad2d(_ReflectionPadNd):
    """Pad the last two dimensions with the input mirrored at its border, the border not repeated.

    Args:
        padding: (left, right, top, bottom), or one number for all.

    Shape:
        (N, C, H, W) -> (N, C, top + H + bottom, left + W + right), or without N.

    Raises:
        RuntimeError: if a padding is not smaller than the size of its dimension.

    Example:
        >>> nn.ReflectionPad2d((1, 0, 1, 0))(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[4., 3., 4.],
                 [2., 1., 2.],
                 [4., 3., 4.]]])
    """

    _n = 2


class ReflectionPad3d(_ReflectionPadNd):
    """As `ReflectionPad2d`, of the last three dimensions: (left, right, top, bottom, front, back), or one number."""

    _n = 3


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class ReplicationPad1d(_ReplicationPadNd):
    """As `ReplicationPad2d`, of the last dimension alone: (left, right), or one number."""

    _n = 1


class ReplicationPad2d(_ReplicationPadNd):
    """As `ConstantPad2d`, with the values at the border."""

    _n = 2


class ReplicationPad3d(_ReplicationPadNd):
    """As `ReplicationPad2d`, of the last three dimensions: (left, right, top, bottom, front, back), or one number."""

    _n = 3


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input: Tensor) -> Tensor:
        n = self._n
        if input.dim() not in (n + 1, n + 2):
            raise ValueError(f"expected {n + 1}D or {n + 2}D input (got {input.dim()}D input)")
        return super().forward(input)


class CircularPad1d(_CircularPadNd):
    """As `CircularPad2d`, of the last dimension alone: (left, right), or one number."""

    _n = 1


class CircularPad2d(_CircularPadNd):
    """Pad the last two dimensions with the input from its other end.

    Args:
        padding: (left, right, top, bottom), or one number for all.

    Shape:
        (N, C, H, W) -> (N, C, top + H + bottom, left + W + right), or without N.

    Raises:
        RuntimeError: if a padding is larger than the size of its dimension.

    Example:
        >>> nn.CircularPad2d((1, 0, 1, 0))(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]))
        tensor([[[4., 3., 4.],
                 [2., 1., 2.],
                 [4., 3., 4.]]])
    """

    _n = 2


class CircularPad3d(_CircularPadNd):
    """As `CircularPad2d`, of the last three dimensions: (left, right, top, bottom, front, back), or one number."""

    _n = 3
