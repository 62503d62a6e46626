"""SSD (Liu et al. 2016), with torchvision's names and weights."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from .... import nn
from ....base import dtypes
from ....core.tensor import Tensor
from ....nn import functional as F
from ....operators.create.filled import full, ones
from ....operators.create.like import full_like
from ....operators.shape.join import cat, stack
from ... import ops
from .. import vgg
from .._api import WeightsEnum
from .._build import build_on
from .._initial import drawn
from . import _utils as det_utils
from ._single import SingleStage, in_order, without_doubles
from .anchor_utils import DefaultBoxGenerator
from .backbone_utils import _validate_trainable_layers, freeze_stages
from .faster_rcnn import MEAN, STD
from .transform import GeneralizedRCNNTransform

if TYPE_CHECKING:
    from ....nn.modules.module import Module

__all__ = ["SSD300_VGG16_Weights", "ssd300_vgg16"]

Target = dict[str, Tensor]


class SSDScoringHead(nn.Module):
    """A layer for each map, whose answers are put in the order of the default boxes.

    Args:
        module_list: the layers.
        num_columns: numbers for each default box.

    Example:
        >>> from rushlight.vision.models.detection.ssd import SSDScoringHead
        >>> SSDScoringHead(nn.ModuleList([nn.Conv2d(2, 6, 1)]), 3)([torch.zeros(1, 2, 4, 4)]).shape
        torch.Size([1, 32, 3])
    """

    def __init__(self, module_list: nn.ModuleList, num_columns: int) -> None:
        super().__init__()
        self.module_list = module_list
        self.num_columns = num_columns

    def forward(self, x: list[Tensor]) -> Tensor:
        made = [in_order(layer(m), self.num_columns) for layer, m in zip(self.module_list, x)]
        return cat(made, 1)


class SSDClassificationHead(SSDScoringHead):
    """Logits of the classes of every default box.

    Args:
        in_channels: channels of each map.
        num_anchors: default boxes at a place of each map.
        num_classes: the number of classes, with the background.

    Example:
        >>> from rushlight.vision.models.detection.ssd import SSDClassificationHead
        >>> SSDClassificationHead([2], [4], 3)([torch.zeros(1, 2, 4, 4)]).shape
        torch.Size([1, 64, 3])
    """

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        layers = nn.ModuleList(nn.Conv2d(c, num_classes * n, 3, padding=1) for c, n in zip(in_channels, num_anchors))
        drawn(layers.modules(), nn.init.xavier_uniform_)
        super().__init__(layers, num_classes)


class SSDRegressionHead(SSDScoringHead):
    """As `SSDClassificationHead`: codes of the box of every default box."""

    def __init__(self, in_channels: list[int], num_anchors: list[int]) -> None:
        layers = nn.ModuleList(nn.Conv2d(c, 4 * n, 3, padding=1) for c, n in zip(in_channels, num_anchors))
        drawn(layers.modules(), nn.init.xavier_uniform_)
        super().__init__(layers, 4)


class SSDHead(nn.Module):
    """As `SSDClassificationHead`: classes and boxes of every default box."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int) -> None:
        super().__init__()
        self.classification_head = SSDClassificationHead(in_channels, num_anchors, num_classes)
        self.regression_head = SSDRegressionHead(in_channels, num_anchors)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSD(SingleStage):
    """As `RetinaNet`, with default boxes on maps of several sizes.

    Args:
        backbone: from a batch of pictures to maps by name.
        size: (width, height) that every picture is resized to.
        iou_thresh: a default box that overlaps a true one so much is an object.
        positive_fraction: the share of objects among the boxes whose classes are learnt.

    Example:
        >>> from rushlight.vision.models.detection import anchor_utils, ssd
        >>> backbone = nn.Conv2d(3, 8, 3, stride=16, padding=1)
        >>> model = ssd.SSD(backbone, anchor_utils.DefaultBoxGenerator([[2]]), (64, 64), 3)
        >>> boxes, labels = torch.tensor([[4.0, 4, 40, 40]]), torch.tensor([1])
        >>> sorted(model([torch.rand(3, 48, 64)], [{"boxes": boxes, "labels": labels}]))
        ['bbox_regression', 'classification']
    """

    def __init__(
        self,
        backbone: nn.Module,
        anchor_generator: DefaultBoxGenerator,
        size: tuple[int, int],
        num_classes: int,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        head: Module | None = None,
        score_thresh: float = 0.01,
        nms_thresh: float = 0.45,
        detections_per_img: int = 200,
        iou_thresh: float = 0.5,
        topk_candidates: int = 400,
        positive_fraction: float = 0.25,
        **kwargs: Any,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        self.box_coder = det_utils.BoxCoder(weights=(10.0, 10.0, 5.0, 5.0))
        if head is None:
            channels = getattr(backbone, "out_channels", None)
            if not isinstance(channels, (list, tuple)):
                channels = det_utils.retrieve_out_channels(backbone, size)
            counts = anchor_generator.num_anchors_per_location()
            if len(channels) != len(counts):
                raise ValueError(
                    f"The length of the output channels from the backbone ({len(channels)}) do not match the length "
                    f"of the anchor generator aspect ratios ({len(counts)})"
                )
            head = SSDHead(list(channels), counts, num_classes)
        self.head = head
        self.proposal_matcher = det_utils.SSDMatcher(iou_thresh)
        self.transform = GeneralizedRCNNTransform(
            min(size), max(size), image_mean or MEAN, image_std or STD, size_divisible=1, fixed_size=size, **kwargs
        )
        self.score_thresh, self.nms_thresh = score_thresh, nms_thresh
        self.detections_per_img, self.topk_candidates = detections_per_img, topk_candidates
        self.neg_to_pos_ratio = (1.0 - positive_fraction) / positive_fraction

    def compute_loss(
        self, targets: list[Target], head_outputs: dict[str, Tensor], anchors: list[Tensor], matched_idxs: list[Tensor]
    ) -> dict[str, Tensor]:
        """The losses of boxes and classes; of the background only the worst cases count."""
        logits = head_outputs["cls_logits"]
        count, box_losses, wanted = 0, [], []
        rows = zip(targets, head_outputs["bbox_regression"], logits, anchors, matched_idxs)
        for target, codes, logit, anchor, matched in rows:
            objects = (matched >= 0).nonzero()[:, 0]
            true = matched[objects]
            count += true.numel()
            code = self.box_coder.encode_single(target["boxes"][true], anchor[objects])
            box_losses.append(F.smooth_l1_loss(codes[objects], code, reduction="sum"))
            label = full((logit.shape[0],), 0, dtype=dtypes.int64, device=logit.device)
            label[objects] = target["labels"][true]
            wanted.append(label)
        label = stack(wanted)
        flat = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), label.reshape(-1), reduction="none")
        losses = flat.reshape(label.shape)
        objects = label > 0
        most = self.neg_to_pos_ratio * objects.sum(1, keepdim=True)
        hard = losses.detach().masked_fill(objects, -float("inf"))
        rank = hard.sort(1, descending=True).indices.sort(1).indices
        total = losses[objects].sum() + losses[rank < most].sum()
        number = max(1, count)
        return {"bbox_regression": stack(box_losses).sum() / number, "classification": total / number}

    def losses(
        self, targets: list[dict[str, Tensor]], outputs: dict[str, Tensor], anchors: list[Tensor], counts: list[int]
    ) -> Any:
        return self.compute_loss(targets, outputs, anchors, self.matched(targets, anchors))

    def detections(
        self, outputs: dict[str, Tensor], anchors: list[Tensor], counts: list[int], shapes: list[tuple[int, int]]
    ) -> Any:
        return self.postprocess_detections(outputs, anchors, shapes)

    def postprocess_detections(
        self, head_outputs: dict[str, Tensor], image_anchors: list[Tensor], image_shapes: list[tuple[int, int]]
    ) -> list[Target]:
        """The detections of each picture."""
        scores = F.softmax(head_outputs["cls_logits"], -1)
        found = []
        rows = zip(head_outputs["bbox_regression"], scores, image_anchors, image_shapes)
        for codes, score, anchors, shape in rows:
            boxes = self.box_coder.decode_single(codes, anchors)
            boxes = ops.clip_boxes_to_image(boxes, shape)
            parts: tuple[list, list, list] = ([], [], [])
            for label in range(1, score.shape[-1]):
                chosen = (score[:, label] > self.score_thresh).nonzero()[:, 0]
                best = min(self.topk_candidates, len(chosen))
                value, order = score[chosen, label].topk(best)
                parts[0].append(boxes[chosen[order]])
                parts[1].append(value)
                parts[2].append(full_like(value, label, dtype=dtypes.int64))
            found.append(without_doubles(cat(parts[0], 0), cat(parts[1], 0), cat(parts[2], 0), self))
        return found


def _pair(channels: int, between: int, out: int, kernel: int, **options: Any) -> nn.Sequential:
    """A narrow convolution and one that makes the map smaller."""
    return nn.Sequential(
        nn.Conv2d(channels, between, 1),
        nn.ReLU(inplace=True),
        nn.Conv2d(between, out, kernel, **options),
        nn.ReLU(inplace=True),
    )


class SSDFeatureExtractorVGG(nn.Module):
    """The maps of VGG-16 and of the smaller layers after it.

    Args:
        backbone: the layers of VGG-16.
        highres: one more map, for pictures of 512 x 512.

    Example:
        >>> model = models.detection.ssd.SSDFeatureExtractorVGG(models.vgg11().features, False)
        >>> len(model.extra)
        5
    """

    def __init__(self, backbone: Any, highres: bool) -> None:
        super().__init__()
        pools = [i for i, layer in enumerate(backbone) if isinstance(layer, nn.MaxPool2d)]
        third, fourth = pools[2], pools[3]
        backbone[third].ceil_mode = True  # maps of 38 x 38, as in the paper
        self.scale_weight = nn.Parameter(ones(512) * 20)
        self.features = nn.Sequential(*backbone[:fourth])
        rows = [
            _pair(1024, 256, 512, 3, padding=1, stride=2),
            _pair(512, 128, 256, 3, padding=1, stride=2),
            _pair(256, 128, 256, 3),
            _pair(256, 128, 256, 3),
        ]
        if highres:
            rows.append(_pair(256, 128, 256, 4))
        extra = nn.ModuleList(rows)
        drawn(extra.modules(), nn.init.xavier_uniform_)
        fc = nn.Sequential(
            nn.MaxPool2d(3, 1, 1, ceil_mode=False),
            nn.Conv2d(512, 1024, 3, padding=6, dilation=6),
            nn.ReLU(inplace=True),
            nn.Conv2d(1024, 1024, 1),
            nn.ReLU(inplace=True),
        )
        drawn(fc.modules(), nn.init.xavier_uniform_)
        extra.insert(0, nn.Sequential(*backbone[fourth:-1], fc))
        self.extra = extra

    def forward(self, x: Tensor) -> OrderedDict[str, Tensor]:
        x = self.features(x)
        maps = [self.scale_weight.reshape(1, -1, 1, 1) * F.normalize(x)]
        for block in self.extra:
            x = block(x)
            maps.append(x)
        return OrderedDict((str(i), m) for i, m in enumerate(maps))


def _vgg_extractor(backbone: Any, highres: bool, trainable_layers: int) -> nn.Module:
    features = backbone.features
    pools = [i for i, layer in enumerate(features) if isinstance(layer, nn.MaxPool2d)]
    freeze_stages(features, [0, *pools[:-1]], trainable_layers)
    return SSDFeatureExtractorVGG(features, highres)


def _on_vgg16(
    num_classes: int, below: WeightsEnum | str | None, trained: bool, progress: bool = True,
    trainable_backbone_layers: int | None = None, **kwargs: Any,
) -> SSD:  # fmt: skip
    is_trained = trained or below is not None
    count = _validate_trainable_layers(is_trained, trainable_backbone_layers, 5, 4)
    usual: dict[str, Any] = {
        "image_mean": [0.48235, 0.45882, 0.40784],
        "image_std": [1.0 / 255.0, 1.0 / 255.0, 1.0 / 255.0],  # undoes the scale of 0 to 1
    }
    if kwargs.pop("size", None) is not None:
        raise ValueError("The size of the model is fixed: 300 x 300.")
    backbone = _vgg_extractor(vgg.vgg16(weights=below, progress=progress), False, count)
    anchors = DefaultBoxGenerator(
        [[2], [2, 3], [2, 3], [2, 3], [2], [2]],
        scales=[0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05],
        steps=[8, 16, 32, 64, 100, 300],
    )
    return SSD(backbone, anchors, (300, 300), num_classes, **{**usual, **kwargs})


SSD300_VGG16_Weights, ssd300_vgg16 = build_on(
    "SSD300_VGG16", _on_vgg16, "SSD of pictures of 300 x 300 on VGG-16.",
    backbone=vgg.VGG16_Weights.IMAGENET1K_FEATURES, classes=91,
)  # fmt: skip
