"""What makes a convolution lazy: channels taken from the first input."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...core.tensor import Tensor
from ..parameter import UninitializedParameter
from .lazy import LazyModuleMixin

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ...base.device import device
    from ...base.dtypes import dtype


class _LazyConvNd(LazyModuleMixin):
    """Makes weight and bias when `in_channels` is known, at the first call."""

    _n: int

    def _wait(
        self: Any,
        out_channels: int,
        bias: bool,
        device: device | str | int | None,
        dtype: dtype | None,
    ) -> None:
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
        super().__init__(
            0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode,
            device, dtype,
        )  # fmt: skip
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
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation,
            padding_mode, device, dtype,
        )  # fmt: skip
        self._wait(out_channels, bias, device, dtype)
