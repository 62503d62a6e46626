"""Keypoint R-CNN (He et al. 2017), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .... import nn
from ....core.tensor import Tensor
from ....nn.functional import interpolate
from ...ops import MultiScaleRoIAlign
from .._build import build_on
from .._initial import drawn, relu_normal
from ..resnet import ResNet50_Weights
from ._utils import overwrite_eps
from .faster_rcnn import FasterRCNN, on, resnet50_backbone

if TYPE_CHECKING:
    from ....nn.modules.module import Module

__all__ = ["KeypointRCNN", "KeypointRCNN_ResNet50_FPN_Weights", "keypointrcnn_resnet50_fpn"]


class KeypointRCNN(FasterRCNN):
    """As `FasterRCNN`, with points of each object, such as the joints of persons.

    Targets have "keypoints", (N, K, 3) of (x, y, visible), beside boxes and labels; detections have
    "keypoints" and "keypoints_scores".

    Args:
        min_size: the shorter edge of resized pictures; several between 640 and 800 if None.
        keypoint_roi_pool: reads regions for points.
        keypoint_head: from regions to maps.
        keypoint_predictor: from maps to heat maps.
        num_keypoints: points of an object; 17 if None.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        min_size: int | Sequence[int] | None = None,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        *args: Any,
        keypoint_roi_pool: Module | None = None,
        keypoint_head: Module | None = None,
        keypoint_predictor: Module | None = None,
        num_keypoints: int | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(keypoint_roi_pool, (MultiScaleRoIAlign, type(None))):
            raise TypeError(
                f"keypoint_roi_pool should be of type MultiScaleRoIAlign or None instead of {type(keypoint_roi_pool)}"
            )
        if num_classes is not None and keypoint_predictor is not None:
            raise ValueError("num_classes should be None when keypoint_predictor is specified")
        sizes = min_size or (640, 672, 704, 736, 768, 800)
        channels: Any = backbone.out_channels
        pool = keypoint_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], 14, 2)
        head = keypoint_head or KeypointRCNNHeads(channels, (512,) * 8)
        predictor = keypoint_predictor or KeypointRCNNPredictor(512, num_keypoints or 17)
        super().__init__(backbone, num_classes, sizes, max_size, image_mean, image_std, *args, **kwargs)
        self.roi_heads.keypoint_roi_pool = pool
        self.roi_heads.keypoint_head = head
        self.roi_heads.keypoint_predictor = predictor


class KeypointRCNNHeads(nn.Sequential):
    """Convolutions over a region.

    Args:
        in_channels: channels of the region.
        layers: channels of the convolutions.

    Example:
        >>> from rushlight.vision.models.detection.keypoint_rcnn import KeypointRCNNHeads
        >>> KeypointRCNNHeads(2, (3, 4))(torch.zeros(1, 2, 5, 5)).shape
        torch.Size([1, 4, 5, 5])
    """

    def __init__(self, in_channels: int, layers: Any) -> None:
        blocks: list[nn.Module] = []
        channels = in_channels
        for size in layers:
            blocks += [nn.Conv2d(channels, size, 3, stride=1, padding=1), nn.ReLU(inplace=True)]
            channels = size
        super().__init__(*blocks)
        drawn(self.children(), relu_normal)


class KeypointRCNNPredictor(nn.Module):
    """A heat map, four times as large, for each point.

    Args:
        in_channels: channels of the map.
        num_keypoints: the number of points.

    Example:
        >>> from rushlight.vision.models.detection.keypoint_rcnn import KeypointRCNNPredictor
        >>> KeypointRCNNPredictor(2, 3)(torch.zeros(1, 2, 5, 5)).shape
        torch.Size([1, 3, 20, 20])
    """

    def __init__(self, in_channels: int, num_keypoints: int) -> None:
        super().__init__()
        self.kps_score_lowres = nn.ConvTranspose2d(in_channels, num_keypoints, 4, 2, 1)
        drawn([self.kps_score_lowres], relu_normal, nn.ConvTranspose2d)
        self.up_scale = 2
        self.out_channels = num_keypoints

    def forward(self, x: Tensor) -> Tensor:
        return interpolate(
            self.kps_score_lowres(x),
            scale_factor=float(self.up_scale),
            mode="bilinear",
            align_corners=False,
            recompute_scale_factor=False,
        )


def _without_eps(model: nn.Module, weights: Any) -> None:
    if weights.name == "COCO_V1":
        overwrite_eps(model, 0.0)


KeypointRCNN_ResNet50_FPN_Weights, keypointrcnn_resnet50_fpn = build_on(
    "KeypointRCNN_ResNet50_FPN", on(KeypointRCNN, resnet50_backbone), "Keypoint R-CNN on ResNet-50.",
    backbone=ResNet50_Weights.IMAGENET1K_V1, classes=2, decided={"num_keypoints": 17}, after=_without_eps,
)  # fmt: skip
