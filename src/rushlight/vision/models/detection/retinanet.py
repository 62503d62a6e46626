"""RetinaNet (Lin et al. 2017), with torchvision's names and weights."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from .... import nn
from ....core.tensor import Tensor
from ....operators.create.like import zeros_like
from ....operators.shape.join import cat
from ...ops import Conv2dNormActivation, sigmoid_focal_loss
from .._build import build_on
from .._initial import drawn
from ..resnet import ResNet50_Weights
from . import _utils as det_utils
from ._single import SingleStage, best_of_levels, in_order, pyramid_on_resnet50
from .anchor_utils import AnchorGenerator
from .faster_rcnn import on, without_eps

if TYPE_CHECKING:
    from ....nn.modules.module import Module

__all__ = [
    "RetinaNet", "RetinaNet_ResNet50_FPN_V2_Weights", "RetinaNet_ResNet50_FPN_Weights", "retinanet_resnet50_fpn",
    "retinanet_resnet50_fpn_v2",
]  # fmt: skip

Target = dict[str, Tensor]


def _default_anchorgen() -> AnchorGenerator:
    """Three sizes for each map, a third of an octave apart."""
    sizes = tuple((x, int(x * 2 ** (1.0 / 3)), int(x * 2 ** (2.0 / 3))) for x in (32, 64, 128, 256, 512))
    return AnchorGenerator(sizes, ((0.5, 1.0, 2.0),) * 5)


def small_normal(layers: Iterable[Module]) -> None:
    """Small normal weights and no bias for the convolutions among `layers`."""
    drawn(layers, partial(nn.init.normal_, std=0.01))


def prior_bias(probability: float) -> float:
    """The logit of a class that is rare."""
    return -math.log((1 - probability) / probability)


class _Tower(nn.Module):
    """Four convolutions over every map."""

    _version = 2

    def __init__(self, in_channels: int, norm_layer: Callable[..., nn.Module] | None = None) -> None:
        super().__init__()
        convs = [Conv2dNormActivation(in_channels, in_channels, norm_layer=norm_layer) for _ in range(4)]
        self.conv = nn.Sequential(*convs)
        small_normal(self.conv.modules())

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local: dict[str, Any], *rest: Any) -> None:
        version = local.get("version", None)
        if version is None or version < 2:  # convolutions and relus had one numbering
            for i in range(4):
                for kind in ("weight", "bias"):
                    old, new = f"{prefix}conv.{2 * i}.{kind}", f"{prefix}conv.{i}.0.{kind}"
                    if old in state_dict:
                        state_dict[new] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local, *rest)


class RetinaNetClassificationHead(_Tower):
    """Logits of the classes for every anchor.

    Args:
        in_channels: channels of the maps.
        num_anchors: anchors at each place.
        num_classes: the number of classes.
        prior_probability: the probability of a class before training.
        norm_layer: a normalisation after each convolution.

    Example:
        >>> from rushlight.vision.models.detection.retinanet import RetinaNetClassificationHead
        >>> RetinaNetClassificationHead(4, 2, 3)([torch.zeros(1, 4, 5, 5)]).shape
        torch.Size([1, 50, 3])
    """

    def __init__(
        self,
        in_channels: int,
        num_anchors: int,
        num_classes: int,
        prior_probability: float = 0.01,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__(in_channels, norm_layer)
        self.cls_logits = nn.Conv2d(in_channels, num_anchors * num_classes, 3, 1, 1)
        nn.init.normal_(self.cls_logits.weight, std=0.01)
        bias: Any = self.cls_logits.bias
        nn.init.constant_(bias, prior_bias(prior_probability))
        self.num_classes = num_classes
        self.num_anchors = num_anchors
        self.BETWEEN_THRESHOLDS = det_utils.Matcher.BETWEEN_THRESHOLDS

    def compute_loss(
        self, targets: list[Target], head_outputs: dict[str, Tensor], matched_idxs: list[Tensor]
    ) -> Tensor:
        """The focal loss of the classes, per object."""
        total: Any = 0
        for target, logits, matched in zip(targets, head_outputs["cls_logits"], matched_idxs):
            objects = matched >= 0
            wanted = zeros_like(logits)
            wanted[objects, target["labels"][matched[objects]]] = 1.0
            counts = matched != self.BETWEEN_THRESHOLDS
            loss = sigmoid_focal_loss(logits[counts], wanted[counts], reduction="sum")
            total = total + loss / max(1, int(objects.sum()))
        return total / len(targets)

    def forward(self, x: list[Tensor]) -> Tensor:
        return cat([in_order(self.cls_logits(self.conv(m)), self.num_classes) for m in x], 1)


class RetinaNetRegressionHead(_Tower):
    """As `RetinaNetClassificationHead`: codes of the box of every anchor."""

    def __init__(self, in_channels: int, num_anchors: int, norm_layer: Callable[..., nn.Module] | None = None) -> None:
        super().__init__(in_channels, norm_layer)
        self.bbox_reg = nn.Conv2d(in_channels, num_anchors * 4, 3, 1, 1)
        small_normal([self.bbox_reg])
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))
        self._loss_type = "l1"

    def compute_loss(
        self, targets: list[Target], head_outputs: dict[str, Tensor], anchors: list[Tensor], matched_idxs: list[Tensor]
    ) -> Tensor:
        """The loss of the boxes, per object."""
        total: Any = 0
        rows = zip(targets, head_outputs["bbox_regression"], anchors, matched_idxs)
        for target, codes, anchor, matched in rows:
            objects = (matched >= 0).nonzero()[:, 0]
            true = target["boxes"][matched[objects]]
            loss = det_utils._box_loss(self._loss_type, self.box_coder, anchor[objects], true, codes[objects])
            total = total + loss / max(1, objects.numel())
        return total / max(1, len(targets))

    def forward(self, x: list[Tensor]) -> Tensor:
        return cat([in_order(self.bbox_reg(self.conv(m)), 4) for m in x], 1)


class RetinaNetHead(nn.Module):
    """As `RetinaNetClassificationHead`: classes and boxes of every anchor."""

    def __init__(
        self, in_channels: int, num_anchors: int, num_classes: int, norm_layer: Callable[..., nn.Module] | None = None
    ) -> None:
        super().__init__()
        self.classification_head = RetinaNetClassificationHead(
            in_channels, num_anchors, num_classes, norm_layer=norm_layer
        )
        self.regression_head = RetinaNetRegressionHead(in_channels, num_anchors, norm_layer=norm_layer)

    def compute_loss(
        self,
        targets: list[dict[str, Tensor]],
        head_outputs: dict[str, Tensor],
        anchors: list[Tensor],
        matched_idxs: list[Tensor],
    ) -> dict[str, Tensor]:
        """The losses of classes and boxes."""
        return {
            "classification": self.classification_head.compute_loss(targets, head_outputs, matched_idxs),
            "bbox_regression": self.regression_head.compute_loss(targets, head_outputs, anchors, matched_idxs),
        }

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {"cls_logits": self.classification_head(x), "bbox_regression": self.regression_head(x)}


class RetinaNet(SingleStage):
    """RetinaNet: a detector in one stage, trained with the focal loss.

    Args:
        backbone: from a batch of pictures to maps; with an attribute `out_channels`.
        num_classes: the number of classes, with the background.
        min_size: the shorter edge of resized pictures.
        max_size: the longest that the other edge may be.
        image_mean: subtracted from each channel.
        image_std: divides each channel.
        anchor_generator: makes the anchors.
        head: gives classes and boxes of the anchors.
        proposal_matcher: says which true box an anchor belongs to.
        score_thresh: the smallest probability of a detection.
        nms_thresh: overlap from which on detections are doubles.
        detections_per_img: the most detections of a picture.
        fg_iou_thresh: an anchor that overlaps a true box so much is an object.
        bg_iou_thresh: one that overlaps none so much is background.
        topk_candidates: detections of each map that are looked at.

    Example:
        >>> backbone = nn.Conv2d(3, 8, 3, stride=16, padding=1)
        >>> backbone.out_channels = 8
        >>> anchors = detection.anchor_utils.AnchorGenerator(((16, 32),), ((0.5, 1.0),))
        >>> model = detection.RetinaNet(backbone, 3, 64, 64, anchor_generator=anchors)
        >>> boxes, labels = torch.tensor([[4.0, 4, 40, 40]]), torch.tensor([1])
        >>> sorted(model([torch.rand(3, 48, 64)], [{"boxes": boxes, "labels": labels}]))
        ['bbox_regression', 'classification']
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
        proposal_matcher: Any = None,
        score_thresh: float = 0.05,
        nms_thresh: float = 0.5,
        detections_per_img: int = 300,
        fg_iou_thresh: float = 0.5,
        bg_iou_thresh: float = 0.4,
        topk_candidates: int = 1000,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        if not isinstance(anchor_generator, (AnchorGenerator, type(None))):
            raise TypeError(
                f"anchor_generator should be of type AnchorGenerator or None instead of {type(anchor_generator)}"
            )
        self._set_up(
            backbone,
            anchor_generator or _default_anchorgen(),
            lambda channels, count: head or RetinaNetHead(channels, count, num_classes),
            (min_size, max_size, image_mean, image_std),
            (score_thresh, nms_thresh, detections_per_img, topk_candidates),
            **kwargs,
        )
        self.proposal_matcher = proposal_matcher or det_utils.Matcher(
            fg_iou_thresh, bg_iou_thresh, allow_low_quality_matches=True
        )
        self.box_coder = det_utils.BoxCoder(weights=(1.0, 1.0, 1.0, 1.0))

    def compute_loss(
        self, targets: list[Target], head_outputs: dict[str, Tensor], anchors: list[Tensor]
    ) -> dict[str, Tensor]:
        """The losses, once every anchor has its true box."""
        matched = self.matched(targets, anchors)
        return self.head.compute_loss(targets, head_outputs, anchors, matched)

    def losses(
        self, targets: list[dict[str, Tensor]], outputs: dict[str, Tensor], anchors: list[Tensor], counts: list[int]
    ) -> Any:
        return self.compute_loss(targets, outputs, anchors)

    def postprocess_detections(
        self, head_outputs: dict[str, list[Tensor]], anchors: list[list[Tensor]], image_shapes: list[tuple[int, int]]
    ) -> list[Target]:
        """The detections of each picture, from the answers for each map."""
        return [
            best_of_levels(
                [m[i].sigmoid() for m in head_outputs["cls_logits"]],
                [m[i] for m in head_outputs["bbox_regression"]],
                anchors[i],
                self.box_coder.decode_single,
                shape,
                self,
            )
            for i, shape in enumerate(image_shapes)
        ]


def _second_parts(backbone: Any, num_classes: int) -> dict[str, Any]:
    anchors = _default_anchorgen()
    count = anchors.num_anchors_per_location()[0]
    norm = partial(nn.GroupNorm, 32)
    head = RetinaNetHead(backbone.out_channels, count, num_classes, norm_layer=norm)
    head.regression_head._loss_type = "giou"
    return {"anchor_generator": anchors, "head": head}


RetinaNet_ResNet50_FPN_Weights, retinanet_resnet50_fpn = build_on(
    "RetinaNet_ResNet50_FPN", on(RetinaNet, pyramid_on_resnet50), "RetinaNet on ResNet-50.",
    backbone=ResNet50_Weights.IMAGENET1K_V1, classes=91, after=without_eps,
)  # fmt: skip
RetinaNet_ResNet50_FPN_V2_Weights, retinanet_resnet50_fpn_v2 = build_on(
    "RetinaNet_ResNet50_FPN_V2", on(RetinaNet, partial(pyramid_on_resnet50, last=2048, frozen=False), _second_parts),
    "RetinaNet on ResNet-50, with the improvements of Zhang et al. 2019.", backbone=ResNet50_Weights, classes=91,
)  # fmt: skip
