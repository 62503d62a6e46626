"""Layers that move elements between channels, and between channels and pixels."""

from __future__ import annotations

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["ChannelShuffle", "PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Turn channels into pixels: blocks of r x r pixels come from r * r channels.

    Args:
        upscale_factor: r.

    Shape:
        (*, C r^2, H, W) -> (*, C, H r, W r).

    Example:
        >>> nn.PixelShuffle(3)(torch.zeros(1, 9, 4, 4)).shape
        torch.Size([1, 1, 12, 12])
    """

    __constants__ = ["upscale_factor"]

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Turn pixels into channels: the inverse of `PixelShuffle`.

    Args:
        downscale_factor: r.

    Shape:
        (*, C, H r, W r) -> (*, C r^2, H, W).

    Example:
        >>> nn.PixelUnshuffle(3)(torch.zeros(1, 1, 12, 12)).shape
        torch.Size([1, 9, 4, 4])
    """

    __constants__ = ["downscale_factor"]

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"


class ChannelShuffle(Module):
    """Mix channels: take one from each group in turn.

    Args:
        groups: number of groups that the channels are divided into.

    Shape:
        (N, C, *) -> the same.

    Example:
        >>> nn.ChannelShuffle(2)(torch.arange(4.0).reshape(1, 4, 1, 1)).flatten()
        tensor([0., 2., 1., 3.])
    """

    __constants__ = ["groups"]

    def __init__(self, groups: int) -> None:
        super().__init__()
        self.groups = groups

    def forward(self, input: Tensor) -> Tensor:
        return F.channel_shuffle(input, self.groups)

    def extra_repr(self) -> str:
        return f"groups={self.groups}"
