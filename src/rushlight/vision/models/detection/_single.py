"""What the detectors in one stage share: their parts, the walk through a picture, and the choice of detections."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from .... import nn
from ....base import dtypes
from ....core.tensor import Tensor
from ....operators.create.filled import full
from ....operators.shape.join import cat
from ... import ops
from ...ops.feature_pyramid_network import LastLevelP6P7
from .._api import WeightsEnum
from .faster_rcnn import MEAN, STD, check_backbone, resnet50_backbone
from .generalized_rcnn import as_maps, check_degenerate, check_training, sizes_of
from .transform import GeneralizedRCNNTransform

Target = dict[str, Tensor]


class SingleStage(nn.Module):
    """A backbone and a head that answers for every anchor; subclasses say how losses and answers are made."""

    transform: Any
    backbone: Any
    head: Any
    anchor_generator: Any
    proposal_matcher: Any
    compute_loss: Any
    postprocess_detections: Any

    score_thresh: float
    nms_thresh: float
    detections_per_img: int
    topk_candidates: int

    def _set_up(
        self,
        backbone: nn.Module,
        anchor_generator: Any,
        make_head: Callable[[int, int], Any],
        pictures: tuple[Any, int, list[float] | None, list[float] | None],
        thresholds: tuple[float, float, int, int],
        **kwargs: Any,
    ) -> None:
        """The parts, in torchvision's order.

        `make_head` gets the channels of a map and the anchors of a place; `pictures` are the sizes, mean and spread of
        pictures; `thresholds` are those of scores and overlaps, and the most detections and candidates.
        """
        check_backbone(backbone)
        self.backbone = backbone
        self.anchor_generator = anchor_generator
        channels: Any = backbone.out_channels
        self.head = make_head(channels, anchor_generator.num_anchors_per_location()[0])
        low, high, mean, std = pictures
        self.transform = GeneralizedRCNNTransform(low, high, mean or MEAN, std or STD, **kwargs)
        self.score_thresh, self.nms_thresh, self.detections_per_img, self.topk_candidates = thresholds

    def eager_outputs(self, losses: dict[str, Tensor], detections: list[Target]) -> Any:
        """Losses in training, detections otherwise."""
        return losses if self.training else detections

    def losses(
        self, targets: list[Target], outputs: dict[str, Tensor], anchors: list[Tensor], counts: list[int]
    ) -> Any:
        """The losses of a batch."""
        return self.compute_loss(targets, outputs, anchors, counts)

    def detections(
        self, outputs: dict[str, Tensor], anchors: list[Tensor], counts: list[int], shapes: list[tuple[int, int]]
    ) -> Any:
        """The detections of each picture, from answers split by the maps they are for."""
        each = outputs["cls_logits"].shape[1] // sum(counts)
        counts = [n * each for n in counts]
        split = {k: list(v.split(counts, 1)) for k, v in outputs.items()}
        return self.postprocess_detections(split, [list(a.split(counts)) for a in anchors], shapes)

    def matched(self, targets: list[Target], anchors: list[Tensor]) -> list[Tensor]:
        """The true box that each anchor belongs to, by `proposal_matcher`."""
        found = []
        for anchor, target in zip(anchors, targets):
            if target["boxes"].numel() == 0:
                found.append(full((len(anchor),), -1, dtype=dtypes.int64, device=anchor.device))
            else:
                found.append(self.proposal_matcher(ops.box_iou(target["boxes"], anchor)))
        return found

    def forward(self, images: list[Tensor], targets: list[Target] | None = None) -> Any:
        if self.training:
            check_training(targets)
        originals = sizes_of(images)
        batch, targets = self.transform(images, targets)
        check_degenerate(targets)
        maps = list(as_maps(self.backbone(batch.tensors)).values())
        outputs = self.head(maps)
        anchors = self.anchor_generator(batch, maps)
        places = [m.shape[2] * m.shape[3] for m in maps]
        if self.training:
            assert targets is not None
            return self.eager_outputs(self.losses(targets, outputs, anchors, places), [])
        found = self.detections(outputs, anchors, places, batch.image_sizes)
        return self.eager_outputs({}, self.transform.postprocess(found, batch.image_sizes, originals))


def pyramid_on_resnet50(
    below: WeightsEnum | str | None,
    trained: bool,
    trainable: int | None,
    progress: bool,
    last: int = 256,
    **options: Any,
) -> Any:
    """ResNet-50 with maps of five sizes; the two smallest are made of a map with `last` channels."""
    blocks = partial(LastLevelP6P7, last, 256)
    extra: dict[str, Any] = {"returned_layers": [2, 3, 4], "extra_blocks": blocks, **options}
    return resnet50_backbone(below, trained, trainable, progress, **extra)


def best_of_levels(
    scores: list[Tensor],
    codes: list[Tensor],
    anchors: list[Tensor],
    decode: Callable[[Tensor, Tensor], Tensor],
    shape: tuple[int, int],
    model: Any,
) -> Target:
    """The detections of one picture, from the probabilities and codes of every map."""
    boxes, kept, labels = [], [], []
    for score, code, anchor in zip(scores, codes, anchors):
        classes = score.shape[-1]
        flat = score.flatten()
        chosen = (flat > model.score_thresh).nonzero()[:, 0]
        value, order = flat[chosen].topk(min(model.topk_candidates, len(chosen)))
        chosen = chosen[order]
        place = chosen.div(classes, rounding_mode="floor")
        boxes.append(ops.clip_boxes_to_image(decode(code[place], anchor[place]), shape))
        kept.append(value)
        labels.append(chosen % classes)
    return without_doubles(cat(boxes, 0), cat(kept, 0), cat(labels, 0), model)


def without_doubles(boxes: Tensor, scores: Tensor, labels: Tensor, model: Any) -> Target:
    """Detections, best first, without those that overlap a better one of their class."""
    keep = ops.batched_nms(boxes, scores, labels, model.nms_thresh)[: model.detections_per_img]
    return {"boxes": boxes[keep], "scores": scores[keep], "labels": labels[keep]}


def in_order(layer: Tensor, columns: int) -> Tensor:
    """(N, A * columns, H, W) as (N, H * W * A, columns)."""
    n, _, height, width = layer.shape
    made = layer.reshape(n, -1, columns, height, width).permute(0, 3, 4, 1, 2)
    return made.reshape(n, -1, columns)
