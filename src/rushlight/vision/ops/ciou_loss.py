"""The loss of complete IoU (Zheng et al. 2020)."""

from __future__ import annotations

import math

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ._losses import corners, reduced
from .diou_loss import distance_loss

__all__ = ["complete_box_iou_loss"]


def complete_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """The distance IoU loss and a term for other proportions of the sides.

    Args:
        boxes1: (N, 4) corners.
        boxes2: (N, 4) corners.
        reduction: "none", "mean" or "sum".
        eps: added to the denominators.

    Example:
        >>> from rushlight.vision import ops
        >>> ops.complete_box_iou_loss(torch.tensor([[0.0, 0, 1, 1]]), torch.tensor([[0.0, 1, 1, 2]]))
        tensor([1.2000])
    """
    a, b = corners(boxes1, boxes2)
    loss, iou = distance_loss(a, b, eps)
    angle1 = ((a[2] - a[0]) / (a[3] - a[1])).atan()
    angle2 = ((b[2] - b[0]) / (b[3] - b[1])).atan()
    v = 4 / math.pi**2 * (angle2 - angle1) ** 2
    with no_grad():
        alpha = v / (1 - iou + v + eps)
    return reduced(loss + alpha * v, reduction)
