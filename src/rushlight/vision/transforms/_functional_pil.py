"""What transforms do to PIL images, by Pillow's own routines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from .._pillow import need
from ._geometry_tensor import ltrb

if TYPE_CHECKING:
    from .._pillow import PILImage


def get_dimensions(img: PILImage) -> list[int]:
    """[channels, height, width]."""
    return [len(img.getbands()), img.size[1], img.size[0]]


def hflip(img: PILImage) -> Any:
    return img.transpose(need().Transpose.FLIP_LEFT_RIGHT)


def vflip(img: PILImage) -> Any:
    return img.transpose(need().Transpose.FLIP_TOP_BOTTOM)


def crop(img: PILImage, top: int, left: int, height: int, width: int) -> Any:
    return img.crop((left, top, left + width, top + height))


def colour(fill: float | Sequence[float] | None, img: PILImage, name: str = "fill") -> Any:
    """A fill as Pillow wants it: one number per band, whole numbers for byte images."""
    bands = len(img.getbands())
    if fill is None:
        fill = 0
    if isinstance(fill, (int, float)):
        values = [fill] * bands
    else:
        values = list(fill) * (bands if len(fill) == 1 else 1)
        if len(values) != bands:
            raise ValueError(
                "The number of elements in 'fill' does not match the number of channels of the "
                f"image ({len(values)} != {bands})"
            )
    if img.mode != "F":
        values = [int(v) for v in values]
    return values[0] if bands == 1 else tuple(values)


def pad(
    img: PILImage,
    padding: int | Sequence[int],
    fill: float | Sequence[float] | None = 0,
    padding_mode: str = "constant",
) -> Any:
    """A rim around the image; negative padding cuts."""
    left, top, right, bottom = ltrb(padding)
    if padding_mode == "constant":
        border = (left, top, right, bottom)
        made = need("ImageOps").expand(img, border=border, fill=colour(fill, img))
        if img.mode == "P":
            made.putpalette(img.getpalette())
        return made
    cut = [min(s, 0) for s in (left, top, right, bottom)]
    if any(cut):
        img = img.crop((-cut[0], -cut[1], img.width + cut[2], img.height + cut[3]))
    left, top, right, bottom = (max(s, 0) for s in (left, top, right, bottom))
    a = np.asarray(img)
    rims = ((top, bottom), (left, right), (0, 0))[: a.ndim]
    made = need().fromarray(np.pad(a, rims, mode=padding_mode))  # type: ignore[call-overload]
    if img.mode == "P":
        made.putpalette(img.getpalette())
    return made


def resize(img: PILImage, size: Sequence[int], number: int) -> Any:
    """The image with `size` = (height, width); `number` is Pillow's for the interpolation."""
    return img.resize((size[1], size[0]), number)


def rotate(img: Any, angle: float, number: int, expand: bool, center: Any, fill: Any) -> Any:
    return img.rotate(angle, number, expand, center, fillcolor=colour(fill, img))


def affine(img: PILImage, matrix: Sequence[float], number: int, fill: float | Sequence[float] | None) -> Any:
    kind = need().Transform.AFFINE
    return img.transform(img.size, kind, matrix, number, fillcolor=colour(fill, img))


def perspective(img: PILImage, coefficients: Sequence[float], number: int, fill: float | Sequence[float] | None) -> Any:
    kind = need().Transform.PERSPECTIVE
    return img.transform(img.size, kind, coefficients, number, fillcolor=colour(fill, img))


def to_grayscale(img: PILImage, num_output_channels: int) -> Any:
    grey = img.convert("L")
    if num_output_channels == 1:
        return grey
    if num_output_channels == 3:
        return need().merge("RGB", [grey] * 3)
    raise ValueError("num_output_channels should be either 1 or 3")


def adjust_brightness(img: PILImage, brightness_factor: float) -> Any:
    return need("ImageEnhance").Brightness(img).enhance(brightness_factor)


def adjust_contrast(img: PILImage, contrast_factor: float) -> Any:
    return need("ImageEnhance").Contrast(img).enhance(contrast_factor)


def adjust_saturation(img: PILImage, saturation_factor: float) -> Any:
    return need("ImageEnhance").Color(img).enhance(saturation_factor)


def adjust_sharpness(img: PILImage, sharpness_factor: float) -> Any:
    return need("ImageEnhance").Sharpness(img).enhance(sharpness_factor)


def adjust_hue(img: PILImage, hue_factor: float) -> Any:
    if not -0.5 <= hue_factor <= 0.5:
        raise ValueError(f"hue_factor ({hue_factor}) is not in [-0.5, 0.5].")
    if img.mode in ("L", "1", "I", "F"):
        return img
    image = need()
    h, s, v = img.convert("HSV").split()
    turned = np.array(h, np.uint8)
    turned += np.array(int(hue_factor * 255)).astype(np.uint8)  # hues go round
    return image.merge("HSV", (image.fromarray(turned), s, v)).convert(img.mode)


def adjust_gamma(img: PILImage, gamma: float, gain: float = 1.0) -> Any:
    if gamma < 0:
        raise ValueError("Gamma should be a non-negative real number")
    table = [int((255 + 1 - 1e-3) * gain * pow(k / 255.0, gamma)) for k in range(256)] * 3
    return img.convert("RGB").point(table).convert(img.mode)


def _operate(what: str, img: PILImage, *args: Any, **words: Any) -> Any:
    """Pillow's ImageOps of that name."""
    return getattr(need("ImageOps"), what)(img, *args, **words)


invert, autocontrast, equalize = (partial(_operate, n) for n in ("invert", "autocontrast", "equalize"))
posterize, solarize = (partial(_operate, n) for n in ("posterize", "solarize"))
