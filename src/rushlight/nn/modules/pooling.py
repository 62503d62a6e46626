"""Pooling layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module
from .utils import _pair, _single, _triple

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d", "AdaptiveMaxPool3d", "AvgPool1d", "AvgPool2d", "AvgPool3d",
    "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d",
    "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class _MaxPoolNd(Module):
    __constants__ = ["kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode"]
    _name: str

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | str | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._name)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """As `MaxPool2d`, of signals (N, C, L); options are one number."""

    _name = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """Take the maximum of every window of images.

    Args:
        kernel_size: height and width of the window; one number for both.
        stride: steps between windows; `kernel_size` if None.
        padding: rows and columns of -inf added on every side; at most half of the window.
        dilation: distance between the elements of a window.
        return_indices: also return where each maximum was found, for `MaxUnpool2d`.
        ceil_mode: round the output's size up instead of down.

    Shape:
        (N, C, H, W) -> (N, C, H', W'), or without N;
        H' = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1, and W' likewise.

    Example:
        >>> nn.MaxPool2d(2)(torch.arange(16.0).reshape(1, 1, 4, 4))
        tensor([[[[ 5.,  7.],
                  [13., 15.]]]])
        >>> nn.MaxPool2d(3, stride=2, padding=1)(torch.zeros(1, 64, 112, 112)).shape
        torch.Size([1, 64, 56, 56])
    """

    _name = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """As `MaxPool2d`, of volumes (N, C, D, H, W); options are three numbers."""

    _name = "max_pool3d"


class _MaxUnpoolNd(Module):
    _name: str
    _spread: Any

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | str | Sequence[int] = 0,
    ) -> None:
        super().__init__()
        spread = type(self)._spread
        self.kernel_size = spread(kernel_size)
        self.stride = spread(stride if stride is not None else kernel_size)
        self.padding = spread(padding)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return getattr(F, self._name)(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """As `MaxUnpool2d`, of signals (N, C, L) that `MaxPool1d` took the maxima of."""

    _name = "max_unpool1d"
    _spread = staticmethod(_single)


class MaxUnpool2d(_MaxUnpoolNd):
    """Put maxima back where `MaxPool2d` found them, with zeros elsewhere.

    Args:
        kernel_size, stride, padding: those of the pooling.

    Shape:
        output and indices of `MaxPool2d` -> its input's shape. Several input sizes give the same
        output size; `output_size=` of the call chooses one.

    Example:
        >>> x = torch.arange(16.0).reshape(1, 1, 4, 4)
        >>> y, where = nn.MaxPool2d(2, return_indices=True)(x)
        >>> nn.MaxUnpool2d(2)(y, where)
        tensor([[[[ 0.,  0.,  0.,  0.],
                  [ 0.,  5.,  0.,  7.],
                  [ 0.,  0.,  0.,  0.],
                  [ 0., 13.,  0., 15.]]]])
    """

    _name = "max_unpool2d"
    _spread = staticmethod(_pair)


class MaxUnpool3d(_MaxUnpoolNd):
    """As `MaxUnpool2d`, of volumes (N, C, D, H, W) that `MaxPool3d` took the maxima of."""

    _name = "max_unpool3d"
    _spread = staticmethod(_triple)


class _AvgPoolNd(Module):
    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """As `AvgPool2d`, of signals (N, C, L); options are one number; it has no `divisor_override`."""

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | str | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _single(kernel_size)
        self.stride = _single(stride if stride is not None else kernel_size)
        self.padding = _single(padding)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    _name: str

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        padding: int | str | Sequence[int] = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._name)(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolWithDivisor):
    """Take the mean of every window of images.

    Args:
        kernel_size: height and width of the window; one number for both.
        stride: steps between windows; `kernel_size` if None.
        padding: rows and columns of zeros added on every side.
        ceil_mode: round the output's size up instead of down.
        count_include_pad: count the added zeros in the mean.
        divisor_override: divide by this number instead of the window's size.

    Shape:
        (N, C, H, W) -> (N, C, H', W'), or without N;
        H' = floor((H + 2 padding - kernel_size) / stride) + 1, and W' likewise.

    Example:
        >>> nn.AvgPool2d(2)(torch.arange(16.0).reshape(1, 1, 4, 4))
        tensor([[[[ 2.5000,  4.5000],
                  [10.5000, 12.5000]]]])
    """

    _name = "avg_pool2d"


class AvgPool3d(_AvgPoolWithDivisor):
    """As `AvgPool2d`, of volumes (N, C, D, H, W); options are three numbers."""

    _name = "avg_pool3d"


class _FractionalMaxPoolNd(Module):
    _name: str
    _spread: Any

    def __init__(
        self,
        kernel_size: int | Sequence[int],
        output_size: int | Sequence[int | None] | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        spread = type(self)._spread
        name = type(self).__name__
        self.kernel_size = spread(kernel_size)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = spread(output_size) if output_size is not None else None
        self.output_ratio = spread(output_ratio) if output_ratio is not None else None
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._name)(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """Take maxima of windows at random places (Graham, 2014), for output sizes that need not divide.

    Args:
        kernel_size: sizes of the window; one number for all.
        output_size: sizes of the output.
        output_ratio: sizes of the output as parts of the input's, between 0 and 1; give either this
            or `output_size`.
        return_indices: also return where each maximum was found.

    Shape:
        (N, C, H, W) -> (N, C, *output_size), or without N.

    Raises:
        ValueError: if both or none of `output_size` and `output_ratio` are given.

    Example:
        >>> nn.FractionalMaxPool2d(2, output_size=5)(torch.rand(2, 4, 9, 9)).shape
        torch.Size([2, 4, 5, 5])
        >>> nn.FractionalMaxPool2d(2, output_ratio=0.5)(torch.rand(2, 4, 9, 9)).shape
        torch.Size([2, 4, 4, 4])
    """

    _name = "fractional_max_pool2d"
    _spread = staticmethod(_pair)


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """As `FractionalMaxPool2d`, of volumes (N, C, D, H, W); options are three numbers."""

    _name = "fractional_max_pool3d"
    _spread = staticmethod(_triple)


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    _name: str

    def __init__(
        self,
        norm_type: float,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] | None = None,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._name)(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """As `LPPool2d`, of signals (N, C, L); options are one number."""

    _name = "lp_pool1d"


class LPPool2d(_LPPoolNd):
    """Take the p-norm of every window of images.

    Args:
        norm_type: p; 1 is the sum, infinity the maximum.
        kernel_size: sizes of the window.
        stride: steps between windows; `kernel_size` if None.
        ceil_mode: round the output's size up instead of down.

    Shape:
        (N, C, H, W) -> (N, C, H', W'), or without N.

    Example:
        >>> nn.LPPool2d(2, 2)(torch.ones(1, 1, 4, 4))
        tensor([[[[2., 2.],
                  [2., 2.]]]])
    """

    _name = "lp_pool2d"


class LPPool3d(_LPPoolNd):
    """As `LPPool2d`, of volumes (N, C, D, H, W); options are three numbers."""

    _name = "lp_pool3d"


class _AdaptiveAvgPoolNd(Module):
    __constants__ = ["output_size"]
    _name: str

    def __init__(self, output_size: int | Sequence[int | None] | None) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Tensor:
        return getattr(F, self._name)(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """As `AdaptiveAvgPool2d`, of signals: (N, C, L) -> (N, C, output_size)."""

    _name = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Take means of images over windows chosen so that the output has a given size.

    Args:
        output_size: height and width of the output; one number for both, None for the input's.

    Shape:
        (N, C, H, W) -> (N, C, *output_size), or without N.

    Example:
        >>> nn.AdaptiveAvgPool2d(1)(torch.ones(8, 512, 7, 7)).shape
        torch.Size([8, 512, 1, 1])
        >>> nn.AdaptiveAvgPool2d((None, 3))(torch.ones(1, 8, 7, 7)).shape
        torch.Size([1, 8, 7, 3])
    """

    _name = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """As `AdaptiveAvgPool2d`, of volumes: (N, C, D, H, W) -> (N, C, *output_size)."""

    _name = "adaptive_avg_pool3d"


class _AdaptiveMaxPoolNd(Module):
    __constants__ = ["output_size", "return_indices"]
    _name: str

    def __init__(self, output_size: int | Sequence[int | None] | None, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._name)(input, self.output_size, self.return_indices)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """As `AdaptiveMaxPool2d`, of signals: (N, C, L) -> (N, C, output_size)."""

    _name = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """Take maxima of images over windows chosen so that the output has a given size.

    Args:
        output_size: height and width of the output; one number for both, None for the input's.
        return_indices: also return where each maximum was found.

    Shape:
        (N, C, H, W) -> (N, C, *output_size), or without N.

    Example:
        >>> nn.AdaptiveMaxPool2d(1)(torch.arange(9.0).reshape(1, 1, 3, 3))
        tensor([[[[8.]]]])
        >>> nn.AdaptiveMaxPool2d((2, 3))(torch.ones(1, 8, 7, 7)).shape
        torch.Size([1, 8, 2, 3])
    """

    _name = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """As `AdaptiveMaxPool2d`, of volumes: (N, C, D, H, W) -> (N, C, *output_size)."""

    _name = "adaptive_max_pool3d"
