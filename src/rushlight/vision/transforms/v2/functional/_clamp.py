"""Boxes and points cut to the picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .....base import dtypes
from .....core.tensor import Tensor
from .....operators.create.ranges import arange
from .....operators.shape.join import cat, stack
from .... import tv_tensors
from ....tv_tensors import BoundingBoxes, KeyPoints, is_rotated_bounding_format
from ._boxes import Format, as_format, converted
from ._registry import is_pure_tensor

if TYPE_CHECKING:
    from ....tv_tensors._places import BoundingBoxFormat

__all__ = ["clamp_bounding_boxes", "clamp_keypoints"]

Size = tuple[int, int]  # height, width


def floating(x: Tensor) -> Tensor:
    """Whole numbers as floats; floats as they are."""
    return x if x.is_floating_point() else x.to(dtypes.float32)


def _clamp_upright(boxes: Tensor, fmt: Format, canvas: Size) -> Tensor:
    height, width = canvas
    corners = converted(floating(boxes), fmt, Format.XYXY)
    x, y = corners[..., 0::2].clamp(0, width), corners[..., 1::2].clamp(0, height)
    cut = stack([x, y], -1).reshape(corners.shape)
    return converted(cut, Format.XYXY, fmt).to(boxes.dtype)


# -- turned boxes ---------------------------------------------------------------------------------
#
# One side of the picture at a time: the corners are put in an order that begins with the leftmost one, the four
# lines through the sides of the box are moved so that the box ends at the picture's left edge, and the plane is
# turned by 90 degrees for the next edge. Boxes are (N, 8): four corners, one after the other.


def _leftmost(corners: Tensor) -> Tensor:
    """The places of the eight numbers when the leftmost corner comes first; of two such, the upper one."""
    x, y = corners[:, 0::2], corners[:, 1::2]
    scaled = y / y.abs().amax(1, keepdim=True) + x / x.abs().amax(1, keepdim=True) * 100
    first = scaled.argmin(1, keepdim=True) * 2
    return (first + arange(8, device=corners.device)) % 8


def _lines(corners: Tensor) -> tuple[Tensor, Tensor]:
    """Slopes and intercepts of the lines from each corner to the next."""
    x, y = corners[:, 0::2], corners[:, 1::2]
    slope = (y.roll(-1, 1) - y) / (x.roll(-1, 1) - x)
    return slope, y - slope * x


def _crossings(slope: Tensor, intercept: Tensor) -> Tensor:
    """Where each line meets the one before it."""
    x = -(intercept - intercept.roll(1, 1)) / (slope - slope.roll(1, 1))
    return stack([x, slope * x + intercept], -1).reshape(-1, 8)


def _moved_lines(corners: Tensor, whole: Tensor, canvas: Size, hard: bool) -> Tensor:
    """Intercepts of the lines of the cut box; `whole` are the boxes before any cut, which bound them.

    Soft: the smallest box of the same angle around what is inside. Hard: one that is inside with all its corners.
    """
    height, width = canvas
    slopes, intercepts = _lines(corners)
    a1, a2, a3, a4 = slopes.unbind(1)
    b1, b2, b3, b4 = intercepts.unbind(1)
    low1, low2, high1, high2 = _lines(whole)[1].unbind(1)
    b1, b4 = b2.clamp(b1, b3).clamp(0, height), b3.clamp(b2, b4).clamp(0, height)
    if hard:
        b1 = b4 = (b1 + b4) / 2
        # where the lines would have to lie to meet their neighbours at the upper, right and lower edges
        upper = [b1 * a2 / a1, b3 * a2 / a3, (a1 - a2) * width + b1, (a3 - a2) * width + b3]
        b2 = stack(upper, 1).amax(1).clamp(max=b2)
        lower = [height * (1 - a3 / a4) + b4 * a3 / a4, height * (1 - a3 / a2) + b2 * a3 / a2]
        lower += [(a2 - a3) * width + b2, (a4 - a3) * width + b4]
        b3 = stack(lower, 1).amin(1).clamp(min=b3)
    cut = [b1.clamp(low1, high1), b2.clamp(low2, high2), b3.clamp(low1, high1), b4.clamp(low2, high2)]
    return stack(cut, 1)


def _cut_left(corners: Tensor, whole: Tensor, canvas: Size, hard: bool) -> Tensor:
    """The boxes cut at the left edge of the picture."""
    x1, y1, x2, y2, x3, y3, x4, y4 = corners.unbind(1)
    slanted = _crossings(_lines(corners)[0], _moved_lines(corners, whole, canvas, hard))
    straight = cat([x1.clamp(0)[:, None], corners[:, 1:6], x4.clamp(0)[:, None], corners[:, 7:]], 1)
    upright = y1.isclose(y2) | y3.isclose(y4)
    outside = (x1 <= 0) & (x2 <= 0) & (x3 <= 0) & (x4 <= 0)
    nothing = outside | y1.isclose(y4) | y2.isclose(y3) | (upright & x1.isclose(x2))
    out = slanted.where(((x1 < 0) & ~slanted.isnan().any(1))[:, None], corners)
    out = straight.where(upright[:, None], out)
    return corners.new_zeros(corners.shape).where(nothing[:, None], out)


def _quarter(corners: Tensor, width: int) -> Tensor:
    """The plane turned by 90 degrees counter-clockwise."""
    return stack([corners[:, 1::2], width - corners[:, 0::2]], -1).reshape(-1, 8)


def _clamp_turned(boxes: Tensor, fmt: Format, canvas: Size, mode: str) -> Tensor:
    whole = converted(boxes, fmt, Format.XYXYXYXY).reshape(-1, 8)
    out = whole
    for _ in range(4):
        order = _leftmost(out)
        out, whole = out.gather(1, order), whole.gather(1, order)
        out = _cut_left(out, whole, canvas, mode == "hard")
        # The order goes round once more, not back: so it is in torchvision, and the corners' order shows it.
        out, whole = out.gather(1, order), whole.gather(1, order)
        out, whole = _quarter(out, canvas[1]), _quarter(whole, canvas[1])
        canvas = (canvas[1], canvas[0])
    return converted(out, Format.XYXYXYXY, fmt).reshape(boxes.shape)


def clamped(boxes: Tensor, fmt: BoundingBoxFormat | str, canvas: Size, mode: str | None) -> Tensor:
    """The boxes of a plain tensor cut to the picture."""
    if mode is None:
        return boxes.clone()
    kind = as_format(fmt)
    if is_rotated_bounding_format(kind):
        return _clamp_turned(boxes, kind, canvas, mode)
    return _clamp_upright(boxes, kind, canvas)


def clamp_bounding_boxes(
    inpt: Tensor,
    format: BoundingBoxFormat | str | None = None,
    canvas_size: Size | None = None,
    clamping_mode: str | None = "auto",
) -> Any:
    """Boxes cut to the picture.

    Args:
        inpt: `BoundingBoxes`, or a plain tensor with the other arguments.
        format: a `BoundingBoxFormat`; for a plain tensor only.
        canvas_size: (height, width) of the picture; for a plain tensor only.
        clamping_mode: for turned boxes: "soft" keeps all that is inside, "hard" keeps all corners inside; None
            does nothing to any box, "auto" is what the boxes say.

    Raises:
        ValueError: if an argument lacks, is too much, or is no mode.

    Example:
        >>> F.clamp_bounding_boxes(torch.tensor([[-1, 2, 30, 4]]), "XYXY", (8, 8), "soft")
        tensor([[0, 2, 8, 4]])
    """
    if clamping_mode is not None and clamping_mode not in ("soft", "hard", "auto"):
        raise ValueError(f"clamping_mode must be soft, hard, auto or None, got {clamping_mode}")
    if is_pure_tensor(inpt):
        if format is None or canvas_size is None or clamping_mode == "auto":
            raise ValueError("For pure tensor inputs, `format`, `canvas_size` and `clamping_mode` have to be passed.")
        return clamped(inpt, format, canvas_size, clamping_mode)
    if not isinstance(inpt, BoundingBoxes):
        raise TypeError(
            f"Input can either be a plain tensor or a bounding box tv_tensor, but got {type(inpt)} instead."
        )
    if format is not None or canvas_size is not None:
        raise ValueError("For bounding box tv_tensor inputs, `format` and `canvas_size` must not be passed.")
    mode = inpt.clamping_mode if clamping_mode == "auto" else clamping_mode
    made = clamped(inpt.as_subclass(Tensor), inpt.format, inpt.canvas_size, mode)
    return tv_tensors.wrap(made, like=inpt)


def _clamp_points(points: Tensor, canvas: Size) -> Tensor:
    x, y = floating(points).unbind(-1)
    # A point is a pixel, and a box's edge lies between pixels: the last place is one less here.
    return stack([x.clamp(0, canvas[1] - 1), y.clamp(0, canvas[0] - 1)], -1).to(points.dtype)


def clamp_keypoints(inpt: Tensor, canvas_size: Size | None = None) -> Any:
    """Points moved to the nearest pixel of the picture.

    Args:
        inpt: `KeyPoints`, or a plain tensor (..., 2) with `canvas_size`.
        canvas_size: (height, width) of the picture; for a plain tensor only.

    Raises:
        ValueError: if `canvas_size` lacks or is too much.

    Example:
        >>> F.clamp_keypoints(torch.tensor([[-1, 9]]), (8, 8))
        tensor([[0, 7]])
    """
    if is_pure_tensor(inpt):
        if canvas_size is None:
            raise ValueError("For pure tensor inputs, `canvas_size` has to be passed.")
        return _clamp_points(inpt, canvas_size)
    if not isinstance(inpt, KeyPoints):
        raise TypeError(f"Input can either be a plain tensor or a keypoints tv_tensor, but got {type(inpt)} instead.")
    if canvas_size is not None:
        raise ValueError("For keypoints tv_tensor inputs, `canvas_size` must not be passed.")
    return tv_tensors.wrap(_clamp_points(inpt.as_subclass(Tensor), inpt.canvas_size), like=inpt)
