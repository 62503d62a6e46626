"""Masks of Mask R-CNN: their targets, their loss, and how they are pasted into pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....base import dtypes
from ....core.tensor import Tensor
from ....nn import functional as F
from ....operators.create.ranges import arange
from ....operators.shape.join import cat, stack
from ...ops.roi_align import roi_align

if TYPE_CHECKING:
    from collections.abc import Sequence


def maskrcnn_inference(x: Tensor, labels: list[Tensor]) -> list[Tensor]:
    """The mask of each detection's own class as probabilities, (N, 1, M, M) for each picture."""
    prob = x.sigmoid()
    joined = cat(labels)
    chosen = prob[arange(prob.shape[0], device=labels[0].device), joined][:, None]
    return list(chosen.split([len(label) for label in labels], 0))


def project_masks_on_boxes(gt_masks: Tensor, boxes: Tensor, matched_idxs: Tensor, M: int) -> Tensor:
    """The part of each true mask that its box shows, resampled to (M, M)."""
    rois = cat([matched_idxs.to(boxes.dtype)[:, None], boxes], 1)
    return roi_align(gt_masks[:, None].to(rois.dtype), rois, (M, M), 1.0)[:, 0]


def maskrcnn_loss(
    mask_logits: Tensor,
    proposals: list[Tensor],
    gt_masks: list[Tensor],
    gt_labels: list[Tensor],
    mask_matched_idxs: list[Tensor],
) -> Tensor:
    """Binary cross-entropy of the masks of the true classes."""
    size = mask_logits.shape[-1]
    labels = cat([label[i] for label, i in zip(gt_labels, mask_matched_idxs)], 0)
    targets = cat(
        [project_masks_on_boxes(m, p, i, size) for m, p, i in zip(gt_masks, proposals, mask_matched_idxs)], 0
    )  # fmt: skip
    if targets.numel() == 0:
        return mask_logits.sum() * 0
    chosen = mask_logits[arange(labels.shape[0], device=labels.device), labels]
    return F.binary_cross_entropy_with_logits(chosen, targets)


def expand_masks(mask: Tensor, padding: int) -> tuple[Tensor, float]:
    """Masks with zeros around them, and how much larger they are."""
    size = mask.shape[-1]
    return F.pad(mask, (padding,) * 4), float(size + 2 * padding) / size


def expand_boxes(boxes: Tensor, scale: float) -> Tensor:
    """Boxes enlarged about their centres."""
    x, y = (boxes[:, 2] + boxes[:, 0]) * 0.5, (boxes[:, 3] + boxes[:, 1]) * 0.5
    w = (boxes[:, 2] - boxes[:, 0]) * 0.5 * scale
    h = (boxes[:, 3] - boxes[:, 1]) * 0.5 * scale
    return stack([x - w, y - h, x + w, y + h], 1)


def paste_mask_in_image(mask: Tensor, box: Tensor, im_h: int, im_w: int) -> Tensor:
    """A mask resized to its box, at the box's place in an empty picture."""
    left, top, right, bottom = (int(v) for v in box.tolist())
    size = (max(bottom - top + 1, 1), max(right - left + 1, 1))
    part = F.interpolate(mask[None, None], size=size, mode="bilinear", align_corners=False)[0, 0]
    picture = mask.new_zeros((im_h, im_w))
    x0, x1 = max(left, 0), min(right + 1, im_w)
    y0, y1 = max(top, 0), min(bottom + 1, im_h)
    if x1 > x0 and y1 > y0:
        picture[y0:y1, x0:x1] = part[y0 - top : y1 - top, x0 - left : x1 - left]
    return picture


def paste_masks_in_image(
    masks: Tensor, boxes: Tensor, img_shape: Sequence[int], padding: int = 1
) -> Tensor:
    """Masks (N, 1, M, M) at their boxes' places in pictures, (N, 1, height, width)."""
    wide, scale = expand_masks(masks, padding)
    places = expand_boxes(boxes, scale).to(dtypes.int64)
    height, width = img_shape
    pasted = [paste_mask_in_image(m[0], b, height, width) for m, b in zip(wide, places)]
    if not pasted:
        return masks.new_empty((0, 1, height, width))
    return stack(pasted, 0)[:, None]
