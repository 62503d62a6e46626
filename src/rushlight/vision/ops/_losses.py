"""What the losses of boxes share: overlap of pairs, the box around them, and the reduction."""

from __future__ import annotations

from ...core.tensor import Tensor
from ...operators.pointwise.select import where
from .boxes import _wide

Sides = tuple[Tensor, Tensor, Tensor, Tensor]


def corners(boxes1: Tensor, boxes2: Tensor) -> tuple[Sides, Sides]:
    """The edges of both sets of boxes, in a type wide enough for products."""
    a, b = _wide(boxes1), _wide(boxes2)
    return a.unbind(-1), b.unbind(-1)


def shared_and_union(a: Sides, b: Sides) -> tuple[Tensor, Tensor]:
    """The areas that two boxes share and that they cover."""
    x1, y1 = a[0].maximum(b[0]), a[1].maximum(b[1])
    x2, y2 = a[2].minimum(b[2]), a[3].minimum(b[3])
    meet = (y2 > y1) & (x2 > x1)
    shared = where(meet, (x2 - x1) * (y2 - y1), 0.0 * x1)
    union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared
    return shared, union


def around(a: Sides, b: Sides) -> tuple[Tensor, Tensor]:
    """Width and height of the smallest box around both."""
    wide = a[2].maximum(b[2]) - a[0].minimum(b[0])
    return wide, a[3].maximum(b[3]) - a[1].minimum(b[1])


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The mean, the sum, or the losses themselves."""
    if reduction == "none":
        return loss
    if reduction == "sum":
        return loss.sum()
    if reduction == "mean":
        return loss.mean() if loss.numel() else 0.0 * loss.sum()
    raise ValueError(
        f"Invalid Value for arg 'reduction': '{reduction} \n Supported reduction modes: 'none', 'mean', 'sum'"
    )
