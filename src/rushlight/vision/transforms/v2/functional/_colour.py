"""Colours of pictures and videos: one functional for tensors and PIL images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....tv_tensors import Image
from ... import functional as v1
from . import _tones as tones
from ._registry import call, functional, serve

if TYPE_CHECKING:
    from ...._pillow import Picture, PILImage

__all__ = [
    "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue", "adjust_saturation",
    "adjust_sharpness", "autocontrast", "equalize", "grayscale_to_rgb", "invert",
    "permute_channels", "posterize", "rgb_to_grayscale", "solarize", "to_grayscale",
]  # fmt: skip


def _grey_pil(image: PILImage, num_output_channels: int = 1) -> Any:
    if num_output_channels not in (1, 3):
        raise ValueError(f"num_output_channels must be 1 or 3, got {num_output_channels}.")
    return v1.to_grayscale(image, num_output_channels)


def grayscale_to_rgb(inpt: Picture) -> Any:
    """A grey picture in three channels; one in colour as it is.

    Args:
        inpt: a picture, as a tensor or a PIL image.

    Example:
        >>> F.grayscale_to_rgb(torch.zeros(1, 2, 4)).shape
        torch.Size([3, 2, 4])
    """
    return call(grayscale_to_rgb, inpt)


def permute_channels(inpt: Picture, permutation: Sequence[int]) -> Any:
    """The channels in another order: channel i of the result is channel permutation[i] of the picture.

    Args:
        inpt: a picture or a video, as a tensor or a PIL image.
        permutation: every channel once.

    Raises:
        ValueError: if there are more or fewer channels.

    Example:
        >>> F.permute_channels(torch.arange(3).reshape(3, 1, 1), [2, 0, 1]).flatten()
        tensor([2, 0, 1])
    """
    return call(permute_channels, inpt, permutation=permutation)


def _permute_pil(image: PILImage, permutation: Sequence[int]) -> Any:
    return v1.to_pil_image(tones.permute_channels_image(v1.pil_to_tensor(image), permutation))


def _rgb_pil(image: PILImage) -> Any:
    return image.convert("RGB")


_TOO, _WIDER = "for pictures and videos of `tv_tensors`, too.", "for every dtype, and pictures and videos of `tv_tensors`."  # fmt: skip

rgb_to_grayscale = to_grayscale = functional(
    "rgb_to_grayscale", tones.rgb_to_grayscale_image, _grey_pil, kinds=(Image,), whom="for pictures of `tv_tensors`, too."
)  # fmt: skip
adjust_brightness = functional("adjust_brightness", tones.adjust_brightness_image, v1.adjust_brightness, whom=_TOO)
adjust_saturation = functional("adjust_saturation", tones.adjust_saturation_image, v1.adjust_saturation, whom=_TOO)
adjust_contrast = functional("adjust_contrast", tones.adjust_contrast_image, v1.adjust_contrast, whom=_TOO)
adjust_sharpness = functional("adjust_sharpness", tones.adjust_sharpness_image, v1.adjust_sharpness, whom=_TOO)
adjust_hue = functional("adjust_hue", tones.adjust_hue_image, v1.adjust_hue, whom=_TOO)
adjust_gamma = functional("adjust_gamma", tones.adjust_gamma_image, v1.adjust_gamma, whom=_TOO)
posterize = functional("posterize", tones.posterize_image, v1.posterize, whom=_WIDER)
solarize = functional("solarize", tones.solarize_image, v1.solarize, whom=_TOO)
autocontrast = functional("autocontrast", tones.autocontrast_image, v1.autocontrast, whom=_TOO)
equalize = functional("equalize", tones.equalize_image, v1.equalize, whom=_WIDER)
invert = functional("invert", tones.invert_image, v1.invert, whom=_TOO)

serve(grayscale_to_rgb, tones.grayscale_to_rgb_image, _rgb_pil, kinds=(Image,))
serve(permute_channels, tones.permute_channels_image, _permute_pil)
