"""A small detector in one stage: FCOS's head on a ResNet's feature pyramid, with answers of a fixed shape."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....core.tensor import Tensor
from ....nn.functional import binary_cross_entropy_with_logits
from ....operators.create.ranges import arange
from ....operators.pointwise.select import where
from ....operators.shape.combine import meshgrid
from ....operators.shape.join import cat, stack
from ...ops import generalized_box_iou_loss, sigmoid_focal_loss
from ...ops.feature_pyramid_network import FeaturePyramidNetwork, LastLevelMaxPool
from .. import resnet
from .._api import register_model
from ..segmentation.pyramid import maps_of, without_head
from .fcos import FCOSHead

__all__ = ["Places", "places"]

FINEST = 8  # pixels between the places of the finest map
# Of FCOS, in sizes of a place: how far the middle of its box may be, and the farthest side.
NEAR, SPAN = 1.5, (4.0, 8.0)


class _Decoder(nn.Module):
    """The maps of some stages, and one more at half the size of the last, joined and looked at by FCOS's head."""

    def __init__(self, widths: list[int], channels: int, num_classes: int) -> None:
        super().__init__()
        self.fpn = FeaturePyramidNetwork(widths, channels, LastLevelMaxPool())
        self.head = FCOSHead(channels, 1, num_classes, 2)
        nn.init.ones_(self.head.regression_head.bbox_reg.bias)  # type: ignore[arg-type]  # of 0, half of the sides would not learn

    def forward(self, maps: list[Tensor]) -> tuple[dict[str, Tensor], list[int]]:
        joined = list(self.fpn({str(i): m for i, m in enumerate(maps)}).values())
        return self.head(joined), [m.shape[-1] for m in joined]


class Places(nn.Module):
    """For every place of a square picture: scores of the classes, how central it is, its box, and where it is.

    Columns are the logits of the classes, the logit of centrality, the box (x1, y1, x2, y2), and the place (x, y, size);
    lengths are parts of the side. With `final` set they are the box in pixels and the probabilities of the classes.

    Args:
        backbone: a ResNet; its last layer is left out.
        num_classes: of the result, without a background.
        channels: of the maps that are looked at, a multiple of 32.

    Example:
        >>> from rushlight.vision.models.detection import Places
        >>> Places(models.resnet18_small(), 3)(torch.ones(1, 3, 64, 64)).shape
        torch.Size([1, 84, 11])
    """

    final = False

    def __init__(self, backbone: resnet.ResNet, num_classes: int, channels: int = 64) -> None:
        super().__init__()
        step = backbone.conv1.stride[0] * (1 if isinstance(backbone.maxpool, nn.Identity) else 2)
        self.first = next(i for i in range(4) if step << i >= FINEST or i == 3)
        widths = without_head(backbone)
        self.backbone = backbone
        self.decoder = _Decoder(widths[self.first :], channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        found, sides = self.decoder(maps_of(self.backbone, x)[self.first :])
        place = cat([_grid(side, x.device) for side in sides])
        middle, size = place[:, :2], place[:, 2:]
        reach = found["bbox_regression"] * size
        boxes = cat([middle - reach[:, :, :2], middle + reach[:, :, 2:]], 2)
        classes, central = found["cls_logits"], found["bbox_ctrness"]
        if self.final:
            scores = (classes.sigmoid() * central.sigmoid()).sqrt()
            return cat([boxes.clamp(0, 1) * x.shape[-1], scores], 2)
        return cat([classes, central, boxes, place.expand(len(boxes), -1, -1)], 2)


def _grid(side: int, device: Any) -> Tensor:
    """The middle and the size of each of side x side places, row by row."""
    at = (arange(side, device=device) + 0.5) / side
    y, x = meshgrid(at, at, indexing="ij")
    return stack([x.reshape(-1), y.reshape(-1), (x * 0 + 1 / side).reshape(-1)], 1)


def losses(out: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """FCOS's loss of each picture, and how many of its places answer for a box; all of shapes that are known before.

    Args:
        out: of a network for places.
        y: (pictures, boxes, 5) a class and a box as parts of the side; a class below 0 is none.

    Example:
        >>> from rushlight.vision.models.detection.places import losses
        >>> boxes = torch.tensor([[[0, 0.1, 0.1, 0.6, 0.5], [-1, 0, 0, 0, 0]]])
        >>> [each.shape for each in losses(places(num_classes=1)(torch.ones(1, 3, 64, 64)), boxes)]
        [torch.Size([1]), torch.Size([1])]
    """
    k = out.shape[-1] - 8
    classes, central, boxes, place = out[..., :k], out[..., k], out[..., k + 1 : k + 5], out[..., k + 5 :]
    mine = _answers_for(place, y)
    asked = mine.sum(2)
    kinds = (y[:, None, :, :1] == arange(k, device=y.device)).to(out.dtype) * mine[..., None]
    focal = sigmoid_focal_loss(classes, kinds.sum(2)).sum((1, 2))
    there = asked[..., None] > 0
    # Where nothing is asked for both boxes are the same one, of which no gradient is nan.
    whole = y.new_tensor([0.0, 0.0, 1.0, 1.0])
    true = where(there, (mine[..., None] * y[:, None, :, 1:]).sum(2), whole)
    apart = (generalized_box_iou_loss(where(there, boxes, whole), true) * asked).sum(1)
    middle = (_centrality(place, true) * asked).detach()
    near = binary_cross_entropy_with_logits(central, middle, reduction="none") * asked
    return focal + apart + near.sum(1), asked.sum(1)


def _answers_for(place: Tensor, y: Tensor) -> Tensor:
    """Pictures x places x boxes, 1 where a place answers for a box.

    It is near its middle, inside of it, of a size that suits, and there is no smaller such box.
    """
    at, size = place[:, :, None, :2], place[:, :, None, 2]
    low, high = y[:, None, :, 1:3], y[:, None, :, 3:]
    apart = (at - (low + high) / 2).abs().amax(3)
    reach = cat([at - low, high - at], 3)
    farthest = reach.amax(3)
    fits = (y[:, None, :, 0] >= 0) & (apart < NEAR * size) & (reach.amin(3) > 0)
    fits = fits & ((farthest > SPAN[0] * size) | (size == size.amin()))
    fits = fits & ((farthest < SPAN[1] * size) | (size == size.amax()))
    wanted = fits.to(y.dtype) * (2 - (high - low).prod(3))
    best, first = wanted.max(2)
    one = first[..., None] == arange(y.shape[1], device=y.device)
    return (one & (best[..., None] > 0)).to(y.dtype)


def _centrality(place: Tensor, box: Tensor) -> Tensor:
    """1 in the middle of a box, 0 at its edges."""
    before, behind = place[..., :2] - box[..., :2], box[..., 2:] - place[..., :2]
    near, far = before.minimum(behind).clamp(0), before.maximum(behind).clamp(1e-6)
    return (near / far).prod(2).sqrt()


@register_model()
def places(backbone: str = "resnet18_small", num_classes: int = 90, **kwargs: Any) -> Places:
    """A small detector on a ResNet without weights.

    Args:
        backbone: the name of a ResNet.
        num_classes: of the result, without a background.
        kwargs: arguments of that ResNet.

    Example:
        >>> from rushlight.vision.models.detection import places
        >>> places(num_classes=2)(torch.ones(1, 3, 96, 96)).shape
        torch.Size([1, 189, 10])
    """
    return Places(getattr(resnet, backbone)(**kwargs), num_classes)
