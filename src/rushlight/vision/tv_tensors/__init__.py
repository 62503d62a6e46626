"""tv_tensors: tensors that say whether they are pictures, videos, masks, boxes or points."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ._base import TVTensor, set_return_type
from ._kinds import Image, Mask, Video
from ._places import BoundingBoxes, BoundingBoxFormat, KeyPoints, is_rotated_bounding_format

__all__ = [
    "BoundingBoxFormat", "BoundingBoxes", "Image", "KeyPoints", "Mask", "TVTensor", "Video",
    "is_rotated_bounding_format", "set_return_type", "wrap",
]  # fmt: skip


def wrap(wrappee: Tensor, *, like: Any, **kwargs: Any) -> Any:
    """A tensor as the kind of another one, with its attributes unless others are given.

    Args:
        wrappee: the numbers.
        like: a value of the kind.
        kwargs: attributes that differ, such as `canvas_size`.

    Example:
        >>> boxes = tv_tensors.BoundingBoxes([[1, 2, 3, 4]], format="XYXY", canvas_size=(8, 8))
        >>> tv_tensors.wrap(boxes * 2, like=boxes, canvas_size=(16, 16)).canvas_size
        (16, 16)
    """
    made = getattr(type(like), "wrap", None)
    return wrappee.as_subclass(type(like)) if made is None else made(wrappee, like, **kwargs)
