"""Key points of Keypoint R-CNN: their targets, their loss, and how they are read from heat maps."""

from __future__ import annotations

from ....base import dtypes
from ....core.tensor import Tensor
from ....nn import functional as F
from ....operators.create.ranges import arange
from ....operators.pointwise.select import where
from ....operators.shape.join import cat, stack


def _pixels(at: Tensor, low: Tensor, high: Tensor, size: int) -> Tensor:
    """Coordinates as pixels of a heat map of a region; its far edge belongs to the last pixel."""
    scaled = ((at - low[:, None]) * (size / (high - low))[:, None]).floor().to(dtypes.int64)
    return where(at == high[:, None], size - 1, scaled)


def keypoints_to_heatmap(
    keypoints: Tensor, rois: Tensor, heatmap_size: int
) -> tuple[Tensor, Tensor]:
    """Which pixel of its region's heat map each point (x, y, visible) is, and whether it counts."""
    x = _pixels(keypoints[..., 0], rois[:, 0], rois[:, 2], heatmap_size)
    y = _pixels(keypoints[..., 1], rois[:, 1], rois[:, 3], heatmap_size)
    inside = (x >= 0) & (y >= 0) & (x < heatmap_size) & (y < heatmap_size)
    valid = (inside & (keypoints[..., 2] > 0)).to(dtypes.int64)
    return (y * heatmap_size + x) * valid, valid


def heatmaps_to_keypoints(maps: Tensor, rois: Tensor) -> tuple[Tensor, Tensor]:
    """The highest place of every heat map, (N, K, 3), and its value, (N, K)."""
    count = maps.shape[1]
    points, scores = [], []
    for heat, (left, top, right, bottom) in zip(maps, rois.tolist()):
        wide, high = max(right - left, 1.0), max(bottom - top, 1.0)
        columns, rows = -int(-wide // 1), -int(-high // 1)
        size = (rows, columns)
        drawn = F.interpolate(heat[:, None], size=size, mode="bicubic", align_corners=False)[:, 0]
        best = drawn.reshape(count, -1).argmax(1)
        column, row = best % columns, best.div(columns, rounding_mode="floor")
        x = (column + 0.5) * (wide / columns) + left
        y = (row + 0.5) * (high / rows) + top
        points.append(stack([x, y, x.new_ones(count)], 1).to(maps.dtype))
        scores.append(drawn[arange(count, device=heat.device), row, column])
    if not points:
        return maps.new_zeros((0, count, 3)), maps.new_zeros((0, count))
    return stack(points, 0), stack(scores, 0)


def keypointrcnn_loss(
    keypoint_logits: Tensor,
    proposals: list[Tensor],
    gt_keypoints: list[Tensor],
    keypoint_matched_idxs: list[Tensor],
) -> Tensor:
    """Cross-entropy over the pixels of the heat maps of visible points."""
    n, count, size, width = keypoint_logits.shape
    if size != width:
        raise ValueError(f"keypoint_logits should be square, got {size} x {width}")
    targets, counts = [], []
    for boxes, points, matched in zip(proposals, gt_keypoints, keypoint_matched_idxs):
        place, valid = keypoints_to_heatmap(points[matched], boxes, size)
        targets.append(place.reshape(-1))
        counts.append(valid.reshape(-1))
    chosen = cat(counts, 0).nonzero()[:, 0]
    if keypoint_logits.numel() == 0 or len(chosen) == 0:
        return keypoint_logits.sum() * 0
    logits = keypoint_logits.reshape(n * count, size * size)
    return F.cross_entropy(logits[chosen], cat(targets, 0)[chosen])


def keypointrcnn_inference(x: Tensor, boxes: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
    """The points and their scores for each picture."""
    points, scores = [], []
    for maps, regions in zip(x.split([len(b) for b in boxes], 0), boxes):
        found, score = heatmaps_to_keypoints(maps, regions)
        points.append(found)
        scores.append(score)
    return points, scores
