"""Mask R-CNN (He et al. 2017), with torchvision's names and weights."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .... import nn
from ...ops import Conv2dNormActivation, MultiScaleRoIAlign
from .._build import build_on
from .._initial import drawn, relu_normal
from ..resnet import ResNet50_Weights
from .faster_rcnn import FasterRCNN, on, resnet50_backbone, second_backbone, second_parts, without_eps

if TYPE_CHECKING:
    from ....nn.modules.module import Module

__all__ = [
    "MaskRCNN", "MaskRCNN_ResNet50_FPN_V2_Weights", "MaskRCNN_ResNet50_FPN_Weights", "maskrcnn_resnet50_fpn",
    "maskrcnn_resnet50_fpn_v2",
]  # fmt: skip


class MaskRCNN(FasterRCNN):
    """As `FasterRCNN`, with a mask for each object.

    Targets have "masks", (N, H, W), beside boxes and labels; detections have "masks", (N, 1, H, W),
    probabilities.

    Args:
        mask_roi_pool: reads regions for masks.
        mask_head: from regions to maps.
        mask_predictor: from maps to logits of masks.
    """

    def __init__(
        self,
        backbone: nn.Module,
        num_classes: int | None = None,
        min_size: int | Sequence[int] = 800,
        max_size: int = 1333,
        image_mean: list[float] | None = None,
        image_std: list[float] | None = None,
        *args: Any,
        mask_roi_pool: Module | None = None,
        mask_head: Module | None = None,
        mask_predictor: Module | None = None,
        **kwargs: Any,
    ) -> None:
        if not isinstance(mask_roi_pool, (MultiScaleRoIAlign, type(None))):
            raise TypeError(
                f"mask_roi_pool should be of type MultiScaleRoIAlign or None instead of {type(mask_roi_pool)}"
            )
        if num_classes is not None and mask_predictor is not None:
            raise ValueError("num_classes should be None when mask_predictor is specified")
        channels: Any = backbone.out_channels
        pool = mask_roi_pool or MultiScaleRoIAlign(["0", "1", "2", "3"], 14, 2)
        head = mask_head or MaskRCNNHeads(channels, (256,) * 4, 1)
        predictor = mask_predictor or MaskRCNNPredictor(256, 256, num_classes or 0)
        super().__init__(backbone, num_classes, min_size, max_size, image_mean, image_std, *args, **kwargs)
        self.roi_heads.mask_roi_pool = pool
        self.roi_heads.mask_head = head
        self.roi_heads.mask_predictor = predictor


class MaskRCNNHeads(nn.Sequential):
    """Convolutions over a region.

    Args:
        in_channels: channels of the region.
        layers: channels of the convolutions.
        dilation: distance of the kernels' taps.
        norm_layer: a normalisation after each.

    Example:
        >>> from rushlight.vision.models.detection.mask_rcnn import MaskRCNNHeads
        >>> MaskRCNNHeads(2, (3, 4), 1)(torch.zeros(1, 2, 5, 5)).shape
        torch.Size([1, 4, 5, 5])
    """

    _version = 2

    def __init__(
        self, in_channels: int, layers: Any, dilation: int, norm_layer: Callable[..., nn.Module] | None = None
    ) -> None:
        blocks = []
        channels = in_channels
        for size in layers:
            blocks.append(
                Conv2dNormActivation(channels, size, 3, padding=dilation, dilation=dilation, norm_layer=norm_layer)
            )
            channels = size
        super().__init__(*blocks)
        drawn(self.modules(), relu_normal)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, local: dict[str, Any], *rest: Any) -> None:
        version = local.get("version", None)
        if version is None or version < 2:
            for i in range(len(self)):
                for kind in ("weight", "bias"):
                    old, new = f"{prefix}mask_fcn{i + 1}.{kind}", f"{prefix}{i}.0.{kind}"
                    if old in state_dict:
                        state_dict[new] = state_dict.pop(old)
        super()._load_from_state_dict(state_dict, prefix, local, *rest)


class MaskRCNNPredictor(nn.Sequential):
    """A map twice as large, and a mask for each class.

    Args:
        in_channels: channels of the map.
        dim_reduced: channels in between.
        num_classes: the number of classes.

    Example:
        >>> from rushlight.vision.models.detection.mask_rcnn import MaskRCNNPredictor
        >>> MaskRCNNPredictor(2, 4, 3)(torch.zeros(1, 2, 5, 5)).shape
        torch.Size([1, 3, 10, 10])
    """

    def __init__(self, in_channels: int, dim_reduced: int, num_classes: int) -> None:
        super().__init__(
            OrderedDict(
                [
                    ("conv5_mask", nn.ConvTranspose2d(in_channels, dim_reduced, 2, 2, 0)),
                    ("relu", nn.ReLU(inplace=True)),
                    ("mask_fcn_logits", nn.Conv2d(dim_reduced, num_classes, 1, 1, 0)),
                ]
            )
        )
        for name, parameter in self.named_parameters():
            if "weight" in name:
                nn.init.kaiming_normal_(parameter, mode="fan_out", nonlinearity="relu")


def _second_parts(backbone: Any, num_classes: int) -> dict[str, Any]:
    parts = second_parts(backbone, num_classes)
    head = MaskRCNNHeads(backbone.out_channels, [256] * 4, 1, norm_layer=nn.BatchNorm2d)
    return {**parts, "mask_head": head}


MaskRCNN_ResNet50_FPN_Weights, maskrcnn_resnet50_fpn = build_on(
    "MaskRCNN_ResNet50_FPN", on(MaskRCNN, resnet50_backbone), "Mask R-CNN on ResNet-50.",
    backbone=ResNet50_Weights.IMAGENET1K_V1, classes=91, after=without_eps,
)  # fmt: skip
MaskRCNN_ResNet50_FPN_V2_Weights, maskrcnn_resnet50_fpn_v2 = build_on(
    "MaskRCNN_ResNet50_FPN_V2", on(MaskRCNN, second_backbone, _second_parts),
    "Mask R-CNN on ResNet-50, with the improvements of Li et al. 2021.", backbone=ResNet50_Weights, classes=91,
)  # fmt: skip
