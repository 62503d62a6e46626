"""Windows and blocks as channels: unfold, fold, pixel and channel shuffles."""

from __future__ import annotations

from math import prod
from typing import Any

from ...base.arrays import Array, ArrayModule, Shaped
from ...base.shapes import several_whole, whole, window_count
from ...core.op import Op
from ...core.public import public
from ...core.tensor import Tensor
from ...runtime.facts import Facts
from ..layers.conv_kernels import Dims, pad_zeros, places, windows
from ..made_of.guards import check_kind

# -- unfold and fold ----------------------------------------------------------------------------


def _unfold_windows(xp: ArrayModule, x: Array, *, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims) -> Any:
    """The windows of x (N, C, H, W) as columns, (N, C * kernel, windows)."""
    view = windows(xp, pad_zeros(xp, x, padding), kernel, stride, dilation)
    n = len(kernel)
    view = xp.moveaxis(view, n + 1, 0)
    columns = view.reshape(x.shape[0], x.shape[1] * prod(kernel), prod(view.shape[n + 2 :]))
    return columns.copy() if xp.may_share_memory(columns, x) else columns


def _fold_windows(xp: ArrayModule, x: Array, *, size: Dims, kernel: Dims, stride: Dims, padding: Dims,
                  dilation: Dims) -> Any:  # fmt: skip
    """Columns added back to the places their windows saw, (N, C, *size)."""
    out = window_count(size, kernel, stride, padding, dilation)
    parts = x.reshape(x.shape[0], x.shape[1] // prod(kernel), *kernel, *out)
    padded = [n + 2 * p for n, p in zip(size, padding)]
    total = xp.zeros((*parts.shape[:2], *padded), x.dtype)
    for offset, place in places(kernel, out, stride, dilation):
        total[place] += parts[(slice(None), slice(None), *offset)]
    inside = total[(..., *[slice(p, p + n) for p, n in zip(padding, size)])]
    return xp.ascontiguousarray(inside)


def _unfold_meta(x: Shaped, *, kernel: Dims, stride: Dims, padding: Dims, dilation: Dims) -> tuple:
    out = window_count(x.shape[2:], kernel, stride, padding, dilation)
    return (x.shape[0], x.shape[1] * prod(kernel), prod(out)), x.dtype


_unfold_op = Op(
    _unfold_windows,
    "im2col",
    moves_only=True,
    grad_name="Im2ColBackward0",
    meta=_unfold_meta,
    facts=Facts(vmap="more_rows"),
)
_fold_op = Op(
    _fold_windows, "col2im", grad_name="Col2ImBackward0",
    meta=lambda x, *, size, kernel, **attrs: (
        (x.shape[0], x.shape[1] // prod(kernel), *size), x.dtype), facts=Facts(vmap="more_rows"),
)  # fmt: skip
_unfold_op.derivative(
    x=lambda g, x_shape, kernel, stride, padding, dilation: _fold_op(
        g, size=x_shape[2:], kernel=kernel, stride=stride, padding=padding, dilation=dilation
    )
)
_fold_op.derivative(
    x=lambda g, kernel, stride, padding, dilation: _unfold_op(
        g, kernel=kernel, stride=stride, padding=padding, dilation=dilation
    )
)


def _pair(value: Any, name: str) -> Dims:
    values = several_whole(value, 2, name)
    if len(values) != 2:
        raise RuntimeError(f"It is expected {name} equals to 2, but got size {len(values)}")
    return values


def _check_positive(**sizes: Dims) -> None:
    for name, (h, w) in sizes.items():
        if min(h, w) <= 0:
            raise RuntimeError(
                f"{name} should be greater than zero, but got {name.split('_')[0]}_height: {h} "
                f"{name.split('_')[0]}_width: {w}"
            )


@public("functional")
def unfold(input: Tensor, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Tensor:
    """As `nn.Unfold`, as one call."""
    kernel, gap = _pair(kernel_size, "kernel_size"), _pair(dilation, "dilation")
    pad, step = _pair(padding, "padding"), _pair(stride, "stride")
    shape = input._a.shape
    if len(shape) not in (3, 4) or 0 in shape[1:] or (len(shape) == 3 and 0 in shape):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(shape)}"
        )
    _check_positive(kernel_size=kernel, dilation=gap, stride=step)
    out = window_count(shape[-2:], kernel, step, pad, gap)
    if min(out) < 1:
        raise RuntimeError(
            f"Given input with spatial size {tuple(shape[-2:])}, kernel_size={kernel}, "
            f"dilation={gap}, padding={pad}, calculated shape of the array of sliding blocks as "
            f"{out}, but its components must be at least one."
        )
    check_kind(input, "fVcb", "im2col_out_cpu")
    x = input if len(shape) == 4 else input.unsqueeze(0)
    columns = _unfold_op(x, kernel=kernel, stride=step, padding=pad, dilation=gap)
    return columns if len(shape) == 4 else columns.squeeze(0)


@public("functional")
def fold(
    input: Tensor, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Tensor:
    """As `nn.Fold`, as one call."""
    size, kernel = _pair(output_size, "output_size"), _pair(kernel_size, "kernel_size")
    gap, pad, step = _pair(dilation, "dilation"), _pair(padding, "padding"), _pair(stride, "stride")
    shape = input._a.shape
    if len(shape) not in (2, 3) or 0 in shape[-2:]:
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(shape)}"
        )
    _check_positive(kernel_size=kernel, dilation=gap, stride=step)
    if shape[-2] % prod(kernel):
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, but "
            f"got input.size(1)={shape[-2]} and kernel_size={kernel}."
        )
    check_kind(input, "fVcb", "col2im_out_cpu")
    out = window_count(size, kernel, step, pad, gap)
    if prod(out) != shape[-1] or min(out) < 1:
        raise RuntimeError(
            f"Given output_size={size}, kernel_size={kernel}, dilation={gap}, padding={pad}, "
            f"stride={step}, expected size of input's dimension 2 to match the calculated number of "
            f"sliding blocks {out[0]} * {out[1]} = {prod(out)}, but got input.size(2)={shape[-1]}."
        )
    x = input if len(shape) == 3 else input.unsqueeze(0)
    image = _fold_op(x, size=size, kernel=kernel, stride=step, padding=pad, dilation=gap)
    return image if len(shape) == 3 else image.squeeze(0)


# -- shuffles -----------------------------------------------------------------------------------


def _check_shuffle(name: str, x: Tensor, factor: int, which: str) -> None:
    if x._a.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {x._a.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {which}, but got {factor}")


@public("torch", "functional")
def pixel_shuffle(input: Tensor, upscale_factor: int) -> Tensor:
    """As `nn.PixelShuffle`, as a function."""
    r = whole(upscale_factor, "upscale_factor")
    _check_shuffle("pixel_shuffle", input, r, "upscale_factor")
    *lead, c, h, w = input._a.shape
    if c % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of "
            f"upscale_factor, but input.size(-3)={c} is not divisible by {r * r}"
        )
    n = len(lead)
    blocks = input.reshape((*lead, c // (r * r), r, r, h, w))
    mixed = blocks.permute(*range(n), n, n + 3, n + 1, n + 4, n + 2)
    made = mixed.reshape((*lead, c // (r * r), h * r, w * r))
    return made.clone() if r == 1 else made  # else it would be a view


@public("torch", "functional")
def pixel_unshuffle(input: Tensor, downscale_factor: int) -> Tensor:
    """As `nn.PixelUnshuffle`, as a function."""
    r = whole(downscale_factor, "downscale_factor")
    _check_shuffle("pixel_unshuffle", input, r, "downscale_factor")
    *lead, c, h, w = input._a.shape
    for name, size, at in (("height", h, -2), ("width", w, -1)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but "
                f"input.size({at})={size} is not divisible by {r}"
            )
    n = len(lead)
    blocks = input.reshape((*lead, c, h // r, r, w // r, r))
    mixed = blocks.permute(*range(n), n, n + 2, n + 4, n + 1, n + 3)
    made = mixed.reshape((*lead, c * r * r, h // r, w // r))
    return made.clone() if r == 1 else made


@public("torch", "functional", aliases=("native_channel_shuffle",))
def channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """As `nn.ChannelShuffle`, as a function."""
    shape = input._a.shape
    if len(shape) < 3:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(shape)}")
    if whole(groups, "groups") <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    if shape[1] % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {shape[1]} channels and {groups} groups."
        )
    parts = input.reshape((shape[0], groups, shape[1] // groups, *shape[2:]))
    return parts.transpose(1, 2).reshape(shape)
