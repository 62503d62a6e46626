"""Deformable convolution (Dai et al. 2017; Zhu et al. 2018): a kernel whose taps are moved by offsets."""

from __future__ import annotations

import math
from typing import Any

from ...core.tensor import Tensor
from ...nn import Module, Parameter, init
from ...operators.create.filled import empty
from ...operators.create.ranges import arange
from ._regions import pair

__all__ = ["DeformConv2d", "deform_conv2d"]

# Written with tensor ops all through: offsets and masks are differentiable, so every derivative follows.


def _positions(
    offset: Tensor, kernel: tuple[int, int], stride: Any, padding: Any, dilation: Any
) -> tuple[Tensor, Tensor]:
    """Where every tap reads, in rows and in columns: (N, groups, taps, oh, ow) each."""
    n, _, oh, ow = offset.shape
    taps = kernel[0] * kernel[1]
    moved = offset.reshape(n, -1, taps, 2, oh, ow)
    options: dict[str, Any] = {"dtype": offset.dtype, "device": offset.device}
    tap = arange(taps, device=offset.device)
    row, column = tap.div(kernel[1], rounding_mode="floor"), tap % kernel[1]
    y = (arange(oh, **options) * stride[0] - padding[0])[None, :, None] + (row * dilation[0])[:, None, None]
    x = (arange(ow, **options) * stride[1] - padding[1])[None, None, :] + (column * dilation[1])[:, None, None]
    return y + moved[:, :, :, 0], x + moved[:, :, :, 1]


def _read(planes: Tensor, y: Tensor, x: Tensor) -> Tensor:
    """planes (N, groups, C, H, W) read between the pixels, zero outside: (N, groups, C, taps, oh, ow)."""
    n, groups, channels, height, width = planes.shape
    flat = planes.flatten(3)
    inside = (y > -1) & (y < height) & (x > -1) & (x < width)
    top, left = y.detach().floor(), x.detach().floor()
    dy, dx = y - top, x - left
    total: Any = None
    for down in (0, 1):
        for right in (0, 1):
            row, column = top + down, left + right
            valid = inside & (row >= 0) & (row < height) & (column >= 0) & (column < width)
            weight = (dy if down else 1 - dy) * (dx if right else 1 - dx)
            place = row.clamp(0, height - 1).long() * width + column.clamp(0, width - 1).long()
            place = place.reshape(n, groups, 1, -1).expand(-1, -1, channels, -1)
            value = flat.gather(3, place).reshape(n, groups, channels, *y.shape[2:])
            part = value * weight.masked_fill(~valid, 0.0)[:, :, None]
            total = part if total is None else total + part
    return total


def _check(input: Tensor, offset: Tensor, weight: Tensor, mask: Tensor | None, out: Any) -> int:
    taps = weight.shape[2] * weight.shape[3]
    groups = offset.shape[1] // (2 * taps)
    if groups == 0:
        raise RuntimeError(
            "the shape of the offset tensor at dimension 1 is not valid. It should be a multiple of 2 * "
            f"weight.size[2] * weight.size[3].\nGot offset.shape[1]={offset.shape[1]}, while 2 * weight.size[2] * "
            f"weight.size[3]={2 * taps}"
        )
    if offset.shape[1] != groups * 2 * taps or input.shape[1] % groups:
        raise RuntimeError(f"offset.shape[1] is not valid: got: {offset.shape[1]} expected: {groups * 2 * taps}")
    wanted = (input.shape[0], groups * 2 * taps, *out)
    if tuple(offset.shape) != wanted:
        raise RuntimeError(f"invalid offset shape: expected {wanted} but got {tuple(offset.shape)}")
    if mask is not None and tuple(mask.shape) != (input.shape[0], groups * taps, *out):
        raise RuntimeError(
            f"invalid mask shape: expected {(input.shape[0], groups * taps, *out)} but got {tuple(mask.shape)}"
        )
    if input.shape[1] % weight.shape[1] or weight.shape[0] % (input.shape[1] // weight.shape[1]):
        raise RuntimeError(f"a weight of {tuple(weight.shape)} does not fit an input of {input.shape[1]} channels")
    return groups


def deform_conv2d(
    input: Tensor,
    offset: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = (1, 1),
    padding: Any = (0, 0),
    dilation: Any = (1, 1),
    mask: Tensor | None = None,
) -> Tensor:
    """Convolve with a kernel whose taps are moved, for each pixel of the result, by offsets.

    Args:
        input: (N, C, H, W).
        offset: (N, 2 * offset groups * kernel height * kernel width, oh, ow): how far every tap is moved
            down and to the right.
        weight: (O, C // groups, kernel height, kernel width).
        bias: (O,).
        stride: distance of the kernel's centres.
        padding: zeros around the input.
        dilation: distance of the kernel's taps.
        mask: (N, offset groups * kernel height * kernel width, oh, ow), factors of the taps.

    Returns:
        (N, O, oh, ow).

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> x = torch.arange(9.0).reshape(1, 1, 3, 3)
        >>> ops.deform_conv2d(x, torch.full((1, 2, 3, 3), 0.5), torch.ones(1, 1, 1, 1))[0, 0]
        tensor([[2.0000, 3.0000, 1.7500],
                [5.0000, 6.0000, 3.2500],
                [3.2500, 3.7500, 2.0000]])
    """
    if input.ndim != 4 or offset.ndim != 4 or weight.ndim != 4:
        raise RuntimeError("input, offset and weight of deform_conv2d need four dimensions each")
    stride, padding, dilation = pair(stride), pair(padding), pair(dilation)
    kernel = (weight.shape[2], weight.shape[3])
    out = [
        (n + 2 * p - (d * (k - 1) + 1)) // s + 1
        for n, p, d, k, s in zip(input.shape[2:], padding, dilation, kernel, stride)
    ]
    groups = _check(input, offset, weight, mask, out)
    n, channels = input.shape[:2]
    taps = kernel[0] * kernel[1]
    y, x = _positions(offset, kernel, stride, padding, dilation)
    planes = input.reshape(n, groups, channels // groups, *input.shape[2:])
    columns = _read(planes, y, x)
    if mask is not None:
        columns = columns * mask.reshape(n, groups, 1, taps, *out)
    parts = channels // weight.shape[1]
    columns = columns.reshape(n, parts, weight.shape[1] * taps, out[0] * out[1])
    made = weight.reshape(parts, weight.shape[0] // parts, -1) @ columns
    made = made.reshape(n, weight.shape[0], *out)
    return made if bias is None else made + bias.reshape(1, -1, 1, 1)


class DeformConv2d(Module):
    """As `deform_conv2d`, with weights of its own; ValueError if the channels cannot be divided by `groups`."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = pair(kernel_size), pair(stride)
        self.padding, self.dilation = pair(padding), pair(dilation)
        self.weight = Parameter(empty(out_channels, in_channels // groups, *self.kernel_size))
        if bias:
            self.bias: Any = Parameter(empty(out_channels))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw new weights."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.weight[0].numel())
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor, offset: Tensor, mask: Tensor | None = None) -> Tensor:
        return deform_conv2d(input, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask)

    def __repr__(self) -> str:
        said = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0, 0):
            said += f", padding={self.padding}"
        if self.dilation != (1, 1):
            said += f", dilation={self.dilation}"
        if self.groups != 1:
            said += f", groups={self.groups}"
        return f"{type(self).__name__}({said}{', bias=False' if self.bias is None else ''})"
