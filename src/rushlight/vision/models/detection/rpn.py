"""The region proposal network (Ren et al. 2015): boxes that may hold an object."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....core.tensor import Tensor
from ....nn import functional as F
from ....operators.create.filled import full, zeros
from ....operators.create.ranges import arange
from ....operators.shape.join import cat
from ... import ops
from ...ops import Conv2dNormActivation
from . import _utils as det_utils
from .image_list import ImageList


class RPNHead(nn.Module):
    """For every anchor, whether there is an object, and where.

    Args:
        in_channels: channels of the maps.
        num_anchors: anchors at each place.
        conv_depth: convolutions before the two predictions.

    Example:
        >>> from rushlight.vision.models.detection.rpn import RPNHead
        >>> objectness, boxes = RPNHead(8, 3)([torch.zeros(1, 8, 5, 5)])
        >>> objectness[0].shape, boxes[0].shape
        (torch.Size([1, 3, 5, 5]), torch.Size([1, 12, 5, 5]))
    """

    _version = 2

    def __init__(self, in_channels: int, num_anchors: int, conv_depth: int = 1) -> None:
        super().__init__()
        convs = [Conv2dNormActivation(in_channels, in_channels, 3, norm_layer=None) for _ in range(conv_depth)]
        self.conv = nn.Sequential(*convs)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors, 1, 1)
        self.bbox_pred = nn.Conv2d(in_channels, num_anchors * 4, 1, 1)
        for layer in self.modules():
            if isinstance(layer, nn.Conv2d):
                nn.init.normal_(layer.weight, std=0.01)
                if layer.bias is not None:
                    nn.init.constant_(layer.bias, 0)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local: dict[str, Any], *rest: Any) -> None:
        version = local.get("version", None)
        if version is None or version < 2:  # one convolution had no number
            for kind in ("weight", "bias"):
                old, new = f"{prefix}conv.{kind}", f"{prefix}conv.0.0.{kind}"
                if old in state_dict:
                    state_dict[new] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local, *rest)

    def forward(self, x: list[Tensor]) -> tuple[list[Tensor], list[Tensor]]:
        seen = [self.conv(feature) for feature in x]
        return [self.cls_logits(t) for t in seen], [self.bbox_pred(t) for t in seen]


def permute_and_flatten(layer: Tensor, N: int, A: int, C: int, H: int, W: int) -> Tensor:
    """(N, A * C, H, W) as (N, H * W * A, C)."""
    return layer.reshape(N, -1, C, H, W).permute(0, 3, 4, 1, 2).reshape(N, -1, C)


def concat_box_prediction_layers(box_cls: list[Tensor], box_regression: list[Tensor]) -> tuple[Tensor, Tensor]:
    """The predictions of all maps in the order of the anchors."""
    scores, codes = [], []
    for cls, regression in zip(box_cls, box_regression):
        n, channels, height, width = cls.shape
        anchors = regression.shape[1] // 4
        size = (height, width)
        scores.append(permute_and_flatten(cls, n, anchors, channels // anchors, *size))
        codes.append(permute_and_flatten(regression, n, anchors, 4, *size))
    return cat(scores, 1).flatten(0, -2), cat(codes, 1).reshape(-1, 4)


class RegionProposalNetwork(nn.Module):
    """Boxes that may hold an object, and the losses of finding them.

    Args:
        anchor_generator: makes the anchors.
        head: gives, for each map, whether there is an object, and where.
        fg_iou_thresh: an anchor that overlaps a true box so much is positive.
        bg_iou_thresh: one that overlaps none so much is negative.
        batch_size_per_image: anchors that are drawn for the losses.
        positive_fraction: the share of positive ones among them.
        pre_nms_top_n: boxes kept before doubles are removed, {"training": n, "testing": n}.
        post_nms_top_n: boxes kept after.
        nms_thresh: overlap from which on boxes are doubles.
        score_thresh: the smallest probability of an object.

    Example:
        >>> from rushlight.vision.models.detection import anchor_utils, image_list, rpn
        >>> anchors = anchor_utils.AnchorGenerator(((8,),), ((1.0,),))
        >>> top = {"training": 5, "testing": 5}
        >>> net = rpn.RegionProposalNetwork(anchors, rpn.RPNHead(4, 1), 0.7, 0.3, 4, 0.5, top, top, 0.7).eval()
        >>> images = image_list.ImageList(torch.zeros(1, 3, 32, 32), [(32, 32)])
        >>> boxes, losses = net(images, {"0": torch.zeros(1, 4, 4, 4)})
        >>> boxes[0].shape, losses
        (torch.Size([5, 4]), {})
    """

    def __init__(
        self,
        anchor_generator: nn.Module,
        head: nn.Module,
        fg_iou_thresh: float,
        bg_iou_thresh: float,
        batch_size_per_image: int,
        positive_fraction: float,
        pre_nms_top_n: dict[str, int],
        post_nms_top_n: dict[str, int],
        nms_thresh: float,
        score_thresh: float = 0.0,
    ) -> None:
        super().__init__()
        self.anchor_generator = anchor_generator
        self.head = head
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self.box_similarity = ops.box_iou
        self.proposal_matcher = det_utils.Matcher(fg_iou_thresh, bg_iou_thresh, True)
        self.fg_bg_sampler = det_utils.BalancedPositiveNegativeSampler(batch_size_per_image, positive_fraction)
        self._pre_nms_top_n, self._post_nms_top_n = pre_nms_top_n, post_nms_top_n
        self.nms_thresh, self.score_thresh, self.min_size = nms_thresh, score_thresh, 1e-3

    def pre_nms_top_n(self) -> int:
        """Boxes kept before doubles are removed."""
        return self._pre_nms_top_n["training" if self.training else "testing"]

    def post_nms_top_n(self) -> int:
        """Boxes kept after doubles are removed."""
        return self._post_nms_top_n["training" if self.training else "testing"]

    def assign_targets_to_anchors(
        self, anchors: list[Tensor], targets: list[dict[str, Tensor]]
    ) -> tuple[list[Tensor], list[Tensor]]:
        """For each anchor 1, 0 or -1 (object, background, neither), and its true box."""
        labels, boxes = [], []
        for anchor, target in zip(anchors, targets):
            true = target["boxes"]
            if true.numel() == 0:
                boxes.append(zeros(anchor.shape, dtype=anchor.dtype, device=anchor.device))
                labels.append(zeros((anchor.shape[0],), device=anchor.device))
                continue
            matched = self.proposal_matcher(self.box_similarity(true, anchor))
            boxes.append(true[matched.clamp(min=0)])
            label = (matched >= 0).float()
            label[matched == self.proposal_matcher.BETWEEN_THRESHOLDS] = -1.0
            labels.append(label)
        return labels, boxes

    def filter_proposals(
        self,
        proposals: Tensor,
        objectness: Tensor,
        image_shapes: list[tuple[int, int]],
        num_anchors_per_level: list[int],
    ) -> tuple[list[Tensor], list[Tensor]]:
        """The best boxes of each picture, without doubles."""
        n = proposals.shape[0]
        objectness = objectness.detach().reshape(n, -1)
        levels, best, offset = [], [], 0
        for level, part in enumerate(objectness.split(num_anchors_per_level, 1)):
            count = min(self.pre_nms_top_n(), part.shape[1])
            best.append(part.topk(count, 1).indices + offset)
            levels.append(full((count,), level, device=proposals.device))
            offset += part.shape[1]
        order, level = cat(best, 1), cat(levels, 0)
        picture = arange(n, device=proposals.device)[:, None]
        scores, proposals = objectness[picture, order].sigmoid(), proposals[picture, order]
        found: tuple[list[Tensor], list[Tensor]] = ([], [])
        for boxes, score, shape in zip(proposals, scores, image_shapes):
            boxes = ops.clip_boxes_to_image(boxes, shape)
            keep = ops.remove_small_boxes(boxes, self.min_size)
            keep = keep[score[keep] >= self.score_thresh]
            boxes, score = boxes[keep], score[keep]
            kept = ops.batched_nms(boxes, score, level[keep], self.nms_thresh)
            kept = kept[: self.post_nms_top_n()]
            found[0].append(boxes[kept])
            found[1].append(score[kept])
        return found

    def compute_loss(
        self, objectness: Tensor, pred_bbox_deltas: Tensor, labels: list[Tensor], regression_targets: list[Tensor]
    ) -> tuple[Tensor, Tensor]:
        """The losses of "is there an object" and of "where", over a sample of the anchors."""
        masks = self.fg_bg_sampler(labels)
        positive, negative = (cat(m, 0).nonzero()[:, 0] for m in masks)
        sampled = cat([positive, negative], 0)
        where_loss = F.smooth_l1_loss(
            pred_bbox_deltas[positive], cat(regression_targets, 0)[positive], beta=1 / 9, reduction="sum"
        )
        there_loss = F.binary_cross_entropy_with_logits(objectness.flatten()[sampled], cat(labels, 0)[sampled])
        return there_loss, where_loss / sampled.numel()

    def forward(
        self, images: ImageList, features: dict[str, Tensor], targets: list[dict[str, Tensor]] | None = None
    ) -> tuple[list[Tensor], dict[str, Tensor]]:
        maps = list(features.values())
        objectness, codes = self.head(maps)
        anchors = self.anchor_generator(images, maps)
        counts = [o[0].numel() for o in objectness]
        scores, deltas = concat_box_prediction_layers(objectness, codes)
        proposals = self.box_coder.decode(deltas.detach(), anchors)
        proposals = proposals.reshape(len(anchors), -1, 4)
        boxes, _ = self.filter_proposals(proposals, scores, images.image_sizes, counts)
        if not self.training:
            return boxes, {}
        if targets is None:
            raise ValueError("targets should not be None")
        labels, matched = self.assign_targets_to_anchors(anchors, targets)
        wanted = self.box_coder.encode(matched, anchors)
        there, where = self.compute_loss(scores, deltas, labels, wanted)
        return boxes, {"loss_objectness": there, "loss_rpn_box_reg": where}
