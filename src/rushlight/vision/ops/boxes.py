"""Boxes: their areas, their overlaps, and the suppression of doubles."""

from __future__ import annotations

import math

import numpy as np

from ...base import dtypes
from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...operators.create.from_data import from_numpy
from ...operators.shape.join import stack
from ._box_formats import UPRIGHT, box_convert, to_corners

__all__ = [
    "batched_nms", "box_area", "box_convert", "box_iou", "clip_boxes_to_image", "complete_box_iou",
    "distance_box_iou", "generalized_box_iou", "masks_to_boxes", "nms", "remove_small_boxes",
]  # fmt: skip


def _wide(t: Tensor) -> Tensor:
    """A type in which products of coordinates do not overflow."""
    if t.is_floating_point():
        return t if t.dtype in (dtypes.float32, dtypes.float64) else t.to(dtypes.float32)
    return t if t.dtype in (dtypes.int32, dtypes.int64) else t.to(dtypes.int32)


def box_area(boxes: Tensor, fmt: str = "xyxy") -> Tensor:
    """The area of every box.

    Args:
        boxes: (..., 4).
        fmt: "xyxy", "xywh" or "cxcywh", see `box_convert`.

    Example:
        >>> ops.box_area(torch.tensor([[0.0, 0.0, 2.0, 3.0]]))
        tensor([6.])
    """
    if fmt not in UPRIGHT:
        raise ValueError(f"Unsupported Bounding Box area for given format {fmt}")
    b = _wide(boxes)
    if fmt == "xyxy":
        return (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])
    return b[..., 2] * b[..., 3]


def _overlap(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Intersection and union of every box of one set with every box of the other."""
    area1, area2 = box_area(boxes1), box_area(boxes2)
    low = boxes1[..., None, :2].maximum(boxes2[..., None, :, :2])
    high = boxes1[..., None, 2:].minimum(boxes2[..., None, :, 2:])
    sides = _wide(high - low).clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    return shared, area1[..., None] + area2[..., None, :] - shared


def _around(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Width and height of the smallest box around each pair, (..., N, M, 2)."""
    low = boxes1[..., None, :2].minimum(boxes2[..., None, :, :2])
    high = boxes1[..., None, 2:].maximum(boxes2[..., None, :, 2:])
    return _wide(high - low).clamp(min=0)


def box_iou(boxes1: Tensor, boxes2: Tensor, fmt: str = "xyxy") -> Tensor:
    """Intersection over union of every box of one set with every box of another.

    Args:
        boxes1: (N, 4).
        boxes2: (M, 4).
        fmt: "xyxy", "xywh" or "cxcywh", see `box_convert`.

    Returns:
        (N, M) numbers between 0 and 1.

    Example:
        >>> ops.box_iou(torch.tensor([[0.0, 0, 2, 2]]), torch.tensor([[0.0, 0, 2, 1], [3, 3, 4, 4]]))
        tensor([[0.5000, 0.0000]])
    """
    if fmt not in UPRIGHT:
        raise ValueError(f"Unsupported Box IoU Calculation for given fmt {fmt}.")
    shared, union = _overlap(to_corners(boxes1, fmt), to_corners(boxes2, fmt))
    return shared / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """As `box_iou`, less the empty share of the smallest box around both (Rezatofighi et al. 2019)."""
    shared, union = _overlap(boxes1, boxes2)
    sides = _around(boxes1, boxes2)
    around = sides[..., 0] * sides[..., 1]
    return shared / union - (around - union) / around


def _distance_iou(boxes1: Tensor, boxes2: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    """IoU less the distance of the centres, and the IoU itself."""
    iou = box_iou(boxes1, boxes2)
    diagonal = (_around(boxes1, boxes2) ** 2).sum(-1) + eps
    middle1 = (boxes1[..., :2] + boxes1[..., 2:]) / 2
    middle2 = (boxes2[..., :2] + boxes2[..., 2:]) / 2
    apart = _wide(middle1[..., None, :] - middle2[..., None, :, :])
    return iou - (apart**2).sum(-1) / diagonal, iou


def distance_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """As `box_iou`, less the squared distance of the centres over the corners' (Zheng et al. 2020)."""
    return _distance_iou(_wide(boxes1), _wide(boxes2), eps)[0]


def complete_box_iou(boxes1: Tensor, boxes2: Tensor, eps: float = 1e-7) -> Tensor:
    """As `distance_box_iou`, less a term for other proportions of the sides."""
    b1, b2 = _wide(boxes1), _wide(boxes2)
    distance, iou = _distance_iou(b1, b2, eps)
    angle1 = ((b1[..., 2] - b1[..., 0]) / (b1[..., 3] - b1[..., 1])).atan()
    angle2 = ((b2[..., 2] - b2[..., 0]) / (b2[..., 3] - b2[..., 1])).atan()
    v = 4 / math.pi**2 * (angle1[..., None] - angle2[..., None, :]) ** 2
    with no_grad():
        alpha = v / (1 - iou + v + eps)
    return distance - alpha * v


# -- the best of many overlapping boxes ----------------------------------------------------------------


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The places of the boxes that overlap no better one by more than the threshold, best first.

    Args:
        boxes: (N, 4) corners.
        scores: (N,).
        iou_threshold: the largest IoU two kept boxes may have.

    Returns:
        Places in `boxes`, int64, in falling order of their scores.

    Raises:
        RuntimeError: if the shapes do not fit.

    Example:
        >>> boxes = torch.tensor([[0.0, 0, 10, 10], [1.0, 1, 11, 11], [20.0, 20, 30, 30]])
        >>> ops.nms(boxes, torch.tensor([0.5, 0.9, 0.3]), 0.5)
        tensor([1, 2])
    """
    if boxes.ndim != 2:
        raise RuntimeError(f"boxes should be a 2d tensor, got {boxes.ndim}D")
    if boxes.shape[1] != 4:
        raise RuntimeError(f"boxes should have 4 elements in dimension 1, got {boxes.shape[1]}")
    if scores.ndim != 1:
        raise RuntimeError(f"scores should be a 1d tensor, got {scores.ndim}D")
    if scores.shape[0] != boxes.shape[0]:
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{boxes.shape[0]} and {scores.shape[0]}"
        )
    corners = np.ascontiguousarray(_wide(boxes.detach()).cpu().numpy().T)
    ranked = _wide(scores.detach()).cpu().numpy()
    kept = _greedy(corners, np.argsort(-ranked, kind="stable"), iou_threshold)
    return from_numpy(np.array(kept, np.int64)).to(boxes.device)


def _greedy(corners: np.ndarray, order: np.ndarray, threshold: float) -> list[int]:
    """Take the best, strike out what overlaps it, and go on with the rest."""
    corners = corners[:, order]
    x1, y1, x2, y2 = corners
    areas = (x2 - x1) * (y2 - y1)
    alive = np.ones(len(order), bool)
    kept = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for i in range(len(order)):
            if not alive[i]:
                continue
            kept.append(int(order[i]))
            rest = slice(i + 1, None)
            wide = np.minimum(x2[i], x2[rest]) - np.maximum(x1[i], x1[rest])
            high = np.minimum(y2[i], y2[rest]) - np.maximum(y1[i], y1[rest])
            shared = np.maximum(wide, 0) * np.maximum(high, 0)
            alive[rest] &= ~(shared / (areas[i] + areas[rest] - shared) > threshold)
    return kept


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """As `nms`, within each group: `idxs` says to which each box belongs."""
    if boxes.numel() == 0:
        return from_numpy(np.empty(0, np.int64)).to(boxes.device)
    # Groups are moved apart, so that boxes of different ones never meet.
    apart = idxs.to(boxes.dtype) * (boxes.max() + 1)
    return nms(boxes + apart[:, None], scores, iou_threshold)


# -- boxes and pictures ----------------------------------------------------------------------------------


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The places of the boxes whose sides are all at least `min_size`.

    Args:
        boxes: (N, 4) corners.
        min_size: the shortest side allowed.

    Example:
        >>> ops.remove_small_boxes(torch.tensor([[0.0, 0, 5, 5], [0.0, 0, 5, 1]]), 2)
        tensor([0])
    """
    wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return ((wide >= min_size) & (high >= min_size)).nonzero()[:, 0]


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes cut at the edges of a picture.

    Args:
        boxes: (..., 4) corners.
        size: height and width of the picture.

    Example:
        >>> ops.clip_boxes_to_image(torch.tensor([[-2.0, 1, 30, 9]]), (8, 16))
        tensor([[ 0.,  1., 16.,  8.]])
    """
    height, width = size
    x, y = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return stack([x, y], -1).reshape(boxes.shape)


def masks_to_boxes(masks: Tensor) -> Tensor:
    """The smallest box around each mask, its corners inside of the mask.

    Args:
        masks: (N, H, W), not zero where the object is.

    Returns:
        (N, 4) float corners; zeros for an empty mask.

    Example:
        >>> mask = torch.zeros(1, 6, 6)
        >>> mask[0, 2:4, 1:5] = 1
        >>> ops.masks_to_boxes(mask)
        tensor([[1., 2., 4., 3.]])
    """
    if masks.numel() == 0:
        return from_numpy(np.zeros((0, 4), np.float32)).to(masks.device)
    found = masks != 0
    ends = []
    for axis, line in ((2, found.any(1)), (1, found.any(2))):
        size = masks.shape[axis]
        some = line.any(1)
        first = line.to(dtypes.uint8).argmax(1)
        last = size - 1 - line.flip(1).to(dtypes.uint8).argmax(1)
        ends.append((first * some, last * some))
    (x1, x2), (y1, y2) = ends
    return stack([x1, y1, x2, y2], 1).to(dtypes.float32)
