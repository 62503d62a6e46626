"""The loss of generalized IoU (Rezatofighi et al. 2019)."""

from __future__ import annotations

from ...core.tensor import Tensor
from ._losses import around, corners, reduced, shared_and_union

__all__ = ["generalized_box_iou_loss"]


def generalized_box_iou_loss(
    boxes1: Tensor, boxes2: Tensor, reduction: str = "none", eps: float = 1e-7
) -> Tensor:
    """1 less the generalized IoU of each pair of boxes.

    Args:
        boxes1: (N, 4) corners.
        boxes2: (N, 4) corners.
        reduction: "none", "mean" or "sum".
        eps: added to the denominators.

    Example:
        >>> from rushlight.vision import ops
        >>> ops.generalized_box_iou_loss(torch.tensor([[0.0, 0, 1, 1]]), torch.tensor([[1.0, 0, 4, 1]]))
        tensor([1.])
    """
    a, b = corners(boxes1, boxes2)
    shared, union = shared_and_union(a, b)
    wide, high = around(a, b)
    area = wide * high
    overlap = shared / (union + eps) - (area - union) / (area + eps)
    return reduced(1 - overlap, reduction)
