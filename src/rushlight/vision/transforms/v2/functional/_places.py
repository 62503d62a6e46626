"""Boxes and points of flipped, resized, cropped and padded pictures: plain tensors with what belongs to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from .....base import dtypes
from .....core.tensor import Tensor
from .....operators.create.from_data import tensor
from .....operators.pointwise.pairs import atan2
from .....operators.shape.join import cat, stack
from ....tv_tensors import is_rotated_bounding_format
from ._boxes import Format, as_format, converted
from ._clamp import clamped
from ._options import Size, pair_of, resized, sides

if TYPE_CHECKING:
    from ....tv_tensors._places import BoundingBoxFormat

__all__ = [
    "center_crop_bounding_boxes", "center_crop_keypoints", "crop_bounding_boxes", "crop_keypoints",
    "horizontal_flip_bounding_boxes", "horizontal_flip_keypoints", "pad_bounding_boxes",
    "pad_keypoints", "resize_bounding_boxes", "resize_keypoints", "resized_crop_bounding_boxes",
    "resized_crop_keypoints", "vertical_flip_bounding_boxes", "vertical_flip_keypoints",
]  # fmt: skip

_DEGREES = 3.141592653589793 / 180


def like(values: Sequence[float], x: Tensor) -> Tensor:
    """Numbers as a tensor beside another one."""
    return tensor(list(values), dtype=x.dtype, device=x.device)


# -- flips ----------------------------------------------------------------------------------------


def _flip_points(points: Tensor, axis: int, size: int) -> Tensor:
    parts = list(points.unbind(-1))
    parts[axis] = size - 1 - parts[axis]
    return stack(parts, -1)


def horizontal_flip_keypoints(keypoints: Tensor, canvas_size: Size) -> Tensor:
    """As `horizontal_flip`, for plain points: points of the mirror image."""
    return _flip_points(keypoints, 0, canvas_size[1])


def vertical_flip_keypoints(keypoints: Tensor, canvas_size: Size) -> Tensor:
    """As `vertical_flip`, for plain points: points of the picture upside down."""
    return _flip_points(keypoints, 1, canvas_size[0])


def _flip_boxes(boxes: Tensor, format: BoundingBoxFormat | str, axis: int, size: int) -> Tensor:
    """Boxes mirrored along an axis: 0 for x, 1 for y."""
    kind, parts = as_format(format), list(boxes.unbind(-1))
    if kind is Format.XYXYXYXY:
        parts[axis::2] = [size - p for p in parts[axis::2]]
        return stack([parts[i] for i in (2, 3, 0, 1, 6, 7, 4, 5)], -1)
    if kind is Format.XYXY:
        parts[axis], parts[axis + 2] = size - parts[axis + 2], size - parts[axis]
    elif kind is Format.XYWH:
        parts[axis] = size - (parts[axis] + parts[axis + 2])
    else:
        if kind is Format.XYWHR:  # the mirror image's first corner is the other end of the first side
            turn = parts[4] * _DEGREES
            parts[0], parts[1] = parts[0] + parts[2] * turn.cos(), parts[1] - parts[2] * turn.sin()
        parts[axis] = size - parts[axis]
        if kind is not Format.CXCYWH:
            parts[4] = 180 * axis - parts[4]
    return stack(parts, -1)


def horizontal_flip_bounding_boxes(
    bounding_boxes: Tensor, format: BoundingBoxFormat | str, canvas_size: Size
) -> Tensor:
    """As `horizontal_flip`, for plain boxes: boxes of the mirror image."""
    return _flip_boxes(bounding_boxes, format, 0, canvas_size[1])


def vertical_flip_bounding_boxes(bounding_boxes: Tensor, format: BoundingBoxFormat | str, canvas_size: Size) -> Tensor:
    """As `vertical_flip`, for plain boxes: boxes of the picture upside down."""
    return _flip_boxes(bounding_boxes, format, 1, canvas_size[0])


# -- sizes, windows, rims -------------------------------------------------------------------------


def resize_keypoints(
    keypoints: Tensor, size: int | Sequence[int] | None, canvas_size: Size, max_size: int | None = None
) -> tuple[Tensor, Size]:
    """As `resize`, for plain points: points of the picture in another size, and that size."""
    new = resized(canvas_size, size, max_size)
    if new == tuple(canvas_size):
        return keypoints, canvas_size
    ratios = tensor([new[1] / canvas_size[1], new[0] / canvas_size[0]], device=keypoints.device)
    return (keypoints * ratios).to(keypoints.dtype), new


def resize_bounding_boxes(
    bounding_boxes: Tensor,
    canvas_size: Size,
    size: int | Sequence[int] | None,
    max_size: int | None = None,
    format: BoundingBoxFormat | str = Format.XYXY,
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """As `resize`, for plain boxes: boxes of the picture in another size, and that size."""
    new = resized(canvas_size, size, max_size)
    if new == tuple(canvas_size):
        return bounding_boxes, canvas_size
    ratios = tensor([new[1] / canvas_size[1], new[0] / canvas_size[0]] * 2, device=bounding_boxes.device)
    if not is_rotated_bounding_format(format):
        return (bounding_boxes * ratios).to(bounding_boxes.dtype), new
    kind = as_format(format)
    corners = converted(bounding_boxes, kind, Format.XYXYXYXY).reshape(-1, 8)
    made = clamped(rectangles(corners * cat([ratios, ratios])), Format.XYXYXYXY, new, clamping_mode)
    back = converted(made, Format.XYXYXYXY, kind).to(bounding_boxes.dtype)
    return back.reshape(bounding_boxes.shape), new


def _shift(format: BoundingBoxFormat | str, left: int, top: int) -> list[int]:
    """What moves a box by (left, top)."""
    kind = as_format(format)
    if kind in (Format.XYXY, Format.XYXYXYXY):
        return [left, top] * (2 if kind is Format.XYXY else 4)
    return [left, top, 0, 0, *([0] if is_rotated_bounding_format(kind) else [])]


def pad_keypoints(
    keypoints: Tensor, canvas_size: Size, padding: int | Sequence[int], padding_mode: str = "constant"
) -> tuple[Tensor, Size]:
    """As `pad`, for plain points: points of the picture with a rim, and its size."""
    if padding_mode != "constant":
        raise ValueError(
            f"Padding mode '{padding_mode}' is not supported with KeyPoints (supported modes are constant)"
        )
    left, right, top, bottom = sides(padding)
    new = (canvas_size[0] + top + bottom, canvas_size[1] + left + right)
    return keypoints + like([left, top], keypoints), new


def pad_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str,
    canvas_size: Size,
    padding: int | Sequence[int],
    padding_mode: str = "constant",
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """As `pad`, for plain boxes: boxes of the picture with a rim, and its size."""
    if padding_mode != "constant":
        raise ValueError(f"Padding mode '{padding_mode}' is not supported with bounding boxes")
    left, right, top, bottom = sides(padding)
    new = (canvas_size[0] + top + bottom, canvas_size[1] + left + right)
    moved = bounding_boxes + like(_shift(format, left, top), bounding_boxes)
    return clamped(moved, format, new, clamping_mode), new


def crop_keypoints(keypoints: Tensor, top: int, left: int, height: int, width: int) -> tuple[Tensor, Size]:
    """As `crop`, for plain points: points of a window, and its size."""
    return keypoints - like([left, top], keypoints), (height, width)


def crop_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str,
    top: int,
    left: int,
    height: int,
    width: int,
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """As `crop`, for plain boxes: boxes of a window, and its size."""
    moved = bounding_boxes - like(_shift(format, left, top), bounding_boxes)
    if as_format(format) is Format.XYXYXYXY:
        moved = rectangles(moved)
    return clamped(moved, format, (height, width), clamping_mode), (height, width)


def _middle(canvas_size: Size, output_size: int | Sequence[int]) -> tuple[int, int, int, int]:
    """Top, left, height and width of the window in the middle."""
    height, width = pair_of(output_size)
    top, left = round((canvas_size[0] - height) / 2.0), round((canvas_size[1] - width) / 2.0)
    return top, left, height, width


def center_crop_keypoints(inpt: Tensor, canvas_size: Size, output_size: int | Sequence[int]) -> tuple[Tensor, Size]:
    """As `center_crop`, for plain points: points of the middle of the picture, and its size."""
    return crop_keypoints(inpt, *_middle(canvas_size, output_size))


def center_crop_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str,
    canvas_size: Size,
    output_size: int | Sequence[int],
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """As `center_crop`, for plain boxes: boxes of the middle of the picture, and its size."""
    window = _middle(canvas_size, output_size)
    return crop_bounding_boxes(bounding_boxes, format, *window, clamping_mode=clamping_mode)


def resized_crop_keypoints(
    keypoints: Tensor, top: int, left: int, height: int, width: int, size: int | Sequence[int]
) -> tuple[Tensor, Size]:
    """As `resized_crop`, for plain points: points of a window in another size, and that size."""
    moved, canvas = crop_keypoints(keypoints, top, left, height, width)
    return resize_keypoints(moved, size, canvas)


def resized_crop_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str,
    top: int,
    left: int,
    height: int,
    width: int,
    size: int | Sequence[int],
    clamping_mode: str | None = "soft",
) -> tuple[Tensor, Size]:
    """As `resized_crop`, for plain boxes: boxes of a window in another size, and that size."""
    cut, canvas = crop_bounding_boxes(bounding_boxes, format, top, left, height, width, clamping_mode)
    return resize_bounding_boxes(cut, canvas, size, format=format, clamping_mode=clamping_mode)


def rectangles(corners: Tensor) -> Tensor:
    """Parallelograms (..., 8) as rectangles with the same centre that keep the longer diagonal."""
    work = corners if corners.dtype in (dtypes.float32, dtypes.float64) else corners.to(dtypes.float32)
    x1, y1, x2, y2, x3, y3, x4, y4 = work.unbind(-1)
    wide = ((x2 - x1) ** 2 + (y2 - y1) ** 2).sqrt()
    tall = ((x4 - x1) ** 2 + (y4 - y1) ** 2).sqrt()
    across, down = atan2(y1 - y2, x2 - x1), atan2(y1 - y4, x4 - x1)
    between = across - down
    lean = between.cos() * (1 - 2 * (between > 1.5707963267948966).to(work.dtype))
    # The longer side keeps its direction; the shorter one becomes upright on it.
    width = (wide * between.sin()).where(wide < tall, wide + tall * lean)
    height = (tall * between.sin()).where(wide > tall, tall + wide * lean)
    angle = (down + 1.5707963267948966).where(tall > wide, across)
    cos, sin = angle.cos(), angle.sin()
    cx, cy, w, h = (x1 + x3) / 2, (y1 + y3) / 2, width / 2, height / 2
    made = []
    for i, j in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        made += [cx + i * w * cos + j * h * sin, cy + j * h * cos - i * w * sin]
    return stack(made, -1).to(corners.dtype)
