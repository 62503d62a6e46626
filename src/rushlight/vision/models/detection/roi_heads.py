"""The second stage of R-CNN: classes, boxes, masks and points of the proposed regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .... import nn
from ....base import dtypes
from ....core.tensor import Tensor
from ....nn import functional as F
from ....operators.create.filled import zeros
from ....operators.create.ranges import arange
from ....operators.pointwise.select import where
from ....operators.shape.join import cat, stack
from ... import ops
from ...ops.roi_align import roi_align
from . import _utils as det_utils

if TYPE_CHECKING:
    from ....nn.modules.module import Module


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
    targets = cat([project_masks_on_boxes(m, p, i, size) for m, p, i in zip(gt_masks, proposals, mask_matched_idxs)], 0)
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


def paste_masks_in_image(masks: Tensor, boxes: Tensor, img_shape: Sequence[int], padding: int = 1) -> Tensor:
    """Masks (N, 1, M, M) at their boxes' places in pictures, (N, 1, height, width)."""
    wide, scale = expand_masks(masks, padding)
    places = expand_boxes(boxes, scale).to(dtypes.int64)
    height, width = img_shape
    pasted = [paste_mask_in_image(m[0], b, height, width) for m, b in zip(wide, places)]
    if not pasted:
        return masks.new_empty((0, 1, height, width))
    return stack(pasted, 0)[:, None]


def _pixels(at: Tensor, low: Tensor, high: Tensor, size: int) -> Tensor:
    """Coordinates as pixels of a heat map of a region; its far edge belongs to the last pixel."""
    scaled = ((at - low[:, None]) * (size / (high - low))[:, None]).floor().to(dtypes.int64)
    return where(at == high[:, None], size - 1, scaled)


def keypoints_to_heatmap(keypoints: Tensor, rois: Tensor, heatmap_size: int) -> tuple[Tensor, Tensor]:
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
    keypoint_logits: Tensor, proposals: list[Tensor], gt_keypoints: list[Tensor], keypoint_matched_idxs: list[Tensor]
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


Target = dict[str, Tensor]


def fastrcnn_loss(
    class_logits: Tensor, box_regression: Tensor, labels: list[Tensor], regression_targets: list[Tensor]
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the classes, and the loss of the boxes of those that are no background."""
    label, target = cat(labels, 0), cat(regression_targets, 0)
    class_loss = F.cross_entropy(class_logits, label)
    positive = (label > 0).nonzero()[:, 0]
    codes = box_regression.reshape(class_logits.shape[0], -1, 4)
    box_loss = F.smooth_l1_loss(codes[positive, label[positive]], target[positive], beta=1 / 9, reduction="sum")
    return class_loss, box_loss / label.numel()


class RoIHeads(nn.Module):
    """What is in each proposed region: a class and a box, and perhaps a mask or points.

    Args:
        box_roi_pool: reads regions from the maps.
        box_head: from regions to vectors.
        box_predictor: from vectors to logits of classes and codes of boxes.
        fg_iou_thresh: a region that overlaps a true box so much is an object.
        bg_iou_thresh: one that overlaps none so much is background.
        batch_size_per_image: regions that are drawn in training.
        positive_fraction: the share of objects among them.
        bbox_reg_weights: factors of the codes of boxes; (10, 10, 5, 5) if None.
        score_thresh: the smallest probability of a detection.
        nms_thresh: overlap from which on detections are doubles.
        detections_per_img: the most detections of a picture.
        mask_roi_pool: reads regions for masks.
        mask_head: from regions to maps.
        mask_predictor: from maps to logits of masks.
        keypoint_roi_pool: reads regions for points.
        keypoint_head: from regions to maps.
        keypoint_predictor: from maps to heat maps.

    Example:
        >>> detection.roi_heads.RoIHeads(None, None, None, 0.5, 0.5, 8, 0.25, None, 0.1, 0.5, 9).has_mask()
        False
    """

    def __init__(
        self,
        box_roi_pool: Module,
        box_head: Module,
        box_predictor: Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        bbox_reg_weights: tuple[float, float, float, float] | None,
        score_thresh: float,
        nms_thresh: float,
        detections_per_img: int,
        mask_roi_pool: Module | None = None,
        mask_head: Module | None = None,
        mask_predictor: Module | None = None,
        keypoint_roi_pool: Module | None = None,
        keypoint_head: Module | None = None,
        keypoint_predictor: Module | None = None,
    ) -> None:
        super().__init__()
        self.box_similarity = ops.box_iou
        self.proposal_matcher = det_utils.Matcher(fg_iou_thresh, bg_iou_thresh, False)
        self.fg_bg_sampler = det_utils.BalancedPositiveNegativeSampler(batch_size_per_image, positive_fraction)
        self.box_coder = det_utils.BoxCoder(bbox_reg_weights or (10.0, 10.0, 5.0, 5.0))
        self.box_roi_pool = box_roi_pool
        self.box_head, self.box_predictor = box_head, box_predictor
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img = detections_per_img
        self.mask_roi_pool: Any = mask_roi_pool
        self.mask_head: Any = mask_head
        self.mask_predictor: Any = mask_predictor
        self.keypoint_roi_pool: Any = keypoint_roi_pool
        self.keypoint_head: Any = keypoint_head
        self.keypoint_predictor: Any = keypoint_predictor

    def has_mask(self) -> bool:
        """Whether masks are predicted."""
        parts = (self.mask_roi_pool, self.mask_head, self.mask_predictor)
        return all(part is not None for part in parts)

    def has_keypoint(self) -> bool:
        """Whether points are predicted."""
        parts = (self.keypoint_roi_pool, self.keypoint_head, self.keypoint_predictor)
        return all(part is not None for part in parts)

    # -- training ------------------------------------------------------------------------------------

    def assign_targets_to_proposals(
        self, proposals: list[Tensor], gt_boxes: list[Tensor], gt_labels: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The number of each proposal's true box, and its label: 0 background, -1 ignored."""
        matched_idxs, labels = [], []
        for boxes, true, label in zip(proposals, gt_boxes, gt_labels):
            if true.numel() == 0:
                nothing = zeros((boxes.shape[0],), dtype=dtypes.int64, device=boxes.device)
                matched_idxs.append(nothing)
                labels.append(nothing.clone())
                continue
            matched = self.proposal_matcher(self.box_similarity(true, boxes))
            clamped = matched.clamp(min=0)
            found = label[clamped].to(dtypes.int64)
            found[matched == self.proposal_matcher.BELOW_LOW_THRESHOLD] = 0
            found[matched == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1
            matched_idxs.append(clamped)
            labels.append(found)
        return matched_idxs, labels

    def subsample(self, labels: list[Tensor]) -> list[Tensor]:
        """The places of the proposals that are drawn."""
        positive, negative = self.fg_bg_sampler(labels)
        return [(p | n).nonzero()[:, 0] for p, n in zip(positive, negative)]

    def add_gt_proposals(self, proposals: list[Tensor], gt_boxes: list[Tensor]) -> list[Tensor]:
        """The true boxes are proposals, too."""
        return [cat([p, g]) for p, g in zip(proposals, gt_boxes)]

    def check_targets(self, targets: list[Target] | None) -> None:
        """Targets have what the losses need."""
        if targets is None:
            raise ValueError("targets should not be None")
        needed = ["boxes", "labels", *(["masks"] if self.has_mask() else [])]
        for key in needed:
            if not all(key in t for t in targets):
                raise ValueError(f"Every element of targets should have a {key} key")

    def select_training_samples(
        self, proposals: list[Tensor], targets: list[Target] | None
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor], list[Tensor]]:
        """Some proposals of each picture: boxes, numbers of true boxes, labels, codes."""
        self.check_targets(targets)
        assert targets is not None
        kind = proposals[0].dtype
        gt_boxes = [t["boxes"].to(kind) for t in targets]
        proposals = self.add_gt_proposals(proposals, gt_boxes)
        matched, labels = self.assign_targets_to_proposals(proposals, gt_boxes, [t["labels"] for t in targets])
        true = []
        for i, chosen in enumerate(self.subsample(labels)):
            proposals[i] = proposals[i][chosen]
            labels[i], matched[i] = labels[i][chosen], matched[i][chosen]
            some = gt_boxes[i] if gt_boxes[i].numel() else proposals[i].new_zeros((1, 4))
            true.append(some[matched[i]])
        return proposals, matched, labels, self.box_coder.encode(true, proposals)

    # -- answers -------------------------------------------------------------------------------------

    def postprocess_detections(
        self, class_logits: Tensor, box_regression: Tensor, proposals: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
        """Boxes, scores and labels of each picture, without doubles, best first."""
        classes = class_logits.shape[-1]
        counts = [len(b) for b in proposals]
        every = self.box_coder.decode(box_regression, proposals).split(counts, 0)
        scores = F.softmax(class_logits, -1).split(counts, 0)
        found: tuple[list[Tensor], list[Tensor], list[Tensor]] = ([], [], [])
        for boxes, score, shape in zip(every, scores, image_shapes):
            boxes = ops.clip_boxes_to_image(boxes, shape)
            label = arange(classes, device=class_logits.device).reshape(1, -1).expand_as(score)
            # Class 0 is the background; every other one has a box of its own.
            boxes, score = boxes[:, 1:].reshape(-1, 4), score[:, 1:].reshape(-1)
            label = label[:, 1:].reshape(-1)
            keep = (score > self.score_thresh).nonzero()[:, 0]
            keep = keep[ops.remove_small_boxes(boxes[keep], 1e-2)]
            kept = ops.batched_nms(boxes[keep], score[keep], label[keep], self.nms_thresh)
            keep = keep[kept[: self.detections_per_img]]
            for parts, part in zip(found, (boxes, score, label)):
                parts.append(part[keep])
        return found

    def forward(
        self,
        features: dict[str, Tensor],
        proposals: list[Tensor],
        image_shapes: list[tuple[int, int]],
        targets: list[Target] | None = None,
    ) -> tuple[list[Target], dict[str, Tensor]]:
        result: list[Target] = []
        losses: dict[str, Tensor] = {}
        matched: Any = None
        labels: Any = None
        codes: Any = None
        if self.training:
            _check_types(targets, self.has_keypoint())
            proposals, matched, labels, codes = self.select_training_samples(proposals, targets)
        vectors = self.box_head(self.box_roi_pool(features, proposals, image_shapes))
        class_logits, box_regression = self.box_predictor(vectors)
        if self.training:
            class_loss, box_loss = fastrcnn_loss(class_logits, box_regression, labels, codes)
            losses = {"loss_classifier": class_loss, "loss_box_reg": box_loss}
        else:
            parts = self.postprocess_detections(class_logits, box_regression, proposals, image_shapes)
            for boxes, scores, label in zip(*parts):
                result.append({"boxes": boxes, "labels": label, "scores": scores})
        regions, places = self._regions(result, proposals, labels, matched)
        if self.has_mask():
            self._masks(features, regions, places, image_shapes, targets, result, losses)
        if self.has_keypoint():
            self._points(features, regions, places, image_shapes, targets, result, losses)
        return result, losses

    def _regions(
        self, result: list[Target], proposals: list[Tensor], labels: Any, matched: Any
    ) -> tuple[list[Tensor], Any]:
        """The regions that get masks and points: detections, or in training what is no background."""
        if not self.training:
            return [r["boxes"] for r in result], None
        objects = [(label > 0).nonzero()[:, 0] for label in labels]
        places = [m[o] for m, o in zip(matched, objects)]
        return [p[o] for p, o in zip(proposals, objects)], places

    def _masks(
        self, features: Any, regions: Any, places: Any, shapes: Any, targets: Any, result: Any, losses: Any
    ) -> None:
        read = self.mask_head(self.mask_roi_pool(features, regions, shapes))
        logits = self.mask_predictor(read)
        if self.training:
            masks, labels = ([t[key] for t in targets] for key in ("masks", "labels"))
            losses["loss_mask"] = maskrcnn_loss(logits, regions, masks, labels, places)
            return
        for found, mask in zip(result, maskrcnn_inference(logits, [r["labels"] for r in result])):
            found["masks"] = mask

    def _points(
        self, features: Any, regions: Any, places: Any, shapes: Any, targets: Any, result: Any, losses: Any
    ) -> None:
        read = self.keypoint_head(self.keypoint_roi_pool(features, regions, shapes))
        logits = self.keypoint_predictor(read)
        if self.training:
            true = [t["keypoints"] for t in targets]
            losses["loss_keypoint"] = keypointrcnn_loss(logits, regions, true, places)
            return
        for found, points, scores in zip(result, *keypointrcnn_inference(logits, regions)):
            found["keypoints"], found["keypoints_scores"] = points, scores


def _check_types(targets: list[Target] | None, points: bool) -> None:
    """Boxes are real numbers, labels whole ones."""
    for t in targets or []:
        if not t["boxes"].is_floating_point():
            raise TypeError(f"target boxes must of float type, instead got {t['boxes'].dtype}")
        if t["labels"].dtype is not dtypes.int64:
            raise TypeError(f"target labels must of int64 type, instead got {t['labels'].dtype}")
        if points and t["keypoints"].dtype is not dtypes.float32:
            kind = t["keypoints"].dtype
            raise TypeError(f"target keypoints must of float type, instead got {kind}")
