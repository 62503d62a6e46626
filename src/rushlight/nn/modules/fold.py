"""Sliding windows as columns, and back."""

from __future__ import annotations

from collections.abc import Sequence

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]


class Fold(Module):
    """Add columns of windows up into images: the transpose of `Unfold`.

    Args:
        output_size: height and width of the images.
        kernel_size: height and width of the window; one number for both.
        dilation: distance between the elements of a window.
        padding: rows and columns that are cut from every side.
        stride: steps between windows.

    Shape:
        (N, C * height * width of a window, number of windows) -> (N, C, *output_size), or
        without N.

    Example:
        >>> columns = nn.Unfold(2)(torch.ones(1, 1, 3, 3))
        >>> nn.Fold((3, 3), 2)(columns)  # how many windows see each pixel
        tensor([[[[1., 2., 1.],
                  [2., 4., 2.],
                  [1., 2., 1.]]]])
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self,
        output_size: int | Sequence[int],
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | str | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, "
            f"dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
        )


class Unfold(Module):
    """Cut images into windows: every window becomes a column.

    Args:
        kernel_size: height and width of the window; one number for both.
        dilation: distance between the elements of a window.
        padding: rows and columns of zeros added on every side.
        stride: steps between windows.

    Shape:
        (N, C, H, W) -> (N, C * height * width of a window, number of windows), or without N.

    Example:
        >>> nn.Unfold(kernel_size=(2, 3))(torch.zeros(2, 5, 3, 4)).shape
        torch.Size([2, 30, 4])
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        dilation: int | Sequence[int] = 1,
        padding: int | str | Sequence[int] = 0,
        stride: int | Sequence[int] = 1,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"
