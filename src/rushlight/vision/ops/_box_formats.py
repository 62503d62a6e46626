"""Boxes from one way of writing them to another: corners, sides, centres, turned rectangles."""

from __future__ import annotations

from typing import Any

from ...core.tensor import Tensor
from ...operators.pointwise.pairs import atan2, hypot
from ...operators.shape.join import stack

UPRIGHT = ("xyxy", "xywh", "cxcywh")
TURNED = ("xywhr", "cxcywhr", "xyxyxyxy")


def to_corners(boxes: Tensor, fmt: str) -> Tensor:
    """Upright boxes as (x1, y1, x2, y2)."""
    if fmt == "xyxy":
        return boxes
    a, b, w, h = boxes.unbind(-1)
    if fmt == "xywh":
        return stack([a, b, a + w, b + h], -1)
    return stack([a - 0.5 * w, b - 0.5 * h, a + 0.5 * w, b + 0.5 * h], -1)


def from_corners(boxes: Tensor, fmt: str) -> Tensor:
    """(x1, y1, x2, y2) in another format of upright boxes."""
    if fmt == "xyxy":
        return boxes
    x1, y1, x2, y2 = boxes.unbind(-1)
    if fmt == "xywh":
        return stack([x1, y1, x2 - x1, y2 - y1], -1)
    return stack([(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1], -1)


def to_first_corner(boxes: Tensor, fmt: str) -> Tensor:
    """Turned boxes as (x, y, w, h, r): the corner that was the upper left one, and degrees."""
    if fmt == "xywhr":
        return boxes
    if fmt == "cxcywhr":
        return _move(boxes, -0.5)
    x1, y1, x2, y2, x3, y3, _, _ = boxes.unbind(-1)
    angle = atan2(y1 - y2, x2 - x1).rad2deg()
    return stack([x1, y1, hypot(x2 - x1, y1 - y2), hypot(x3 - x2, y3 - y2), angle], -1)


def from_first_corner(boxes: Tensor, fmt: str) -> Tensor:
    """(x, y, w, h, r) in another format of turned boxes."""
    if fmt == "xywhr":
        return boxes
    if fmt == "cxcywhr":
        return _move(boxes, 0.5)
    x, y, w, h, angle = boxes.unbind(-1)
    cos, sin = angle.deg2rad().cos(), angle.deg2rad().sin()
    right, down = (w * cos, -w * sin), (h * sin, h * cos)
    corners: list[tuple[Any, Any]] = [(0, 0), right, (right[0] + down[0], right[1] + down[1]), down]
    return stack([v for dx, dy in corners for v in (x + dx, y + dy)], -1)


def _move(boxes: Tensor, share: float) -> Tensor:
    """The first two numbers moved by this share of the width and of the height, along the sides."""
    x, y, w, h, angle = boxes.unbind(-1)
    cos, sin = angle.deg2rad().cos(), angle.deg2rad().sin()
    w2, h2 = share * w, share * h
    return stack([x + w2 * cos + h2 * sin, y + h2 * cos - w2 * sin, w, h, angle], -1)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Write boxes in another format.

    Args:
        boxes: (..., 4), (..., 5) or (..., 8) numbers, as the format says.
        in_fmt: "xyxy" (two corners), "xywh" (a corner, width and height) or "cxcywh" (the centre, width
            and height); for turned boxes "xywhr", "cxcywhr" (with an angle in degrees, against the clock)
            or "xyxyxyxy" (four corners).
        out_fmt: the format wanted, upright or turned as `in_fmt`.

    Raises:
        ValueError: for an unknown format.
        NotImplementedError: if turned boxes should become upright, or upright ones turned.

    Example:
        >>> ops.box_convert(torch.tensor([[1.0, 2.0, 4.0, 6.0]]), "xyxy", "xywh")
        tensor([[1., 2., 3., 4.]])
    """
    known = (*UPRIGHT, *TURNED)
    said = f"Unsupported Bounding Box Conversions for given in_fmt {in_fmt} and out_fmt {out_fmt}"
    if in_fmt not in known or out_fmt not in known:
        raise ValueError(said)
    if (in_fmt in UPRIGHT) != (out_fmt in UPRIGHT):
        raise NotImplementedError(said)
    if in_fmt == out_fmt:
        return boxes.clone()
    if in_fmt in UPRIGHT:
        return from_corners(to_corners(boxes, in_fmt), out_fmt)
    return from_first_corner(to_first_corner(boxes, in_fmt), out_fmt)
