"""Layers that enlarge images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Resize signals, images or volumes.

    Args:
        size: the size of the result, one number or one per dimension.
        scale_factor: or how many times as large it is.
        mode: "nearest", "linear" (signals), "bilinear" and "bicubic" (images) or "trilinear"
            (volumes).
        align_corners: True puts the outermost pixels' centres of input and result on each other;
            for the linear modes and bicubic.
        recompute_scale_factor: compute the factor again from the rounded size.

    Shape:
        (N, C, *) -> (N, C, *size), or every size times `scale_factor`.

    Example:
        >>> nn.Upsample(scale_factor=2)(torch.tensor([[[1.0, 3.0]]]))
        tensor([[[1., 1., 3., 3.]]])
        >>> nn.Upsample(size=(10, 12), mode="bilinear")(torch.zeros(1, 3, 5, 6)).shape
        torch.Size([1, 3, 10, 12])
    """

    __constants__ = ["size", "scale_factor", "mode", "align_corners", "name", "recompute_scale_factor"]

    def __init__(
        self,
        size: int | Sequence[int] | None = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, tuple):
            self.scale_factor: Any = tuple(float(f) for f in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        if self.scale_factor is not None:
            return f"scale_factor={self.scale_factor!r}, mode={self.mode!r}"
        return f"size={self.size!r}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """Enlarge images by repeating pixels.

    Args:
        size: height and width of the result.
        scale_factor: or how many times as large it is.

    Shape:
        (N, C, H, W) -> (N, C, H', W').

    Example:
        >>> nn.UpsamplingNearest2d(scale_factor=2)(torch.tensor([[[[1.0, 2.0]]]]))
        tensor([[[[1., 1., 2., 2.],
                  [1., 1., 2., 2.]]]])
    """

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """As `UpsamplingNearest2d`, by bilinear interpolation; corners of input and result lie on each other."""

    def __init__(
        self, size: int | Sequence[int] | None = None, scale_factor: float | Sequence[float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
