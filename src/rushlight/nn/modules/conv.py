"""Convolution layers."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

from ...base.device import device
from ...base.dtypes import dtype
from ...core.tensor import Tensor
from ...operators.create.filled import empty
from .. import functional as F
from .. import init
from ..common_types import _size_1_t, _size_2_t, _size_3_t  # noqa: F401 - asked for here
from ..parameter import Parameter, UninitializedParameter
from .lazy import LazyModuleMixin
from .module import Module
from .utils import _ntuple, _pair, _reverse_repeat_tuple, _single, _triple  # noqa: F401

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d",
    "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip


class _LazyConvNd(LazyModuleMixin):
    """Makes weight and bias when `in_channels` is known, at the first call."""

    _n: int

    def _wait(self: Any, out_channels: int, bias: bool, device: device | str | int | None, dtype: dtype | None) -> None:
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        self.out_channels = out_channels
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self: Any) -> None:
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # type: ignore[misc]

    def initialize_parameters(self: Any, input: Tensor, *args: Any, **kwargs: Any) -> None:
        if self.has_uninitialized_params():
            self.in_channels = self._channels_of(input)
            if self.in_channels % self.groups != 0:
                raise ValueError("in_channels must be divisible by groups")
            ends = (self.out_channels, self.in_channels)
            first, second = ends[::-1] if self.transposed else ends
            self.weight.materialize((first, second // self.groups, *self.kernel_size))
            if self.bias is not None:
                self.bias.materialize((self.out_channels,))
            self.reset_parameters()

    def _channels_of(self: Any, input: Tensor) -> int:
        n = self._n
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        return input.shape[1] if input.dim() == n + 2 else input.shape[0]


class LazyConv(_LazyConvNd):
    """The first base class of lazy convolutions."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | str | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._wait(out_channels, bias, device, dtype)


class LazyConvTranspose(_LazyConvNd):
    """The first base class of lazy transposed convolutions."""

    def __init__(
        self,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | str | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._wait(out_channels, bias, device, dtype)


_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The base class of convolutions: sizes, a weight, and a bias or None."""

    __constants__ = [
        "stride", "padding", "dilation", "groups", "padding_mode", "output_padding",
        "in_channels", "out_channels", "kernel_size",
    ]  # fmt: skip
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...] | str,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        super().__init__()
        _check(in_channels, out_channels, groups, padding, stride, padding_mode)
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding: Any = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._both_sides()
        first, second = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        shape = (first, second // groups, *kernel_size)
        self.weight = Parameter(empty(shape, device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(empty(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _both_sides(self) -> Any:
        """The padding as `F.pad` takes it: both sides of the last dimension, then of the one before."""
        if not isinstance(self.padding, str):
            return _reverse_repeat_tuple(self.padding, 2)
        sides = []
        for k, d in zip(reversed(self.kernel_size), reversed(self.dilation)):
            total = d * (k - 1) if self.padding == "same" else 0
            sides += [total // 2, total - total // 2]
        return sides

    def reset_parameters(self) -> None:
        """Draw weight and bias from U(-1/sqrt(fan_in), 1/sqrt(fan_in))."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state: dict) -> None:
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


def _check(
    in_channels: int, out_channels: int, groups: int, padding: int | str | Sequence[int], stride: tuple, mode: str
) -> None:
    if groups <= 0:
        raise ValueError("groups must be a positive integer")
    if in_channels % groups != 0:
        raise ValueError("in_channels must be divisible by groups")
    if out_channels % groups != 0:
        raise ValueError("out_channels must be divisible by groups")
    if isinstance(padding, str):
        if padding not in ("same", "valid"):
            raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'valid', 'same'}}")
        if padding == "same" and any(s != 1 for s in stride):
            raise ValueError("padding='same' is not supported for strided convolutions")
    if mode not in _PADDING_MODES:
        raise ValueError(f"padding_mode must be one of {set(_PADDING_MODES)}, but got padding_mode='{mode}'")


class _Conv(_ConvNd):
    """A convolution of `_n` spatial dimensions."""

    _n: int
    _name: str

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | str | Sequence[int] = 0,
        dilation: int | Sequence[int] = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        spread = _ntuple(self._n)
        super().__init__(
            in_channels,
            out_channels,
            spread(kernel_size),
            spread(stride),
            padding if isinstance(padding, str) else spread(padding),
            spread(dilation),
            False,
            spread(0),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: Any = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = 0
        return getattr(F, self._name)(input, weight, bias, self.stride, padding, self.dilation, self.groups)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Conv):
    """As `Conv2d`, of signals (N, C_in, L); options are one number."""

    _n = 1
    _name = "conv1d"


class Conv2d(_Conv):
    """Convolve images: every output is a weighted sum of a window of the input.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: height and width of the window; one number for both.
        stride: steps between windows.
        padding: rows and columns added on every side; or "same" (the output keeps the input's
            size; needs stride 1), or "valid" (none).
        dilation: distance between the elements of a window.
        groups: split channels into groups that do not see each other; `in_channels` gives a
            depthwise convolution.
        bias: False leaves `bias` out.
        padding_mode: what is added: "zeros", "reflect", "replicate" or "circular".

    Shape:
        (N, in_channels, H, W) -> (N, out_channels, H', W'), or without N;
        H' = floor((H + 2 padding - dilation (kernel_size - 1) - 1) / stride) + 1, and W' likewise.

    Attributes:
        weight: (out_channels, in_channels / groups, *kernel_size), drawn from U(-k, k) with
            k = 1 / sqrt(in_channels / groups * kernel height * kernel width).
        bias: (out_channels,), drawn the same way, or None.

    Raises:
        ValueError: if channels cannot be divided by `groups`, or a padding is not known.

    Example:
        >>> layer = nn.Conv2d(3, 16, kernel_size=3, padding=1)
        >>> layer(torch.zeros(8, 3, 32, 32)).shape
        torch.Size([8, 16, 32, 32])
        >>> layer.weight.shape
        torch.Size([16, 3, 3, 3])
        >>> nn.Conv2d(3, 16, 3, stride=2, padding=1)(torch.zeros(8, 3, 32, 32)).shape
        torch.Size([8, 16, 16, 16])
    """

    _n = 2
    _name = "conv2d"


class Conv3d(_Conv):
    """As `Conv2d`, of volumes (N, C_in, D, H, W); options are three numbers."""

    _n = 3
    _name = "conv3d"


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution of `_n` spatial dimensions."""

    _n: int
    _name: str

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | Sequence[int],
        stride: int | Sequence[int] = 1,
        padding: int | str | Sequence[int] = 0,
        output_padding: int | Sequence[int] = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: int | Sequence[int] = 1,
        padding_mode: str = "zeros",
        device: device | str | int | None = None,
        dtype: dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        spread = _ntuple(self._n)
        super().__init__(
            in_channels,
            out_channels,
            spread(kernel_size),
            spread(stride),
            spread(padding),
            spread(dilation),
            True,
            spread(output_padding),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """The output padding with which the result has `output_size`; ValueError if there is none."""
        if output_size is None:
            return self.output_padding
        n = self._n
        has_batch = input.dim() == n + 2
        extra = 2 if has_batch else 1
        wanted = list(output_size)
        if len(wanted) == n + extra:
            wanted = wanted[extra:]
        if len(wanted) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or "
                f"{n + extra} elements (got {len(wanted)})"
            )
        low = [
            (input.size(d + extra) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(n)
        ]
        high = [low[d] + self.stride[d] - 1 for d in range(n)]
        if any(not lo <= size <= hi for lo, size, hi in zip(low, wanted, high)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {low} to "
                f"{high} (for an input of {input.size()[2:]})"
            )
        return tuple(size - lo for size, lo in zip(wanted, low))

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return getattr(F, self._name)(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self._output_padding(input, output_size),
            self.groups,
            self.dilation,
        )


class _ConvTransposeMixin(_ConvTransposeNd):
    """An older name of the base class, which programs derive from beside `_ConvNd`."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warnings.warn(
            "`_ConvTransposeMixin` is a deprecated internal class. Please consider using public APIs.",
            FutureWarning,
            stacklevel=2,
        )
        super().__init__(*args, **kwargs)


class ConvTranspose1d(_ConvTransposeNd):
    """As `ConvTranspose2d`, of signals (N, C_in, L); options are one number."""

    _n = 1
    _name = "conv_transpose1d"


class ConvTranspose2d(_ConvTransposeNd):
    """Transposed convolution of images: what a `Conv2d` sends back to its input, used to enlarge.

    Args:
        in_channels: channels of the input.
        out_channels: channels of the output.
        kernel_size: height and width of the window; one number for both.
        stride: steps between windows in the output.
        padding: rows and columns that are cut from every side of the output.
        output_padding: rows and columns that are added on one side of the output; several input
            sizes of a strided convolution have the same output size, and this chooses one.
        groups: split channels into groups that do not see each other.
        bias: False leaves `bias` out.
        dilation: distance between the elements of a window.
        padding_mode: only "zeros".

    Shape:
        (N, in_channels, H, W) -> (N, out_channels, H', W'), or without N;
        H' = (H - 1) stride - 2 padding + dilation (kernel_size - 1) + output_padding + 1, and W'
        likewise. `output_size=` of the call chooses the size instead of `output_padding`.

    Attributes:
        weight: (in_channels, out_channels / groups, *kernel_size).
        bias: (out_channels,), or None.

    Example:
        >>> up = nn.ConvTranspose2d(16, 8, 4, stride=2, padding=1)
        >>> up(torch.zeros(1, 16, 14, 14)).shape
        torch.Size([1, 8, 28, 28])
        >>> up = nn.ConvTranspose2d(16, 8, 3, stride=2, padding=1)
        >>> up(torch.zeros(1, 16, 6, 6), output_size=(12, 12)).shape
        torch.Size([1, 8, 12, 12])
    """

    _n = 2
    _name = "conv_transpose2d"


class ConvTranspose3d(_ConvTransposeNd):
    """As `ConvTranspose2d`, of volumes (N, C_in, D, H, W); options are three numbers."""

    _n = 3
    _name = "conv_transpose3d"


class LazyConv1d(LazyConv, Conv1d):
    """As `LazyConv2d`: a Conv1d that takes `in_channels` from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(LazyConv, Conv2d):
    """A Conv2d that takes `in_channels` from its first input.

    Args:
        out_channels, kernel_size, stride, padding, dilation, groups, bias, padding_mode: as in
            `Conv2d`.

    Example:
        >>> layer = nn.LazyConv2d(8, kernel_size=3)
        >>> layer(torch.zeros(2, 4, 10, 10)).shape
        torch.Size([2, 8, 8, 8])
        >>> layer
        Conv2d(4, 8, kernel_size=(3, 3), stride=(1, 1))
    """

    cls_to_become = Conv2d


class LazyConv3d(LazyConv, Conv3d):
    """As `LazyConv2d`: a Conv3d that takes `in_channels` from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(LazyConvTranspose, ConvTranspose1d):
    """As `LazyConvTranspose2d`: a ConvTranspose1d that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(LazyConvTranspose, ConvTranspose2d):
    """A ConvTranspose2d that takes `in_channels` from its first input.

    Args:
        out_channels, kernel_size, stride, padding, output_padding, groups, bias, dilation,
            padding_mode: as in `ConvTranspose2d`.

    Example:
        >>> layer = nn.LazyConvTranspose2d(8, 2, stride=2)
        >>> layer(torch.zeros(2, 4, 10, 10)).shape
        torch.Size([2, 8, 20, 20])
        >>> layer.in_channels
        4
    """

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(LazyConvTranspose, ConvTranspose3d):
    """As `LazyConvTranspose2d`: a ConvTranspose3d that takes `in_channels` from its first input."""

    cls_to_become = ConvTranspose3d
