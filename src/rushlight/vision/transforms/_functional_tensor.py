"""The functions of tensor images, in the one module in which torchvision has them."""

from __future__ import annotations

from ...core.tensor import Tensor
from ._color_tensor import (
    _hsv2rgb,
    _rgb2hsv,
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    adjust_hue,
    adjust_saturation,
    adjust_sharpness,
    autocontrast,
    equalize,
    invert,
    posterize,
    rgb_to_grayscale,
    solarize,
)
from ._convert import convert_image_dtype
from ._convert import largest as _max_value
from ._geometry_tensor import (
    affine,
    crop,
    erase,
    gaussian_blur,
    get_dimensions,
    hflip,
    pad,
    perspective,
    resize,
    rotate,
    vflip,
)

__all__ = [
    "_hsv2rgb", "_max_value", "_rgb2hsv", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_saturation", "adjust_sharpness", "affine", "autocontrast", "convert_image_dtype", "crop", "equalize",
    "erase", "gaussian_blur", "get_dimensions", "get_image_num_channels", "get_image_size", "hflip", "invert", "pad",
    "perspective", "posterize", "resize", "rgb_to_grayscale", "rotate", "solarize", "vflip",
]  # fmt: skip


def get_image_size(img: Tensor) -> list[int]:
    """[width, height]."""
    return get_dimensions(img)[:0:-1]


def get_image_num_channels(img: Tensor) -> int:
    """How many channels there are."""
    return get_dimensions(img)[0]
