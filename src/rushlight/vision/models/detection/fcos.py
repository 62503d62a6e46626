"""FCOS (Tian et al. 2019), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .... import nn
from ....base import dtypes
from ....core.tensor import Tensor
from ....nn import functional as F
from ....operators.create.filled import full
from ....operators.create.like import zeros_like
from ....operators.shape.join import cat, stack
from ...ops import generalized_box_iou_loss, sigmoid_focal_loss
from .._build import build_on
from ..resnet import ResNet50_Weights
from . import _utils as det_utils
from ._single import SingleStage, best_of_levels, in_order, pyramid_on_resnet50
from .anchor_utils import AnchorGenerator
from .faster_rcnn import on
from .retinanet import prior_bias, small_normal

if TYPE_CHECKING:
    from ....nn.modules.module import Module

__all__ = ["FCOS", "FCOS_ResNet50_FPN_Weights", "fcos_resnet50_fpn"]

Target = dict[str, Tensor]


def _tower(channels: int, convs: int, norm_layer: Callable[..., nn.Module] | None) -> nn.Sequential:
    norm = norm_layer or partial(nn.GroupNorm, 32)
    layers: list[nn.Module] = []
    for _ in range(convs):
        layers += [nn.Conv2d(channels, channels, 3, 1, 1), norm(channels), nn.ReLU()]
    return nn.Sequential(*layers)


class FCOSClassificationHead(nn.Module):
    """Logits of the classes for every place.

    Args:
        in_channels: channels of the maps, a multiple of 32.
        num_anchors: anchors at each place.
        num_classes: the number of classes.
        num_convs: convolutions before the prediction.
        prior_probability: the probability of a class before training.
        norm_layer: the normalisation; groups of 32 if None.

    Example:
        >>> from rushlight.vision.models.detection.fcos import FCOSClassificationHead
        >>> FCOSClassificationHead(32, 1, 3)([torch.zeros(1, 32, 5, 5)]).shape
        torch.Size([1, 25, 3])
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        num_convs: int = 4,
        prior_probability: float = 0.01,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.num_classes, self.num_anchors = num_classes, num_anchors
        self.conv = _tower(in_channels, num_convs, norm_layer)
        small_normal(self.conv.children())
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, 1, 1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        bias: Any = self.cls_logits.bias
        nn.init.constant_(bias, prior_bias(prior_probability))

    def forward(self, x: list[Tensor]) -> Tensor:
        return cat([in_order(self.cls_logits(self.conv(m)), self.num_classes) for m in x], 1)


class FCOSRegressionHead(nn.Module):
    """As `FCOSClassificationHead`: for every place the distances to the edges of its box, and how central it is."""

    def __init__(
        self, in_channels: int, num_anchors: int, num_convs: int = 4, norm_layer: Callable[..., nn.Module] | None = None
    ) -> None:
        super().__init__()
        self.conv = _tower(in_channels, num_convs, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, 1, 1)
        self.bbox_ctrness = nn.Conv2d(in_channels, num_anchors, 3, 1, 1)
        small_normal([self.bbox_reg, self.bbox_ctrness])
        small_normal(self.conv.children())

    def forward(self, x: list[Tensor]) -> tuple[Tensor, Tensor]:
        seen = [self.conv(m) for m in x]
        boxes = cat([in_order(F.relu(self.bbox_reg(m)), 4) for m in seen], 1)
        return boxes, cat([in_order(self.bbox_ctrness(m), 1) for m in seen], 1)


class FCOSHead(nn.Module):
    """As `FCOSClassificationHead`: classes, boxes and centres of every place."""

    def __init__(self, in_channels: int, num_anchors: int, num_classes: int, num_convs: int | None = 4) -> None:
        super().__init__()
        count = num_convs or 4
        self.box_coder = det_utils.BoxLinearCoder(normalize_by_size=True)
        self.classification_head = FCOSClassificationHead(in_channels, num_anchors, num_classes, count)
        self.regression_head = FCOSRegressionHead(in_channels, num_anchors, count)

    def compute_loss(
        self, targets: list[Target], head_outputs: dict[str, Tensor], anchors: list[Tensor], matched_idxs: list[Tensor]
    ) -> dict[str, Tensor]:
        """The losses of classes, boxes and centrality, per object."""
        logits, codes = head_outputs["cls_logits"], head_outputs["bbox_regression"]
        labels, boxes = [], []
        for target, matched in zip(targets, matched_idxs):
            if len(target["labels"]) == 0:
                labels.append(target["labels"].new_full((len(matched),), -1))
                boxes.append(target["boxes"].new_zeros((len(matched), 4)))
                continue
            labels.append(target["labels"][matched.clamp(min=0)].masked_fill(matched < 0, -1))
            boxes.append(target["boxes"][matched.clamp(min=0)])
        label, true, anchor = stack(labels), stack(boxes), stack(anchors)
        objects = label >= 0
        count = max(1, int(objects.sum()))
        wanted = zeros_like(logits)
        wanted[objects, label[objects]] = 1.0
        class_loss = sigmoid_focal_loss(logits, wanted, reduction="sum")
        made = self.box_coder.decode(codes, anchor)
        box_loss = generalized_box_iou_loss(made[objects], true[objects], reduction="sum")
        sides = self.box_coder.encode(anchor, true)[objects]
        central = _centrality(sides)
        logit = head_outputs["bbox_ctrness"].squeeze(2)[objects]
        middle_loss = F.binary_cross_entropy_with_logits(logit, central, reduction="sum")
        return {
            "classification": class_loss / count,
            "bbox_regression": box_loss / count,
            "bbox_ctrness": middle_loss / count,
        }

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        boxes, central = self.regression_head(x)
        return {"cls_logits": self.classification_head(x), "bbox_regression": boxes, "bbox_ctrness": central}


def _centrality(sides: Tensor) -> Tensor:
    """1 in the middle of a box, 0 at its edges, from the distances to them."""
    if len(sides) == 0:
        return sides.new_zeros((0,))
    across, down = sides[:, 0::2], sides[:, 1::2]
    ratio = across.min(-1).values / across.max(-1).values
    return (ratio * (down.min(-1).values / down.max(-1).values)).sqrt()


class FCOS(SingleStage):
    """As `RetinaNet`, in one stage, but every place, not every anchor, answers for a box.

    Args:
        head: gives classes, boxes and centrality; the anchors are one for each place.
        center_sampling_radius: how far from a box's centre places answer for it, in sizes of the anchor.

    Example:
        >>> backbone = nn.Conv2d(3, 32, 3, stride=16, padding=1)
        >>> backbone.out_channels = 32
        >>> anchors = detection.anchor_utils.AnchorGenerator(((16,),), ((1.0,),))
        >>> model = detection.FCOS(backbone, 3, 64, 64, anchor_generator=anchors)
        >>> boxes, labels = torch.tensor([[4.0, 4, 40, 40]]), torch.tensor([1])
        >>> sorted(model([torch.rand(3, 48, 64)], [{"boxes": boxes, "labels": labels}]))
        ['bbox_ctrness', 'bbox_regression', 'classification']
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int,
        min_size: int | Sequence[int] = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        anchor_generator: Module | None = None,
        head: Module | None = None,
        center_sampling_radius: float = 1.5,
        score_thresh: float = 0.2,
        nms_thresh: float = 0.6,
        detections_per_img: int = 100,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()

        def make_head(channels: int, count: int) -> Any:
            if count != 1:
                raise ValueError(f"anchor_generator.num_anchors_per_location()[0] should be 1 instead of {count}")
            return head or FCOSHead(channels, count, num_classes)

        anchors = anchor_generator or AnchorGenerator(((8,), (16,), (32,), (64,), (128,)), ((1.0,),) * 5)
        self._set_up(
            backbone,
            anchors,
            make_head,
            (min_size, max_size, image_mean, image_std),
            (score_thresh, nms_thresh, detections_per_img, topk_candidates),
            **kwargs,
        )
        self.box_coder = det_utils.BoxLinearCoder(normalize_by_size=True)
        self.center_sampling_radius = center_sampling_radius

    def _match(self, boxes: Tensor, anchors: Tensor, counts: list[int]) -> Tensor:
        """The smallest box that a place is near the middle of and whose size suits its map."""
        if boxes.numel() == 0:
            return full((len(anchors),), -1, dtype=dtypes.int64, device=anchors.device)
        middle, place = (boxes[:, :2] + boxes[:, 2:]) / 2, (anchors[:, :2] + anchors[:, 2:]) / 2
        size = anchors[:, 2] - anchors[:, 0]
        apart = (place[:, None] - middle[None]).abs().max(2).values
        fits = apart < self.center_sampling_radius * size[:, None]
        reach = cat([place[:, None] - boxes[None, :, :2], boxes[None, :, 2:] - place[:, None]], 2)
        fits &= reach.min(2).values > 0
        low, high = size * 4, size * 8
        low[: counts[0]] = 0
        high[-counts[-1] :] = float("inf")
        longest = reach.max(2).values
        fits &= (longest > low[:, None]) & (longest < high[:, None])
        areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        value, matched = (fits.float() * (1e8 - areas[None])).max(1)
        return matched.masked_fill(value < 1e-5, -1)

    def compute_loss(
        self,
        targets: list[Target],
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        num_anchors_per_level: list[int],
    ) -> dict[str, Tensor]:
        """The losses, once every place has its true box."""
        matched = [self._match(t["boxes"], a, num_anchors_per_level) for t, a in zip(targets, anchors)]
        return self.head.compute_loss(targets, head_outputs, anchors, matched)

    def postprocess_detections(
        self, head_outputs: dict[str, list[Tensor]], anchors: list[list[Tensor]], image_shapes: list[tuple[int, int]]
    ) -> list[Target]:
        """The detections of each picture, from the answers for each map."""
        classes, central = head_outputs["cls_logits"], head_outputs["bbox_ctrness"]
        return [
            best_of_levels(
                [(c[i].sigmoid() * m[i].sigmoid()).sqrt() for c, m in zip(classes, central)],
                [m[i] for m in head_outputs["bbox_regression"]],
                anchors[i],
                self.box_coder.decode,
                shape,
                self,
            )
            for i, shape in enumerate(image_shapes)
        ]


FCOS_ResNet50_FPN_Weights, fcos_resnet50_fpn = build_on(
    "FCOS_ResNet50_FPN", on(FCOS, pyramid_on_resnet50), "FCOS on ResNet-50.",
    backbone=ResNet50_Weights.IMAGENET1K_V1, classes=91,
)  # fmt: skip
