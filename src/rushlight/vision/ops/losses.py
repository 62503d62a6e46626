"""Losses of boxes by their overlap, and the focal loss."""

from __future__ import annotations

import math

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...nn.functional import binary_cross_entropy_with_logits
from ...operators.pointwise.select import where
from .boxes import _wide

__all__ = ["complete_box_iou_loss", "distance_box_iou_loss", "generalized_box_iou_loss", "sigmoid_focal_loss"]


Sides = tuple[Tensor, ...]  # left, top, right, bottom


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


def generalized_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """1 less the generalized IoU of each pair of boxes.

    Args:
        boxes1: (N, 4) corners.
        boxes2: (N, 4) corners.
        reduction: "none", "mean" or "sum".
        eps: added to the denominators.

    Example:
        >>> ops.generalized_box_iou_loss(torch.tensor([[0.0, 0, 1, 1]]), torch.tensor([[1.0, 0, 4, 1]]))
        tensor([1.])
    """
    a, b = corners(boxes1, boxes2)
    shared, union = shared_and_union(a, b)
    wide, high = around(a, b)
    area = wide * high
    overlap = shared / (union + eps) - (area - union) / (area + eps)
    return reduced(1 - overlap, reduction)


def distance_loss(a: Sides, b: Sides, eps: float) -> tuple[Tensor, Tensor]:
    """The loss of each pair, and their IoU."""
    shared, union = shared_and_union(a, b)
    iou = shared / (union + eps)
    wide, high = around(a, b)
    dx = (a[0] + a[2]) / 2 - (b[0] + b[2]) / 2
    dy = (a[1] + a[3]) / 2 - (b[1] + b[3]) / 2
    return 1 - iou + (dx**2 + dy**2) / (wide**2 + high**2 + eps), iou


def distance_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """As `generalized_box_iou_loss`, by `distance_box_iou`."""
    return reduced(distance_loss(*corners(boxes1, boxes2), eps)[0], reduction)


def complete_box_iou_loss(boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7) -> Tensor:
    """As `generalized_box_iou_loss`, by `complete_box_iou`."""
    a, b = corners(boxes1, boxes2)
    loss, iou = distance_loss(a, b, eps)
    angle1 = ((a[2] - a[0]) / (a[3] - a[1])).atan()
    angle2 = ((b[2] - b[0]) / (b[3] - b[1])).atan()
    v = 4 / math.pi**2 * (angle2 - angle1) ** 2
    with no_grad():
        alpha = v / (1 - iou + v + eps)
    return reduced(loss + alpha * v, reduction)


def sigmoid_focal_loss(
    inputs: Tensor, targets: Tensor, alpha: float = 0.25, gamma: float = 2, reduction: str = "none"
) -> Tensor:
    """Binary cross-entropy in which what is already right counts little.

    Args:
        inputs: logits of any shape.
        targets: 0 or 1 (or between) for each of them, as floats.
        alpha: the weight of the positive class between 0 and 1, or -1 for no weights.
        gamma: how much right answers are discounted.
        reduction: "none", "mean" or "sum".

    Raises:
        ValueError: for another alpha or reduction.

    Example:
        >>> ops.sigmoid_focal_loss(torch.tensor([0.0, 1.0]), torch.tensor([1.0, 1.0]))
        tensor([0.0433, 0.0057])
    """
    if not 0 <= alpha <= 1 and alpha != -1:
        raise ValueError(f"Invalid alpha value: {alpha}. alpha must be in the range [0,1] or -1 for ignore.")
    p = inputs.sigmoid()
    loss = binary_cross_entropy_with_logits(inputs, targets, reduction="none")
    right = p * targets + (1 - p) * (1 - targets)
    loss = loss * (1 - right) ** gamma
    if alpha >= 0:
        loss = (alpha * targets + (1 - alpha) * (1 - targets)) * loss
    return reduced(loss, reduction) if reduction != "mean" else loss.mean()
