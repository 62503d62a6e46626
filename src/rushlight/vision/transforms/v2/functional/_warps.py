"""Boxes and points of turned, sheared, tilted and bent pictures: plain tensors with what belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .....base import dtypes
from .....core.tensor import Tensor
from .....operators.shape.join import cat
from ....tv_tensors import is_rotated_bounding_format
from ._boxes import Format, as_format, converted
from ._clamp import clamped, floating
from ._options import Affine, Size, eight
from ._pixels import check_displacement, identity_grid
from ._places import like, rectangles

if TYPE_CHECKING:
    from ....tv_tensors._places import BoundingBoxFormat

__all__ = [
    "affine_bounding_boxes", "affine_keypoints", "elastic_bounding_boxes", "elastic_keypoints",
    "perspective_bounding_boxes", "perspective_keypoints", "rotate_bounding_boxes",
    "rotate_keypoints",
]  # fmt: skip

# Places of the four corners in (x1, y1, x2, y2), clockwise from the top left one.
CORNERS = [[0, 1], [2, 1], [2, 3], [0, 3]]


def _corner_points(boxes: Tensor, format: BoundingBoxFormat | str) -> Tensor:
    """The four corners of boxes: (N, 4, 2)."""
    kind = as_format(format)
    if is_rotated_bounding_format(kind):
        return converted(boxes, kind, Format.XYXYXYXY).reshape(-1, 4, 2)
    return converted(boxes, kind, Format.XYXY).reshape(-1, 4)[:, CORNERS]


def _around(points: Tensor, source: Tensor, format: BoundingBoxFormat | str, canvas: Size, mode: str | None) -> Tensor:
    """The boxes around moved corners (N, 4, 2), cut to the picture, in a format."""
    kind = as_format(format)
    turned = is_rotated_bounding_format(kind)
    between = Format.XYXYXYXY if turned else Format.XYXY
    made = rectangles(points.reshape(-1, 8)) if turned else cat([points.amin(1), points.amax(1)], 1)
    cut = clamped(made, between, canvas, mode)
    return converted(cut, between, kind).reshape(source.shape).to(source.dtype)


def _linear(points: Tensor, matrix: Sequence[float]) -> Tensor:
    rows = like(matrix, points).reshape(2, 3)
    return points @ rows[:, :2].T + rows[:, 2]


def _moved(points: Tensor, change: Affine, canvas: Size, expand: bool) -> tuple[Tensor, Size]:
    """Points after an affine map, and the size of the picture, larger if `expand`."""
    matrix = change.forward(canvas)
    out = _linear(points, matrix)
    if not expand:
        return out, canvas
    height, width = canvas
    ends = _linear(like([0, 0, 0, height, width, height, width, 0], points).reshape(4, 2), matrix)
    return out - ends.amin(0), change.expanded(canvas)


def _turn(angle: float, center: Sequence[float] | None) -> Affine:
    return Affine(-angle, [0.0, 0.0], 1.0, [0.0, 0.0], center)


def _affine_points(points: Tensor, change: Affine, canvas: Size, expand: bool) -> tuple[Tensor, Size]:
    if points.numel() == 0:
        return points, canvas
    out, new = _moved(floating(points).reshape(-1, 2), change, canvas, expand)
    return out.reshape(points.shape).to(points.dtype), new


def affine_keypoints(
    keypoints: Tensor,
    canvas_size: Size,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    center: Sequence[float] | None = None,
) -> tuple[Tensor, Size]:
    """As `affine`, for plain points: points of the picture turned, shifted, scaled and sheared, and its size."""
    change = Affine(angle, translate, scale, shear, center)
    return _affine_points(keypoints, change, canvas_size, False)


def rotate_keypoints(
    keypoints: Tensor, canvas_size: Size, angle: float, expand: bool = False, center: Sequence[float] | None = None
) -> tuple[Tensor, Size]:
    """As `rotate`, for plain points: points of the picture turned counter-clockwise, and its size."""
    return _affine_points(keypoints, _turn(angle, center), canvas_size, expand)


def _affine_boxes(boxes: Tensor, format: BoundingBoxFormat | str, change: Affine, canvas: Size, expand: bool, mode: str | None) -> tuple[Tensor, Size]:  # fmt: skip
    if boxes.numel() == 0:
        return boxes, canvas
    corners = _corner_points(floating(boxes), format)
    out, new = _moved(corners.reshape(-1, 2), change, canvas, expand)
    return _around(out.reshape(corners.shape), boxes, format, new, mode), new


def affine_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str,
    canvas_size: Size,
    angle: float,
    translate: Sequence[float],
    scale: float,
    shear: Sequence[float],
    center: Sequence[float] | None = None,
    clamping_mode: str | None = "soft",
) -> Tensor:
    """As `affine`, for plain boxes: boxes of the picture turned, shifted, scaled and sheared."""
    change = Affine(angle, translate, scale, shear, center)
    return _affine_boxes(bounding_boxes, format, change, canvas_size, False, clamping_mode)[0]


def rotate_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str,
    canvas_size: Size,
    angle: float,
    expand: bool = False,
    center: Sequence[float] | None = None,
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """As `rotate`, for plain boxes: boxes of the picture turned counter-clockwise, and its size."""
    change = _turn(angle, center)
    return _affine_boxes(bounding_boxes, format, change, canvas_size, expand, clamping_mode)


def _seen(points: Tensor, c: Sequence[float], what: str) -> Tensor:
    """Points (N, 2) after a perspective map whose inverse has the numbers c."""
    denom = c[0] * c[4] - c[1] * c[3]
    if denom == 0:
        raise RuntimeError(
            f"Provided perspective_coeffs {list(c)} can not be inverted to transform {what}. "
            f"Denominator is zero, denom={denom}"
        )
    # The adjugate of [[c0, c1, c2], [c3, c4, c5], [c6, c7, 1]]; its last number is the denominator.
    upper = [c[4] - c[5] * c[7], c[2] * c[7] - c[1], c[1] * c[5] - c[2] * c[4]]
    middle = [c[5] * c[6] - c[3], c[0] - c[2] * c[6], c[2] * c[3] - c[0] * c[5]]
    lower = [c[3] * c[7] - c[4] * c[6], c[1] * c[6] - c[0] * c[7]]
    numbers = [v / denom for v in (*upper, *middle, *lower)]
    below = points @ like(numbers[6:], points) + 1.0
    return _linear(points, numbers[:6]) / below[:, None]


def perspective_keypoints(
    keypoints: Tensor,
    canvas_size: Size,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    coefficients: Sequence[float] | None = None,
) -> Tensor:
    """As `perspective`, for plain points: points of the picture with four points moved."""
    if keypoints.numel() == 0:
        return keypoints
    c = eight(startpoints, endpoints, coefficients)
    out = _seen(floating(keypoints).reshape(-1, 2), c, "keypoints")
    return out.to(keypoints.dtype).reshape(keypoints.shape)


def perspective_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str,
    canvas_size: Size,
    startpoints: Sequence[Sequence[int]] | None,
    endpoints: Sequence[Sequence[int]] | None,
    coefficients: Sequence[float] | None = None,
    clamping_mode: str | None = "soft",
) -> Tensor:
    """As `perspective`, for plain boxes: boxes of the picture with four points moved."""
    if bounding_boxes.numel() == 0:
        return bounding_boxes
    c = eight(startpoints, endpoints, coefficients)
    corners = floating(_corner_points(bounding_boxes, format))
    out = _seen(corners.reshape(-1, 2), c, "bounding boxes").reshape(corners.shape)
    return _around(out, bounding_boxes, format, canvas_size, clamping_mode)


def _shifted(points: Tensor, canvas: Size, displacement: Tensor) -> Tensor:
    """Where the pixels at whole places (N, 2) go when every pixel is read at a moved place."""
    height, width = canvas
    moves = displacement[0].to(dtype=floating(points).dtype, device=points.device)
    grid = identity_grid(height, width, moves.dtype, moves.device) - moves
    places = points.to(dtypes.int64)
    found = grid[places[:, 1].clamp(0, height - 1), places[:, 0].clamp(0, width - 1)]
    return (found + 1) * (0.5 * like([width, height], grid)) - 0.5


def elastic_keypoints(keypoints: Tensor, canvas_size: Size, displacement: Tensor) -> Tensor:
    """As `elastic`, for plain points: points of the picture read at moved places."""
    check_displacement(displacement, *canvas_size)
    if keypoints.numel() == 0:
        return keypoints
    out = _shifted(keypoints.reshape(-1, 2), canvas_size, displacement)
    return out.to(keypoints.dtype).reshape(keypoints.shape)


def elastic_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str,
    canvas_size: Size,
    displacement: Tensor,
    clamping_mode: str | None = "soft",
) -> Tensor:
    """As `elastic`, for plain boxes: boxes of the picture read at moved places; a turned box keeps its sides and its angle."""
    check_displacement(displacement, *canvas_size)
    if bounding_boxes.numel() == 0:
        return bounding_boxes
    kind = as_format(format)
    turned = is_rotated_bounding_format(kind)
    between = Format.CXCYWHR if turned else Format.XYXY
    boxes = converted(bounding_boxes, kind, between)
    points = (boxes[:, :2] if turned else boxes[:, CORNERS]).reshape(-1, 2)
    out = _shifted(points.ceil() if points.is_floating_point() else points, canvas_size, displacement)
    if turned:
        made = cat([out, boxes[:, 2:]], 1)
    else:
        ends = out.reshape(-1, 4, 2)
        made = cat([ends.amin(1), ends.amax(1)], 1)
    cut = clamped(made.to(boxes.dtype), between, canvas_size, clamping_mode)
    return converted(cut, between, kind).reshape(bounding_boxes.shape)
