"""Colours of tensor images (..., C, H, W)."""

from __future__ import annotations

from typing import Any

from ...base import dtypes
from ...core.tensor import Tensor
from ...nn import functional as F
from ...operators.create.from_data import tensor
from ...operators.shape.join import stack
from ._convert import convert_image_dtype, largest
from ._geometry_tensor import check, get_dimensions, with_floats


def _channels(img: Tensor, permitted: tuple[int, ...]) -> int:
    check(img)
    found = get_dimensions(img)[0]
    if found not in permitted:
        raise TypeError(f"Input image tensor permitted channel values are {list(permitted)}, but found {found}")
    return found


def _bound(img: Tensor) -> float:
    return 1.0 if img.is_floating_point() else float(largest(img.dtype))


def _blend(img: Tensor, other: Tensor, ratio: float) -> Tensor:
    ratio = float(ratio)  # a whole number would multiply bytes as bytes
    return (ratio * img + (1.0 - ratio) * other).clamp(0, _bound(img)).to(img.dtype)


def rgb_to_grayscale(img: Tensor, num_output_channels: int = 1) -> Tensor:
    """The luma of ITU-R 601, in one channel or repeated in three."""
    if img.ndim < 3:
        raise TypeError(f"Input image tensor should have at least 3 dimensions, but found {img.ndim}")
    _channels(img, (1, 3))
    if num_output_channels not in (1, 3):
        raise ValueError("num_output_channels should be either 1 or 3")
    if img.shape[-3] == 3:
        r, g, b = img.unbind(-3)
        grey = (0.2989 * r + 0.587 * g + 0.114 * b).to(img.dtype).unsqueeze(-3)
    else:
        grey = img.clone()
    return grey.expand(*img.shape[:-3], 3, *img.shape[-2:]) if num_output_channels == 3 else grey


def _check_factor(name: str, factor: float) -> None:
    if factor < 0:
        raise ValueError(f"{name} ({factor}) is not non-negative.")


def adjust_brightness(img: Tensor, brightness_factor: float) -> Tensor:
    _check_factor("brightness_factor", brightness_factor)
    _channels(img, (1, 3))
    return _blend(img, img * 0, brightness_factor)


def adjust_contrast(img: Tensor, contrast_factor: float) -> Tensor:
    _check_factor("contrast_factor", contrast_factor)
    _channels(img, (1, 3))
    work = img.dtype if img.is_floating_point() else dtypes.float32
    grey = rgb_to_grayscale(img) if img.shape[-3] == 3 else img
    return _blend(img, grey.to(work).mean((-3, -2, -1), keepdim=True), contrast_factor)


def adjust_saturation(img: Tensor, saturation_factor: float) -> Tensor:
    _check_factor("saturation_factor", saturation_factor)
    if _channels(img, (1, 3)) == 1:
        return img
    return _blend(img, rgb_to_grayscale(img), saturation_factor)


def adjust_hue(img: Tensor, hue_factor: float) -> Tensor:
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if _channels(img, (1, 3)) == 1:
        return img
    source = img.dtype
    rgb = img if img.is_floating_point() else convert_image_dtype(img, dtypes.float32)
    h, s, v = _rgb2hsv(rgb).unbind(-3)
    return convert_image_dtype(_hsv2rgb(stack(((h + hue_factor) % 1.0, s, v), -3)), source)


def _rgb2hsv(img: Tensor) -> Tensor:
    r, g, b = img.unbind(-3)
    high, low = img.amax(-3), img.amin(-3)
    grey = high == low
    span = high - low
    s = span / high.where(~grey, high * 0 + 1)
    safe = span.where(~grey, span * 0 + 1)
    rc, gc, bc = (high - r) / safe, (high - g) / safe, (high - b) / safe
    red = high == r
    green = (high == g) & ~red
    h = (bc - gc) * red + (2.0 + rc - bc) * green + (4.0 + gc - rc) * (~red & (high != g))
    return stack(((h / 6.0 + 1.0) % 1.0, s, high), -3)


def _hsv2rgb(img: Tensor) -> Tensor:
    h, s, v = img.unbind(-3)
    sector = (h * 6.0).floor()
    f = h * 6.0 - sector
    which = sector.to(dtypes.int32) % 6
    p = (v * (1.0 - s)).clamp(0.0, 1.0)
    q = (v * (1.0 - s * f)).clamp(0.0, 1.0)
    t = (v * (1.0 - s * (1.0 - f))).clamp(0.0, 1.0)
    by_sector = ((v, q, p, p, t, v), (t, v, v, q, p, p), (p, p, t, v, v, q))
    out = []
    for choices in by_sector:
        colour = choices[0] * (which == 0)
        for k in range(1, 6):
            colour = colour + choices[k] * (which == k)
        out.append(colour)
    return stack(out, -3)


def adjust_gamma(img: Tensor, gamma: float, gain: float = 1) -> Tensor:
    check(img)
    _channels(img, (1, 3))
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    x = img if img.is_floating_point() else convert_image_dtype(img, dtypes.float32)
    return convert_image_dtype((gain * x**gamma).clamp(0, 1), img.dtype)


def invert(img: Tensor) -> Tensor:
    _channels(img, (1, 3))
    return _bound(img) - img if img.is_floating_point() else int(_bound(img)) - img


def posterize(img: Tensor, bits: int) -> Tensor:
    _channels(img, (1, 3))
    if img.dtype != dtypes.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    return img & -int(2 ** (8 - bits)) % 256


def solarize(img: Tensor, threshold: float) -> Tensor:
    _channels(img, (1, 3))
    if threshold > _bound(img):
        raise TypeError("Threshold should be less than bound of img.")
    return invert(img).where(img >= threshold, img)


def adjust_sharpness(img: Tensor, sharpness_factor: float) -> Tensor:
    _check_factor("sharpness_factor", sharpness_factor)
    _channels(img, (1, 3))
    if img.shape[-1] <= 2 or img.shape[-2] <= 2:
        return img
    return _blend(img, _soft(img), sharpness_factor)


def _soft(img: Tensor) -> Tensor:
    """Each inner pixel averaged with its neighbours, itself counted five times."""

    def smooth(batch: Tensor) -> Tensor:
        rows = [[1.0, 1.0, 1.0], [1.0, 5.0, 1.0], [1.0, 1.0, 1.0]]
        kernel = tensor(rows, dtype=batch.dtype, device=batch.device) / 13.0
        channels = batch.shape[-3]
        return F.conv2d(batch, kernel.expand(channels, 1, 3, 3), groups=channels)

    out = img.clone()
    out[..., 1:-1, 1:-1] = with_floats(img, smooth)
    return out


def autocontrast(img: Tensor) -> Tensor:
    _channels(img, (1, 3))
    bound = _bound(img)
    x = img.to(img.dtype if img.is_floating_point() else dtypes.float32)
    low, high = x.amin((-2, -1), keepdim=True), x.amax((-2, -1), keepdim=True)
    flat = high == low
    scale = bound / (high - low).where(~flat, high * 0 + bound)
    return ((x - low.where(~flat, low * 0)) * scale).clamp(0, bound).to(img.dtype)


def equalize(img: Tensor) -> Tensor:
    _channels(img, (1, 3))
    if img.dtype != dtypes.uint8:
        raise TypeError(f"Only torch.uint8 image tensors are supported, but found {img.dtype}")
    planes = [_equalized(plane) for plane in img.reshape(-1, *img.shape[-2:])]
    return stack(planes).reshape(img.shape)


def _equalized(plane: Tensor) -> Any:
    """One channel with an even histogram, by Pillow's rule."""
    counts = plane.flatten().to(dtypes.int64).bincount(minlength=256)
    filled = counts[counts != 0]
    step = int(filled[:-1].sum()) // 255
    if step == 0:
        return plane
    table = ((counts.cumsum(0) - counts + step // 2) // step).clamp(0, 255).to(dtypes.uint8)
    return table[plane.to(dtypes.int64)]
