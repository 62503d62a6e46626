"""The loss of distance IoU (Zheng et al. 2020)."""

from __future__ import annotations

from ...core.tensor import Tensor
from ._losses import Sides, around, corners, reduced, shared_and_union

__all__ = ["distance_box_iou_loss"]


def distance_loss(a: Sides, b: Sides, eps: float) -> tuple[Tensor, Tensor]:
    """The loss of each pair, and their IoU."""
    shared, union = shared_and_union(a, b)
    iou = shared / (union + eps)
    wide, high = around(a, b)
    dx = (a[0] + a[2]) / 2 - (b[0] + b[2]) / 2
    dy = (a[1] + a[3]) / 2 - (b[1] + b[3]) / 2
    return 1 - iou + (dx**2 + dy**2) / (wide**2 + high**2 + eps), iou


def distance_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less the distance IoU of each pair of boxes.

    Args:
        boxes1: (N, 4) corners.
        boxes2: (N, 4) corners.
        reduction: "none", "mean" or "sum".
        eps: added to the denominators.

    Example:
        >>> from rushlight.vision import ops
        >>> ops.distance_box_iou_loss(torch.tensor([[0.0, 0, 1, 1]]), torch.tensor([[0.0, 1, 1, 2]]))
        tensor([1.2000])
    """
    return reduced(distance_loss(*corners(boxes1, boxes2), eps)[0], reduction)
