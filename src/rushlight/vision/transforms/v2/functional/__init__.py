"""transforms.v2.functional: one function per transform, for tensors, PIL images and every kind of `tv_tensors`."""

# ruff: noqa: F403, F405 - the names are those of the modules' `__all__`
from __future__ import annotations

from ..._convert import pil_to_tensor, to_pil_image
from ..._modes import InterpolationMode
from . import _color, _meta  # noqa: F401 - libraries take them from here
from ._boxes import *
from ._clamp import *
from ._colour import *
from ._geometry import *
from ._misc import *
from ._pixels import *
from ._places import *
from ._registry import *
from ._sizes import *
from ._sound import *
from ._tones import *
from ._warps import *

__all__ = [
    "InterpolationMode", "adjust_brightness", "adjust_contrast", "adjust_gamma", "adjust_hue",
    "adjust_saturation", "adjust_sharpness", "affine", "autocontrast", "center_crop",
    "clamp_bounding_boxes", "clamp_keypoints", "convert_bounding_box_format", "convert_image_dtype",
    "crop", "elastic", "elastic_transform", "equalize", "erase", "five_crop", "gaussian_blur",
    "gaussian_noise", "get_dimensions", "get_image_num_channels", "get_image_size",
    "get_num_channels", "get_num_frames", "get_size", "grayscale_to_rgb", "hflip",
    "horizontal_flip", "invert", "is_pure_tensor", "jpeg", "normalize", "pad", "permute_channels",
    "perspective", "pil_to_tensor", "posterize", "register_kernel", "resize", "resized_crop",
    "rgb_to_grayscale", "rotate", "sanitize_bounding_boxes", "sanitize_keypoints", "solarize",
    "ten_crop", "to_dtype", "to_grayscale", "to_image", "to_pil_image", "to_tensor",
    "uniform_temporal_subsample", "vertical_flip", "vflip",
]  # fmt: skip

_augment = _color
