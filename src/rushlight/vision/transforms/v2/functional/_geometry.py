"""Geometry of pictures, videos, masks, boxes and points: one functional for all of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ... import functional as v1
from ..._functional_pil import affine as pil_affine
from ..._functional_pil import perspective as pil_perspective
from ..._geometry import perspective_coefficients as _get_perspective_coeffs  # noqa: F401 - libraries take it from here
from ..._modes import PIL_NUMBERS, InterpolationMode
from . import _pixels as pixels
from . import _places as places
from . import _warps as warps
from ._options import Affine, eight, mode_of, resized
from ._places import rectangles as _parallelogram_to_bounding_boxes  # noqa: F401 - libraries take it from here
from ._registry import by_tensor, functional
from ._registry import pil_kernel as __getattr__  # noqa: F401 - by torchvision's names

if TYPE_CHECKING:
    from ...._pillow import PILImage

__all__ = [
    "affine", "center_crop", "crop", "elastic", "elastic_transform", "five_crop", "hflip",
    "horizontal_flip", "pad", "perspective", "resize", "resized_crop", "rotate", "ten_crop",
    "vertical_flip", "vflip",
]  # fmt: skip

BILINEAR, NEAREST = InterpolationMode.BILINEAR, InterpolationMode.NEAREST


def _warn_of_antialias(antialias: bool | None) -> None:
    if antialias is False:
        warnings.warn("Anti-alias option is always applied for PIL Image input. Argument antialias is ignored.")


def _resize_pil(
    image: PILImage,
    size: int | Sequence[int] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    max_size: int | None = None,
    antialias: bool | None = True,
) -> Any:
    _warn_of_antialias(antialias)
    target = resized((image.height, image.width), size, max_size)
    return v1.resize(image, target, mode_of(interpolation))


def _affine_pil(
    image: PILImage,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    interpolation: InterpolationMode | str | int = NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Any:
    change = Affine(angle, translate, scale, shear, center)
    middle = change.center or [image.width * 0.5, image.height * 0.5]
    return pil_affine(image, change.backward(middle), PIL_NUMBERS[mode_of(interpolation)], fill)


def _rotate_pil(
    image: PILImage,
    angle: float,
    interpolation: InterpolationMode | str | int = NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Any:
    return v1.rotate(image, angle, mode_of(interpolation), expand, center, fill)


def _perspective_pil(
    image: PILImage,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    interpolation: InterpolationMode | str | int = BILINEAR,
    fill: float | Sequence[float] | None = None,
    coefficients: Sequence[float] | None = None,
) -> Any:
    numbers = eight(startpoints, endpoints, coefficients)
    return pil_perspective(image, numbers, PIL_NUMBERS[mode_of(interpolation)], fill)


def _resized_crop_pil(
    image: PILImage,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    interpolation: InterpolationMode | str | int = BILINEAR,
    antialias: bool | None = True,
) -> Any:
    _warn_of_antialias(antialias)
    return _resize_pil(v1.crop(image, top, left, height, width), size, interpolation)


_CROPS = "for pictures and videos of `tv_tensors`, too."

horizontal_flip = functional(
    "horizontal_flip", pixels.horizontal_flip_image, v1.hflip, pixels.horizontal_flip_mask,
    places.horizontal_flip_bounding_boxes, places.horizontal_flip_keypoints, like="hflip",
)  # fmt: skip
vertical_flip = functional(
    "vertical_flip", pixels.vertical_flip_image, v1.vflip, pixels.vertical_flip_mask,
    places.vertical_flip_bounding_boxes, places.vertical_flip_keypoints, like="vflip",
)  # fmt: skip
resize = functional(
    "resize", pixels.resize_image, _resize_pil, pixels.resize_mask, places.resize_bounding_boxes, places.resize_keypoints,
    whom="for every kind of `tv_tensors`; `size` may be None beside `max_size`.",
)  # fmt: skip
affine = functional(
    "affine", pixels.affine_image, _affine_pil, pixels.affine_mask, warps.affine_bounding_boxes, warps.affine_keypoints
)
rotate = functional(
    "rotate", pixels.rotate_image, _rotate_pil, pixels.rotate_mask, warps.rotate_bounding_boxes, warps.rotate_keypoints
)
pad = functional("pad", pixels.pad_image, v1.pad, pixels.pad_mask, places.pad_bounding_boxes, places.pad_keypoints)
crop = functional(
    "crop", pixels.crop_image, v1.crop, pixels.crop_mask, places.crop_bounding_boxes, places.crop_keypoints
)
perspective = functional(
    "perspective", pixels.perspective_image, _perspective_pil, pixels.perspective_mask, warps.perspective_bounding_boxes,
    warps.perspective_keypoints,
    whom="for every kind of `tv_tensors`.\n\n`coefficients` are the eight numbers of the map, in place of the points.",
)  # fmt: skip
elastic = functional(
    "elastic", pixels.elastic_image, by_tensor(pixels.elastic_image), pixels.elastic_mask, warps.elastic_bounding_boxes,
    warps.elastic_keypoints, like="elastic_transform",
)  # fmt: skip
center_crop = functional(
    "center_crop", pixels.center_crop_image, v1.center_crop, pixels.center_crop_mask, places.center_crop_bounding_boxes,
    places.center_crop_keypoints,
)  # fmt: skip
resized_crop = functional(
    "resized_crop", pixels.resized_crop_image, _resized_crop_pil, pixels.resized_crop_mask,
    places.resized_crop_bounding_boxes, places.resized_crop_keypoints,
)  # fmt: skip
five_crop = functional("five_crop", pixels.five_crop_image, v1.five_crop, several=True, whom=_CROPS)
ten_crop = functional("ten_crop", pixels.ten_crop_image, v1.ten_crop, several=True, whom=_CROPS)
hflip, vflip, elastic_transform = horizontal_flip, vertical_flip, elastic
