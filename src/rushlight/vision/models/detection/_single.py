"""What the detectors in one stage share: the walk through a picture, and the choice of detections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .... import nn
from ....core.tensor import Tensor
from ....operators.shape.join import cat
from ... import ops
from .generalized_rcnn import as_maps, check_degenerate, check_training, sizes_of

Target = dict[str, Tensor]


class SingleStage(nn.Module):
    """A backbone and a head that answers for every anchor; subclasses say how losses and answers are made."""

    transform: Any
    backbone: Any
    head: Any
    anchor_generator: Any

    def eager_outputs(self, losses: dict[str, Tensor], detections: list[Target]) -> Any:
        """Losses in training, detections otherwise."""
        return losses if self.training else detections

    def losses(
        self, targets: list[Target], outputs: Any, anchors: list[Tensor], counts: Any
    ) -> Any:
        """The losses of a batch."""
        raise NotImplementedError

    def detections(self, outputs: Any, anchors: list[Tensor], counts: Any, shapes: Any) -> Any:
        """The detections of each picture."""
        raise NotImplementedError

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
        return self.eager_outputs(
            {}, self.transform.postprocess(found, batch.image_sizes, originals)
        )


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
