"""Boxes from one format to another."""

from __future__ import annotations

from typing import Any

from .....base import dtypes
from .....core.tensor import Tensor
from .....operators.shape.join import cat
from .... import tv_tensors
from ....ops._box_formats import from_first_corner, to_first_corner
from ....tv_tensors import BoundingBoxes, BoundingBoxFormat, is_rotated_bounding_format
from ._registry import is_pure_tensor

__all__ = ["convert_bounding_box_format"]

Format = BoundingBoxFormat


def as_format(fmt: BoundingBoxFormat | str) -> Any:
    """A format by its name, or as it is."""
    return BoundingBoxFormat[fmt.upper()] if isinstance(fmt, str) else fmt


def _half(x: Tensor) -> Tensor:
    return x.div(2, rounding_mode=None if x.is_floating_point() else "floor")


def _upright(boxes: Tensor, old: Format, new: Format) -> Tensor:
    """Boxes that are not turned, in another format; whole numbers stay whole."""
    first, second = boxes[..., :2], boxes[..., 2:]
    if old is Format.XYXY:
        size = second - first
        return cat([first if new is Format.XYWH else _half(first * 2 + size), size], -1)
    if old is Format.XYWH:
        moved = [first, second + first] if new is Format.XYXY else [first + _half(second), second]
        return cat(moved, -1)
    floats = boxes if boxes.is_floating_point() else boxes.to(dtypes.float32)
    size = floats[..., 2:]
    corner = floats[..., :2] - size / 2
    # Whole numbers: both corners are cut to whole numbers, and the size is what lies between them.
    start, end = corner.to(boxes.dtype), (size + corner).to(boxes.dtype)
    if new is Format.XYXY:
        return cat([start, end], -1)
    return cat([start, second if boxes.is_floating_point() else end - start], -1)


def _turned(boxes: Tensor, old: Format, new: Format) -> Tensor:
    wide = boxes.dtype in (dtypes.float32, dtypes.float64)
    work = boxes if wide else boxes.to(dtypes.float32)  # squares of half floats overflow
    made = from_first_corner(to_first_corner(work, old.value.lower()), new.value.lower())
    return made.to(boxes.dtype)


def converted(boxes: Tensor, old: Format, new: Format, inplace: bool = False) -> Tensor:
    """The boxes of a plain tensor in another format."""
    if old == new:
        return boxes
    turned = is_rotated_bounding_format(old)
    if turned != is_rotated_bounding_format(new):
        raise ValueError("Cannot convert between rotated and unrotated bounding boxes.")
    made = (_turned if turned else _upright)(boxes, old, new)
    return boxes.copy_(made) if inplace and made.shape == boxes.shape else made


def convert_bounding_box_format(
    inpt: Any, old_format: Any = None, new_format: Any = None, inplace: bool = False
) -> Any:
    """Boxes in another format.

    Args:
        inpt: `BoundingBoxes`, or a plain tensor with `old_format`.
        old_format: a `BoundingBoxFormat` or its name; for a plain tensor only.
        new_format: the same.
        inplace: change the boxes themselves.

    Raises:
        ValueError: if `old_format` lacks or is too much, or only one of the formats is for turned boxes.

    Example:
        >>> F.convert_bounding_box_format(torch.tensor([[1, 2, 3, 4]]), "XYWH", "XYXY")
        tensor([[1, 2, 4, 6]])
    """
    if new_format is None:
        raise TypeError("convert_bounding_box_format() missing 1 required argument: 'new_format'")
    old, new = as_format(old_format), as_format(new_format)
    if is_pure_tensor(inpt):
        if old is None:
            raise ValueError("For pure tensor inputs, `old_format` has to be passed.")
        return converted(inpt, old, new, inplace)
    if not isinstance(inpt, BoundingBoxes):
        raise TypeError(
            f"Input can either be a plain tensor or a bounding box tv_tensor, but got {type(inpt)} instead."
        )
    if old is not None:
        raise ValueError("For bounding box tv_tensor inputs, `old_format` must not be passed.")
    made = converted(inpt.as_subclass(Tensor), inpt.format, new, inplace)
    return tv_tensors.wrap(made, like=inpt, format=new)
