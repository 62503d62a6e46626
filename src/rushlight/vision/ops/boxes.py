"""Boxes (x1, y1, x2, y2): their areas, overlaps, and the suppression of doubles."""

from __future__ import annotations

import numpy as np

from ...base import dtypes
from ...core.tensor import Tensor
from ...operators.create.from_data import from_numpy
from ...operators.shape.join import stack

__all__ = [
    "batched_nms", "box_area", "box_convert", "box_iou", "clip_boxes_to_image",
    "generalized_box_iou", "nms", "remove_small_boxes",
]  # fmt: skip


def _wide(t: Tensor) -> Tensor:
    """A type in which products of coordinates do not overflow."""
    if t.is_floating_point():
        return t if t.dtype in (dtypes.float32, dtypes.float64) else t.to(dtypes.float32)
    return t if t.dtype in (dtypes.int32, dtypes.int64) else t.to(dtypes.int32)


def box_area(boxes: Tensor) -> Tensor:
    """The area of every box."""
    b = _wide(boxes)
    return (b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1])


def _overlap(boxes1: Tensor, boxes2: Tensor) -> tuple[Tensor, Tensor]:
    """Intersection and union of every box of one set with every box of the other."""
    area1, area2 = box_area(boxes1), box_area(boxes2)
    low = boxes1[..., None, :2].maximum(boxes2[..., None, :, :2])
    high = boxes1[..., None, 2:].minimum(boxes2[..., None, :, 2:])
    sides = _wide(high - low).clamp(min=0)
    shared = sides[..., 0] * sides[..., 1]
    return shared, area1[..., None] + area2[..., None, :] - shared


def box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """Intersection over union, (N, M)."""
    shared, union = _overlap(boxes1, boxes2)
    return shared / union


def generalized_box_iou(boxes1: Tensor, boxes2: Tensor) -> Tensor:
    """IoU less the empty share of the smallest box around both (Rezatofighi et al. 2019)."""
    shared, union = _overlap(boxes1, boxes2)
    low = boxes1[..., None, :2].minimum(boxes2[..., None, :, :2])
    high = boxes1[..., None, 2:].maximum(boxes2[..., None, :, 2:])
    sides = _wide(high - low).clamp(min=0)
    around = sides[..., 0] * sides[..., 1]
    return shared / union - (around - union) / around


def nms(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """The places of the boxes that overlap no better one by more than the threshold, best first."""
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise RuntimeError(f"boxes should be a 2d tensor of 4 columns, got {tuple(boxes.shape)}")
    if scores.ndim != 1 or scores.shape[0] != boxes.shape[0]:
        raise RuntimeError(
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{boxes.shape[0]} and {tuple(scores.shape)}"
        )
    x1, y1, x2, y2 = boxes.detach().cpu().numpy().T
    areas = (x2 - x1) * (y2 - y1)
    order = np.argsort(-scores.detach().cpu().numpy(), kind="stable")
    kept = []
    while order.size:
        best, rest = order[0], order[1:]
        kept.append(best)
        wide = np.minimum(x2[best], x2[rest]) - np.maximum(x1[best], x1[rest])
        high = np.minimum(y2[best], y2[rest]) - np.maximum(y1[best], y1[rest])
        shared = np.maximum(wide, 0) * np.maximum(high, 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            overlap = shared / (areas[best] + areas[rest] - shared)
        order = rest[~(overlap > iou_threshold)]
    return from_numpy(np.array(kept, np.int64)).to(boxes.device)


def batched_nms(boxes: Tensor, scores: Tensor, idxs: Tensor, iou_threshold: float) -> Tensor:
    """`nms` within each group of `idxs`."""
    if boxes.numel() == 0:
        return from_numpy(np.empty(0, np.int64)).to(boxes.device)
    # Groups are moved apart, so that boxes of different ones never meet.
    apart = idxs.to(boxes.dtype) * (boxes.max() + 1)
    return nms(boxes + apart[:, None], scores, iou_threshold)


def remove_small_boxes(boxes: Tensor, min_size: float) -> Tensor:
    """The places of the boxes whose sides are all at least `min_size`."""
    wide, high = boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]
    return ((wide >= min_size) & (high >= min_size)).nonzero()[:, 0]


def clip_boxes_to_image(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """Boxes cut at the edges of a picture of (height, width)."""
    height, width = size
    x, y = boxes[..., 0::2].clamp(0, width), boxes[..., 1::2].clamp(0, height)
    return stack([x, y], -1).reshape(boxes.shape)


def box_convert(boxes: Tensor, in_fmt: str, out_fmt: str) -> Tensor:
    """Between "xyxy", "xywh" and "cxcywh"."""
    known = ("xyxy", "xywh", "cxcywh")
    if in_fmt not in known or out_fmt not in known:
        raise ValueError(
            f"Unsupported Bounding Box Conversions for given formats {in_fmt}, {out_fmt}"
        )
    if in_fmt == out_fmt:
        return boxes.clone()
    a, b, c, d = boxes.unbind(-1)
    if in_fmt == "xywh":
        a, b, c, d = a, b, a + c, b + d
    elif in_fmt == "cxcywh":
        a, b, c, d = a - 0.5 * c, b - 0.5 * d, a + 0.5 * c, b + 0.5 * d
    if out_fmt == "xywh":
        a, b, c, d = a, b, c - a, d - b
    elif out_fmt == "cxcywh":
        a, b, c, d = (a + c) / 2, (b + d) / 2, c - a, d - b
    return stack([a, b, c, d], -1)
