"""GeneralizedRCNN: backbone, proposals and heads as one detector."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .... import nn
from ....core.tensor import Tensor

Target = dict[str, Tensor]


def check_training(targets: list[Target] | None) -> None:
    """In training every picture has its true boxes, (N, 4)."""
    if targets is None:
        raise AssertionError("targets should not be none when in training mode")
    for target in targets:
        boxes = target["boxes"]
        if not isinstance(boxes, Tensor):
            raise AssertionError(f"Expected target boxes to be of type Tensor, got {type(boxes)}.")
        if boxes.ndim != 2 or boxes.shape[-1] != 4:
            raise AssertionError(f"Expected target boxes to be a tensor of shape [N, 4], got {tuple(boxes.shape)}.")


def check_degenerate(targets: list[Target] | None) -> None:
    """True boxes have an area."""
    for i, target in enumerate(targets or []):
        boxes = target["boxes"]
        wrong = (boxes[:, 2:] <= boxes[:, :2]).any(1)
        if wrong.any():
            box = boxes[wrong.nonzero()[0, 0]].tolist()
            raise AssertionError(
                "All bounding boxes should have positive height and width. Found invalid box "
                f"{box} for target at index {i}."
            )


def sizes_of(images: list[Tensor]) -> list[tuple[int, int]]:
    """(height, width) of every picture."""
    for image in images:
        if image.ndim != 3:
            raise AssertionError(
                f"expecting the last two dimensions of the Tensor to be H and W instead got {tuple(image.shape[-2:])}"
            )
    return [(image.shape[-2], image.shape[-1]) for image in images]


def as_maps(features: Any) -> OrderedDict[str, Tensor]:
    """A backbone's maps by name; a single one is called "0"."""
    return OrderedDict([("0", features)]) if isinstance(features, Tensor) else features


class GeneralizedRCNN(nn.Module):
    """A detector in two stages: regions are proposed, and then looked at one by one.

    Args:
        backbone: from a batch of pictures to maps by name.
        rpn: proposes regions.
        roi_heads: from regions to detections.
        transform: resizes pictures and puts them into a batch.

    Example:
        >>> issubclass(detection.FasterRCNN, detection.generalized_rcnn.GeneralizedRCNN)
        True
    """

    def __init__(self, backbone: nn.Module, rpn: nn.Module, roi_heads: nn.Module, transform: nn.Module) -> None:
        super().__init__()
        self.transform = transform
        self.backbone = backbone
        self.rpn = rpn
        self.roi_heads = roi_heads

    def eager_outputs(self, losses: dict[str, Tensor], detections: list[Target]) -> Any:
        """Losses in training, detections otherwise."""
        return losses if self.training else detections

    def forward(self, images: list[Tensor], targets: list[Target] | None = None) -> Any:
        if self.training:
            check_training(targets)
        originals = sizes_of(images)
        batch, targets = self.transform(images, targets)
        check_degenerate(targets)
        maps = as_maps(self.backbone(batch.tensors))
        proposals, rpn_losses = self.rpn(batch, maps, targets)
        found, head_losses = self.roi_heads(maps, proposals, batch.image_sizes, targets)
        found = self.transform.postprocess(found, batch.image_sizes, originals)
        return self.eager_outputs({**head_losses, **rpn_losses}, found)
