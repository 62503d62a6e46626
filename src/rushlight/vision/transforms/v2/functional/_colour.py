"""Colours of pictures and videos: one functional for tensors and PIL images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....tv_tensors import Image
from ... import functional as v1
from . import _tones as tones
from ._registry import call, serve

if TYPE_CHECKING:
    from ...._pillow import Picture, PILImage

__all__ = [
    "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation",
    "adjust_sharpness", "autocontrast", "equalize", "grayscale_to_rgb", "invert",
    "permute_channels", "posterize", "rgb_to_grayscale", "solarize", "to_grayscale",
]  # fmt: skip


def rgb_to_grayscale(inpt: Picture, num_output_channels: int = 1) -> Any:
    """As `vision.transforms.functional.rgb_to_grayscale`, for pictures of `tv_tensors`, too."""
    return call(rgb_to_grayscale, inpt, num_output_channels=num_output_channels)


def _grey_pil(image: PILImage, num_output_channels: int = 1) -> Any:
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels must be 1 or 3, got {num_output_channels}.")
    return v1.to_grayscale(image, num_output_channels)


def grayscale_to_rgb(inpt: Picture) -> Any:
    """A grey picture in three channels; one in colour as it is.

    Args:
        inpt: a picture, as a tensor or a PIL image.

    Example:
        >>> from rushlight.vision.transforms.v2 import functional as F
        >>> F.grayscale_to_rgb(torch.zeros(1, 2, 4)).shape
        torch.Size([3, 2, 4])
    """
    return call(grayscale_to_rgb, inpt)


def adjust_brightness(inpt: Picture, brightness_factor: float) -> Any:
    """As `vision.transforms.functional.adjust_brightness`, for pictures and videos of `tv_tensors`, too."""
    return call(adjust_brightness, inpt, brightness_factor=brightness_factor)


def adjust_saturation(inpt: Picture, saturation_factor: float) -> Any:
    """As `vision.transforms.functional.adjust_saturation`, for pictures and videos of `tv_tensors`, too."""
    return call(adjust_saturation, inpt, saturation_factor=saturation_factor)


def adjust_contrast(inpt: Picture, contrast_factor: float) -> Any:
    """As `vision.transforms.functional.adjust_contrast`, for pictures and videos of `tv_tensors`, too."""
    return call(adjust_contrast, inpt, contrast_factor=contrast_factor)


def adjust_sharpness(inpt: Picture, sharpness_factor: float) -> Any:
    """As `vision.transforms.functional.adjust_sharpness`, for pictures and videos of `tv_tensors`, too."""
    return call(adjust_sharpness, inpt, sharpness_factor=sharpness_factor)


def adjust_hue(inpt: Picture, hue_factor: float) -> Any:
    """As `vision.transforms.functional.adjust_hue`, for pictures and videos of `tv_tensors`, too."""
    return call(adjust_hue, inpt, hue_factor=hue_factor)


def adjust_gamma(inpt: Picture, gamma: float, gain: float = 1) -> Any:
    """As `vision.transforms.functional.adjust_gamma`, for pictures and videos of `tv_tensors`, too."""
    return call(adjust_gamma, inpt, gamma=gamma, gain=gain)


def posterize(inpt: Picture, bits: int) -> Any:
    """As `vision.transforms.functional.posterize`, for every dtype, and pictures and videos of `tv_tensors`."""
    return call(posterize, inpt, bits=bits)


def solarize(inpt: Picture, threshold: float) -> Any:
    """As `vision.transforms.functional.solarize`, for pictures and videos of `tv_tensors`, too."""
    return call(solarize, inpt, threshold=threshold)


def autocontrast(inpt: Picture) -> Any:
    """As `vision.transforms.functional.autocontrast`, for pictures and videos of `tv_tensors`, too."""
    return call(autocontrast, inpt)


def equalize(inpt: Picture) -> Any:
    """As `vision.transforms.functional.equalize`, for every dtype, and pictures and videos of `tv_tensors`."""
    return call(equalize, inpt)


def invert(inpt: Picture) -> Any:
    """As `vision.transforms.functional.invert`, for pictures and videos of `tv_tensors`, too."""
    return call(invert, inpt)


def permute_channels(inpt: Picture, permutation: Sequence[int]) -> Any:
    """The channels in another order: channel i of the result is channel permutation[i] of the picture.

    Args:
        inpt: a picture or a video, as a tensor or a PIL image.
        permutation: every channel once.

    Raises:
        ValueError: if there are more or fewer channels.

    Example:
        >>> from rushlight.vision.transforms.v2 import functional as F
        >>> F.permute_channels(torch.arange(3).reshape(3, 1, 1), [2, 0, 1]).flatten()
        tensor([2, 0, 1])
    """
    return call(permute_channels, inpt, permutation=permutation)


def _permute_pil(image: PILImage, permutation: Sequence[int]) -> Any:
    return v1.to_pil_image(tones.permute_channels_image(v1.pil_to_tensor(image), permutation))


def _rgb_pil(image: PILImage) -> Any:
    return image.convert("RGB")


to_grayscale = rgb_to_grayscale

serve(rgb_to_grayscale, tones.rgb_to_grayscale_image, _grey_pil, kinds=(Image,))
serve(grayscale_to_rgb, tones.grayscale_to_rgb_image, _rgb_pil, kinds=(Image,))
serve(permute_channels, tones.permute_channels_image, _permute_pil)
for _functional, _image, _pil in (
    (adjust_brightness, tones.adjust_brightness_image, v1.adjust_brightness),
    (adjust_saturation, tones.adjust_saturation_image, v1.adjust_saturation),
    (adjust_contrast, tones.adjust_contrast_image, v1.adjust_contrast),
    (adjust_sharpness, tones.adjust_sharpness_image, v1.adjust_sharpness),
    (adjust_hue, tones.adjust_hue_image, v1.adjust_hue),
    (adjust_gamma, tones.adjust_gamma_image, v1.adjust_gamma),
    (posterize, tones.posterize_image, v1.posterize),
    (solarize, tones.solarize_image, v1.solarize),
    (autocontrast, tones.autocontrast_image, v1.autocontrast),
    (equalize, tones.equalize_image, v1.equalize),
    (invert, tones.invert_image, v1.invert),
):
    serve(_functional, _image, _pil)
