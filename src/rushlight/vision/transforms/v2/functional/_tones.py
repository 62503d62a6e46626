"""Colours of tensor pictures (..., C, H, W), by the rules of the second generation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from .....base import dtypes
from .....core.tensor import Tensor
from .....nn import functional as nnF
from .....operators.create.from_data import tensor
from .....operators.shape.join import cat, stack
from ..._convert import largest

if TYPE_CHECKING:
    from .....base.dtypes import dtype

__all__ = [
    "adjust_brightness_image", "adjust_brightness_video", "adjust_contrast_image",
    "adjust_contrast_video", "adjust_gamma_image", "adjust_gamma_video", "adjust_hue_image",
    "adjust_hue_video", "adjust_saturation_image", "adjust_saturation_video",
    "adjust_sharpness_image", "adjust_sharpness_video", "autocontrast_image", "autocontrast_video",
    "equalize_image", "equalize_video", "grayscale_to_rgb_image", "invert_image", "invert_video",
    "permute_channels_image", "permute_channels_video", "posterize_image", "posterize_video",
    "rgb_to_grayscale_image", "solarize_image", "solarize_video", "to_dtype_image",
]  # fmt: skip

_BITS = {"uint8": 8, "int8": 7, "uint16": 16, "int16": 15, "int32": 31, "int64": 63}


def _bits(dtype: dtype) -> int:
    if dtype.name not in _BITS:
        raise TypeError(f"Number of value bits is only defined for integer dtypes, but got {dtype}.")
    return _BITS[dtype.name]


def bound_of(dtype: dtype) -> float:
    """The number that stands for full brightness."""
    return 1.0 if dtype.is_floating_point else largest(dtype)


def _channels(image: Tensor) -> int:
    found = image.shape[-3]
    if found not in (1, 3):
        raise TypeError(f"Input image tensor permitted channel values are 1 or 3, but found {found}")
    return found


def _not_negative(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def to_dtype_image(image: Tensor, dtype: dtype = dtypes.float32, scale: bool = False) -> Tensor:
    """As `to_dtype`, for tensor pictures: the picture in another dtype, its numbers scaled to that dtype's range if `scale`."""
    if image.dtype == dtype:
        return image
    if not scale:
        return image.to(dtype)
    source = image.dtype
    if source.is_floating_point:
        return image.to(dtype) if dtype.is_floating_point else _to_whole(image, dtype)
    if dtype.is_floating_point:
        return image.to(dtype).mul_(1.0 / largest(source))
    steps = _bits(source) - _bits(dtype)
    if steps > 0:
        return image.div(2**steps, rounding_mode="floor").to(dtype)
    return image.to(dtype) * 2**-steps


def _to_whole(image: Tensor, dtype: dtype) -> Tensor:
    wide = dtype in (dtypes.int32, dtypes.int64)
    if (image.dtype == dtypes.float32 and wide) or (image.dtype == dtypes.float64 and dtype == dtypes.int64):
        raise RuntimeError(f"The conversion from {image.dtype} to {dtype} cannot be performed safely.")
    # A little below the next whole number, so that 1.0 becomes the largest number, not one more.
    return image.mul(largest(dtype) + 1.0 - 1e-3).to(dtype)


def _plus(a: Tensor, b: Tensor, share: float) -> Tensor:
    """a + share * b, rounded once: a byte may depend on it, for fractions are cut off."""
    if b.is_floating_point() and a.is_floating_point() and a.dtype == b.dtype != dtypes.float32:
        return a.add(b, alpha=share)
    exact = a.to(dtypes.float64) + b.to(dtypes.float64) * float(np.float32(share))
    return exact.to(a.dtype)


def _grey(image: Tensor, whole: bool = True) -> Tensor:
    """The luma of ITU-R 601 in one channel; in the picture's dtype if `whole`."""
    r, g, b = image.unbind(-3)
    luma = _plus(_plus(r.mul(0.2989), g, 0.587), b, 0.114).unsqueeze(-3)
    return luma.to(image.dtype) if whole else luma


def _in_colours(image: Tensor) -> Tensor:
    return image.repeat(*[1] * (image.ndim - 3), 3, 1, 1)


def rgb_to_grayscale_image(image: Tensor, num_output_channels: int = 1) -> Tensor:
    """As `rgb_to_grayscale`, for tensor pictures: the picture without colour, in one channel or three."""
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels must be 1 or 3, got {num_output_channels}.")
    if image.shape[-3] == 1:
        return image.clone() if num_output_channels == 1 else _in_colours(image)
    grey = _grey(image)
    return grey if num_output_channels == 1 else grey.expand(image.shape)


def grayscale_to_rgb_image(image: Tensor) -> Tensor:
    """As `grayscale_to_rgb`, for tensor pictures: a grey picture in three channels; one in colour as it is."""
    return image if image.shape[-3] >= 3 else _in_colours(image)


def _kept(output: Tensor, image: Tensor) -> Tensor:
    """A result within the range and in the dtype of a picture."""
    out = output.clamp(0, bound_of(image.dtype))
    return out if image.is_floating_point() else out.to(image.dtype)


def _blend(image: Tensor, other: Tensor, ratio: float) -> Tensor:
    ratio = float(ratio)
    return _kept(_plus(image.mul(ratio), other, 1.0 - ratio), image)


def adjust_brightness_image(image: Tensor, brightness_factor: float) -> Tensor:
    """As `adjust_brightness`, for tensor pictures: 0 is black, 1 the picture."""
    _not_negative("brightness_factor", brightness_factor)
    _channels(image)
    return _kept(image.mul(brightness_factor), image)


def _soft_grey(image: Tensor) -> Tensor:
    """The luma as a float, cut to whole numbers where the picture has them."""
    grey = _grey(image, whole=False)
    return grey if image.is_floating_point() else grey.floor()


def adjust_saturation_image(image: Tensor, saturation_factor: float) -> Tensor:
    """As `adjust_saturation`, for tensor pictures: 0 is grey, 1 the picture."""
    _not_negative("saturation_factor", saturation_factor)
    if _channels(image) == 1:
        return image
    return _blend(image, _soft_grey(image), saturation_factor)


def adjust_contrast_image(image: Tensor, contrast_factor: float) -> Tensor:
    """As `adjust_contrast`, for tensor pictures: 0 is one grey, 1 the picture."""
    _not_negative("contrast_factor", contrast_factor)
    if _channels(image) == 3:
        grey = _soft_grey(image)
    else:
        grey = image if image.is_floating_point() else image.to(dtypes.float32)
    return _blend(image, grey.mean((-3, -2, -1), keepdim=True), contrast_factor)


def adjust_sharpness_image(image: Tensor, sharpness_factor: float) -> Tensor:
    """As `adjust_sharpness`, for tensor pictures: 0 is blurred, 1 the picture, 2 sharper."""
    channels, height, width = image.shape[-3:]
    if channels not in (1, 3):
        raise TypeError(f"Input image tensor can have 1 or 3 channels, but found {channels}")
    _not_negative("sharpness_factor", sharpness_factor)
    if image.numel() == 0 or height <= 2 or width <= 2:
        return image
    work = image.to(image.dtype if image.is_floating_point() else dtypes.float32)
    work = work.reshape(-1, channels, height, width)
    rows = [[1 / 13] * 3, [1 / 13, 5 / 13, 1 / 13], [1 / 13] * 3]
    kernel = tensor(rows, dtype=work.dtype, device=work.device).expand(channels, 1, 3, 3)
    soft = nnF.conv2d(work, kernel, groups=channels)
    soft = soft if image.is_floating_point() else soft.round()
    out = work.clone()  # the outermost pixels have no neighbours on one side, and stay
    inner = work[..., 1:-1, 1:-1]
    out[..., 1:-1, 1:-1] = inner + (soft - inner) * (1.0 - sharpness_factor)
    return _kept(out, image).reshape(image.shape)


def _hsv(image: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Hue, saturation and value of floats."""
    r, g, b = image.unbind(-3)
    low, high = image.amin(-3), image.amax(-3)
    grey = high == low
    span = high - low
    divisor = span.masked_fill(grey, 1.0)
    dr, dg, db = (high - r) / divisor, (high - g) / divisor, (high - b) / divisor
    red = high == r
    green = (high == g) & ~red
    hue = (db - dg) * red + (2.0 + dr - db) * green + (4.0 + dg - dr) * ~(red | green)
    return (hue * (1.0 / 6.0) + 1.0).fmod(1.0), span / high.masked_fill(grey, 1.0), high


_SECTORS = [[0, 2, 1, 1, 3, 0], [3, 0, 0, 2, 1, 1], [1, 1, 3, 0, 0, 2]]  # of (v, p, q, t), for r, g and b


def _rgb(hue: Tensor, saturation: Tensor, value: Tensor) -> Tensor:
    sixth = (hue * 6).floor()
    rest = hue * 6 - sixth
    part, pale = saturation * rest, 1.0 - saturation
    p, q, t = (x.mul(value).clamp(0.0, 1.0) for x in (pale, 1.0 - part, part + pale))
    choices = stack([value, p, q, t], -3)
    which = tensor(_SECTORS, device=hue.device)[:, sixth.to(dtypes.int64) % 6]
    return choices.gather(-3, which.movedim(0, -3))


def adjust_hue_image(image: Tensor, hue_factor: float) -> Tensor:
    """As `adjust_hue`, for tensor pictures: hues turned by a part of the circle."""
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if _channels(image) == 1 or image.numel() == 0:
        return image
    hue, saturation, value = _hsv(to_dtype_image(image, dtypes.float32, scale=True))
    turned = _rgb((hue + hue_factor).remainder(1.0), saturation, value)
    return to_dtype_image(turned, image.dtype, scale=True)


def adjust_gamma_image(image: Tensor, gamma: float, gain: float = 1.0) -> Tensor:
    """As `adjust_gamma`, for tensor pictures: gain * image ** gamma, with the picture in [0, 1]."""
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    work = image if image.is_floating_point() else to_dtype_image(image, dtypes.float32, scale=True)
    out = work.pow(gamma)
    out = out if gain == 1.0 else (out * gain).clamp(0.0, 1.0)
    return to_dtype_image(out, image.dtype, scale=True)


def posterize_image(image: Tensor, bits: int) -> Tensor:
    """As `posterize`, for tensor pictures: only the highest bits kept."""
    if not isinstance(bits, int) or not 0 <= bits <= 8:
        raise TypeError(f"bits must be a positive integer in the range [0, 8], got {bits} instead.")
    if image.is_floating_point():
        levels = 1 << bits
        return image.mul(levels).floor().clamp(0, levels - 1).mul(1.0 / levels)
    width = _bits(image.dtype)
    return image if bits >= width else image & (((1 << bits) - 1) << (width - bits))


def invert_image(image: Tensor) -> Tensor:
    """As `invert`, for tensor pictures: the negative."""
    return 1.0 - image if image.is_floating_point() else largest(image.dtype) - image


def solarize_image(image: Tensor, threshold: float) -> Tensor:
    """As `solarize`, for tensor pictures: the negative of all that is at least as bright as the threshold."""
    if threshold > bound_of(image.dtype):
        raise TypeError(f"Threshold should be less or equal the maximum value of the dtype, but got {threshold}")
    return invert_image(image).where(image >= threshold, image)


def autocontrast_image(image: Tensor) -> Tensor:
    """As `autocontrast`, for tensor pictures: every channel stretched over the whole range."""
    _channels(image)
    if image.numel() == 0:
        return image
    bound = bound_of(image.dtype)
    work = image if image.is_floating_point() else image.to(dtypes.float32)
    low, high = work.amin((-2, -1), keepdim=True), work.amax((-2, -1), keepdim=True)
    flat = high == low
    step = ((high - low) * (1.0 / bound)).masked_fill(flat, 1.0)
    return ((work - low.masked_fill(flat, 0.0)) / step).clamp(0, bound).to(image.dtype)


def equalize_image(image: Tensor) -> Tensor:
    """As `equalize`, for tensor pictures: every channel with an even histogram."""
    if image.numel() == 0:
        return image
    bytes_ = to_dtype_image(image, dtypes.uint8, scale=True)
    flat = bytes_.flatten(-2).to(dtypes.int64)
    counts = flat.new_zeros((*flat.shape[:-1], 256))
    counts = counts.scatter_add(-1, flat, flat * 0 + 1)
    upto = counts.cumsum(-1)
    brightest = counts.gather(-1, upto.argmax(-1, keepdim=True))
    step = (flat.shape[-1] - brightest).div(255, rounding_mode="floor")
    table = (upto[..., :-1] + step // 2).div(step.clamp(min=1), rounding_mode="floor").clamp(0, 255)
    table = cat([table[..., :1] * 0, table], -1).to(dtypes.uint8)
    even = table.gather(-1, flat).reshape(bytes_.shape)
    return to_dtype_image(even.where(step.unsqueeze(-1) != 0, bytes_), image.dtype, scale=True)


def permute_channels_image(image: Tensor, permutation: Sequence[int]) -> Tensor:
    """As `permute_channels`, for tensor pictures: the channels in another order."""
    if len(permutation) != image.shape[-3]:
        raise ValueError(
            f"Length of permutation does not match number of channels: {len(permutation)} != {image.shape[-3]}"
        )
    if image.numel() == 0:
        return image
    order = permutation if isinstance(permutation, Tensor) else tensor(list(permutation))
    return image.index_select(-3, order.to(dtype=dtypes.int64, device=image.device))


adjust_brightness_video = adjust_brightness_image
adjust_saturation_video = adjust_saturation_image
adjust_contrast_video = adjust_contrast_image
adjust_sharpness_video = adjust_sharpness_image
adjust_hue_video = adjust_hue_image
adjust_gamma_video = adjust_gamma_image
posterize_video = posterize_image
solarize_video = solarize_image
autocontrast_video = autocontrast_image
equalize_video = equalize_image
invert_video = invert_image
permute_channels_video = permute_channels_image
