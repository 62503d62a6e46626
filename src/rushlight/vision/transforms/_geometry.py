"""Turning, shearing and perspective: the matrices, and who applies them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.tensor import Tensor
from ...operators.create.ranges import linspace
from ...operators.shape.join import stack
from .._pillow import is_pil_image
from . import _functional_pil as F_pil
from . import _geometry_tensor as F_t
from ._convert import pil_to_tensor, to_pil_image
from ._modes import PIL_NUMBERS, InterpolationMode, as_mode

if TYPE_CHECKING:
    from .._pillow import Picture


def inverse_affine_matrix(
    center: Sequence[float], angle: float, translate: Sequence[float], scale: float, shear: Sequence[float]
) -> list[float]:
    """Where each place of the result comes from, as the first two rows of a 3x3 matrix.

    Forward, the image is moved so that `center` is the origin, sheared, turned by `angle` degrees
    clockwise, scaled, moved back, and translated.
    """
    turn = math.radians(angle)
    sx, sy = (math.radians(s) for s in shear)
    # Forward linear part: scale * rotation(turn) @ shear_y @ shear_x.
    a = math.cos(turn - sy) / math.cos(sy)
    b = -math.cos(turn - sy) * math.tan(sx) / math.cos(sy) - math.sin(turn)
    c = math.sin(turn - sy) / math.cos(sy)
    d = -math.sin(turn - sy) * math.tan(sx) / math.cos(sy) + math.cos(turn)
    inverse = [d / scale, -b / scale, -c / scale, a / scale]  # the determinant without scale is 1
    cx, cy = center
    tx, ty = translate
    x = inverse[0] * (-cx - tx) + inverse[1] * (-cy - ty) + cx
    y = inverse[2] * (-cx - tx) + inverse[3] * (-cy - ty) + cy
    return [inverse[0], inverse[1], x, inverse[2], inverse[3], y]


def _mode_of(img: Picture, interpolation: InterpolationMode | int) -> InterpolationMode:
    """The interpolation as a mode, for an image that is checked to be one."""
    if not isinstance(img, Tensor) and not is_pil_image(img):
        raise TypeError(f"img should be PIL Image or Tensor Image. Got {type(img)}")
    mode = as_mode(interpolation)
    allowed = (InterpolationMode.NEAREST, InterpolationMode.BILINEAR)
    if isinstance(img, Tensor) and mode not in allowed:
        raise ValueError(
            f"Interpolation mode '{mode.value}' is unsupported with Tensor input: it takes nearest and bilinear"
        )
    return mode


def _from_centre(img: Tensor, center: Sequence[float] | None) -> list[float]:
    """A point counted from the top left corner, counted from the middle of the image."""
    if center is None:
        return [0.0, 0.0]
    _, height, width = F_t.get_dimensions(img)
    return [1.0 * (c - s * 0.5) for c, s in zip(center, (width, height))]


def rotate(
    img: Picture,
    angle: float,
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    expand: bool = False,
    center: Sequence[float] | None = None,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """Turned counter-clockwise by `angle` degrees; the corners are `fill`.

    Args:
        angle: in degrees.
        interpolation: an `InterpolationMode`.
        expand: make the picture as large as needed.
        center: (x, y) that stays in its place; the middle if not given.
        fill: the colour of the corners; black if not given.

    Example:
        >>> TF.rotate(torch.tensor([[[1, 2], [3, 4]]]), 90)
        tensor([[[2, 4],
                 [1, 3]]])
    """
    mode = _mode_of(img, interpolation)
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if center is not None and not isinstance(center, (list, tuple)):
        raise TypeError("Argument center should be a sequence")
    if not isinstance(img, Tensor):
        return F_pil.rotate(img, angle, PIL_NUMBERS[mode], expand, center, fill)
    middle = _from_centre(img, center)
    # Positive angles are counter-clockwise here, and clockwise in affine matrices.
    matrix = inverse_affine_matrix(middle, -angle, [0.0, 0.0], 1.0, [0.0, 0.0])
    return F_t.rotate(img, matrix, mode.value, expand, fill)


def affine(
    img: Picture,
    angle: float,
    translate: Sequence[int],
    scale: float,
    shear: float | Sequence[float],
    interpolation: InterpolationMode | int = InterpolationMode.NEAREST,
    fill: float | Sequence[float] | None = None,
    center: Sequence[float] | None = None,
) -> Any:
    """Turned clockwise, shifted by pixels, scaled and sheared, the centre kept in its place.

    Args:
        angle: in degrees.
        translate: (x, y), in pixels.
        scale: a factor.
        shear: an angle, or two for x and y.
        interpolation: an `InterpolationMode`.
        fill: the colour of what was outside; black if not given.
        center: (x, y) that stays in its place; the middle if not given.

    Example:
        >>> TF.affine(torch.tensor([[[1, 2, 3]]]), 0, (1, 0), 1.0, 0)
        tensor([[[0, 1, 2]]])
    """
    mode = _mode_of(img, interpolation)
    if not isinstance(angle, (int, float)):
        raise TypeError("Argument angle should be int or float")
    if not isinstance(translate, (list, tuple)):
        raise TypeError("Argument translate should be a sequence")
    if len(translate) != 2:
        raise ValueError("Argument translate should be a sequence of length 2")
    if scale <= 0.0:
        raise ValueError("Argument scale should be positive")
    slant = [shear, 0.0] if isinstance(shear, (int, float)) else list(shear)
    slant = [slant[0], slant[0]] if len(slant) == 1 else slant
    if len(slant) != 2:
        raise ValueError(f"Shear should be a sequence containing two values. Got {shear}")
    if isinstance(img, Tensor):
        middle = _from_centre(img, center)
        matrix = inverse_affine_matrix(middle, angle, translate, scale, slant)
        return F_t.affine(img, matrix, mode.value, fill)
    width, height = img.size
    # Pillow samples at pixel centres itself: the middle of its plane is at half the size.
    spot = [width * 0.5, height * 0.5] if center is None else center
    matrix = inverse_affine_matrix(spot, angle, translate, scale, slant)
    return F_pil.affine(img, matrix, PIL_NUMBERS[mode], fill)


def perspective_coefficients(
    startpoints: Sequence[Sequence[float]], endpoints: Sequence[Sequence[float]]
) -> list[float]:
    """The eight numbers of the map that takes every end point to its start point."""
    rows, wanted = [], []
    for (x, y), (u, v) in zip(endpoints, startpoints):
        rows.append([x, y, 1, 0, 0, 0, -u * x, -u * y])
        rows.append([0, 0, 0, x, y, 1, -v * x, -v * y])
        wanted += [u, v]
    solution, *_ = np.linalg.lstsq(np.array(rows, float), np.array(wanted, float), rcond=None)
    return [float(s) for s in solution.astype(np.float32)]  # as torchvision, which solves in double


def perspective(
    img: Picture,
    startpoints: Sequence[Sequence[int]],
    endpoints: Sequence[Sequence[int]],
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """The image with its four `startpoints` moved to the `endpoints`.

    Args:
        startpoints, endpoints: four (x, y) each.
        interpolation: an `InterpolationMode`.
        fill: the colour of what was outside; black if not given.

    Example:
        >>> corners = [[0, 0], [3, 0], [3, 3], [0, 3]]
        >>> TF.perspective(torch.ones(1, 4, 4), corners, corners).shape
        torch.Size([1, 4, 4])
    """
    mode = _mode_of(img, interpolation)
    coefficients = perspective_coefficients(startpoints, endpoints)
    if isinstance(img, Tensor):
        return F_t.perspective(img, coefficients, mode.value, fill)
    return F_pil.perspective(img, coefficients, PIL_NUMBERS[mode], fill)


def elastic_transform(
    img: Picture,
    displacement: Tensor,
    interpolation: InterpolationMode | int = InterpolationMode.BILINEAR,
    fill: float | Sequence[float] | None = None,
) -> Any:
    """The image read at places that are moved.

    Args:
        displacement: (1, H, W, 2), how far each pixel's place is moved to the right and down, where the
            image is two units wide and high.
        interpolation: an `InterpolationMode`.
        fill: the colour of places outside.

    Raises:
        TypeError: if the displacement is no tensor.
        ValueError: if it has another shape.

    Example:
        >>> from rushlight.vision.transforms import functional
        >>> x = torch.arange(4.0).reshape(1, 1, 4)
        >>> functional.elastic_transform(x, torch.full((1, 1, 4, 2), 0.5) * torch.tensor([1.0, 0.0]))
        tensor([[[1., 2., 3., 0.]]])
    """
    if not isinstance(displacement, Tensor):
        raise TypeError("Argument displacement should be a Tensor")
    if not isinstance(img, Tensor) and not is_pil_image(img):
        raise TypeError(f"img should be PIL Image or Tensor. Got {type(img)}")
    mode = as_mode(interpolation)
    picture = img if isinstance(img, Tensor) else pil_to_tensor(img)
    _, height, width = F_t.get_dimensions(picture)
    if tuple(displacement.shape) != (1, height, width, 2):
        raise ValueError(
            f"Argument displacement shape should be {(1, height, width, 2)}, but given {tuple(displacement.shape)}"
        )
    device = picture.device
    x = linspace((1 - width) / width, (width - 1) / width, width, device=device)
    y = linspace((1 - height) / height, (height - 1) / height, height, device=device)
    still = stack([x.expand(height, width), y[:, None].expand(height, width)], -1)
    moved = F_t._sampled(picture, still + displacement[0].to(device), mode.value, fill)
    return moved if isinstance(img, Tensor) else to_pil_image(moved, mode=img.mode)
