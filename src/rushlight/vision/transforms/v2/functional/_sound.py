"""Boxes and points that lie inside their picture, told from those that do not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .....core.tensor import Tensor
from .... import tv_tensors
from ....tv_tensors import BoundingBoxes, KeyPoints, is_rotated_bounding_format
from ._boxes import Format, as_format, converted
from ._registry import is_pure_tensor

if TYPE_CHECKING:
    from ....tv_tensors._places import BoundingBoxFormat

__all__ = ["sanitize_bounding_boxes", "sanitize_keypoints"]


def sound_boxes(
    boxes: Tensor, fmt: BoundingBoxFormat | str, canvas: Sequence[int], min_size: float, min_area: float
) -> Tensor:
    """Which boxes lie inside the picture and are large enough."""
    kind = as_format(fmt)
    height, width = canvas
    if is_rotated_bounding_format(kind):
        c = converted(boxes, kind, Format.XYXYXYXY)
        wide = ((c[..., 0] - c[..., 2]) ** 2 + (c[..., 1] - c[..., 3]) ** 2).sqrt()
        # torchvision takes y2 - y3 and x3 - x4 here; the same boxes are kept
        tall = ((c[..., 3] - c[..., 5]) ** 2 + (c[..., 4] - c[..., 6]) ** 2).sqrt()
    else:
        c = converted(boxes, kind, Format.XYXY)
        wide, tall = c[:, 2] - c[:, 0], c[:, 3] - c[:, 1]
    good = (wide >= min_size) & (tall >= min_size) & (wide * tall >= min_area)
    good = good & (c >= 0).all(-1)
    return good & (c[..., 0::2] <= width).all(-1) & (c[..., 1::2] <= height).all(-1)


def sanitize_bounding_boxes(
    bounding_boxes: Tensor,
    format: BoundingBoxFormat | str | None = None,
    canvas_size: Sequence[int] | None = None,
    min_size: float = 1.0,
    min_area: float = 1.0,
) -> tuple[Any, Tensor]:
    """The boxes that lie inside the picture and are large enough, and which they are.

    Args:
        bounding_boxes: `BoundingBoxes`, or a plain tensor with `format` and `canvas_size`.
        format: a `BoundingBoxFormat`, or its name; for a plain tensor only.
        canvas_size: (height, width) of the picture; for a plain tensor only.
        min_size: the shortest side.
        min_area: the smallest area.

    Raises:
        ValueError: if an argument lacks or is too much.

    Example:
        >>> F.sanitize_bounding_boxes(torch.tensor([[1, 1, 3, 3], [5, 5, 5, 9]]), "XYXY", (9, 9))
        (tensor([[1, 1, 3, 3]]), tensor([ True, False]))
    """
    if is_pure_tensor(bounding_boxes):
        if format is None or canvas_size is None:
            raise ValueError(
                "format and canvas_size cannot be None if bounding_boxes is a pure tensor. "
                f"Got format={format} and canvas_size={canvas_size}."
                "Set those to appropriate values or pass bounding_boxes as a tv_tensors.BoundingBoxes object."
            )
        valid = sound_boxes(bounding_boxes, format, canvas_size, min_size, min_area)
        return bounding_boxes[valid], valid
    if not isinstance(bounding_boxes, BoundingBoxes):
        raise ValueError("bounding_boxes must be a tv_tensors.BoundingBoxes instance or a pure tensor.")
    if format is not None or canvas_size is not None:
        raise ValueError(
            "format and canvas_size must be None when bounding_boxes is a tv_tensors.BoundingBoxes instance. "
            f"Got format={format} and canvas_size={canvas_size}. "
            "Leave those to None or pass bounding_boxes as a pure tensor."
        )
    plain = bounding_boxes.as_subclass(Tensor)
    valid = sound_boxes(plain, bounding_boxes.format, bounding_boxes.canvas_size, min_size, min_area)
    return tv_tensors.wrap(plain[valid], like=bounding_boxes), valid


def sound_points(points: Tensor, canvas: Sequence[int]) -> Tensor:
    """Which points, or groups of points, lie inside the picture."""
    height, width = canvas
    x, y = points[..., 0], points[..., 1]
    good = (x >= 0) & (x < width) & (y >= 0) & (y < height)
    return good.flatten(1).all(1) if good.ndim > 1 else good


def sanitize_keypoints(key_points: Tensor, canvas_size: Sequence[int] | None = None) -> tuple[Any, Tensor]:
    """The points, or groups of points, that lie inside the picture, and which they are.

    Args:
        key_points: `KeyPoints`, or a plain tensor (..., 2) with `canvas_size`.
        canvas_size: (height, width) of the picture; for a plain tensor only.

    Raises:
        ValueError: if `canvas_size` lacks or is too much.

    Example:
        >>> F.sanitize_keypoints(torch.tensor([[1, 1], [9, 1]]), (9, 9))
        (tensor([[1, 1]]), tensor([ True, False]))
    """
    if is_pure_tensor(key_points):
        if canvas_size is None:
            raise ValueError(
                "canvas_size cannot be None if key_points is a pure tensor. "
                "Set it to an appropriate value or pass key_points as a tv_tensors.KeyPoints object."
            )
        valid = sound_points(key_points, canvas_size)
        return key_points[valid], valid
    if not isinstance(key_points, KeyPoints):
        raise ValueError("key_points must be a tv_tensors.KeyPoints instance or a pure tensor.")
    if canvas_size is not None:
        raise ValueError(
            "canvas_size must be None when key_points is a tv_tensors.KeyPoints instance. "
            f"Got canvas_size={canvas_size}. Leave it to None or pass key_points as a pure tensor."
        )
    plain = key_points.as_subclass(Tensor)
    valid = sound_points(plain, key_points.canvas_size)
    return tv_tensors.wrap(plain[valid], like=key_points), valid
