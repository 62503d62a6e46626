"""LR-ASPP (Howard et al. 2019), with torchvision's names and weights."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from .... import nn
from ....core.tensor import Tensor
from .._api import WeightsEnum
from .._build import build_on
from .._utils import IntermediateLayerGetter
from ..mobilenetv3 import MobileNet_V3_Large_Weights
from ._utils import enlarged, mobilenet_features

__all__ = ["LRASPP", "LRASPP_MobileNet_V3_Large_Weights", "lraspp_mobilenet_v3_large"]


class LRASPP(nn.Module):
    """A light model of segmentation: a coarse map says what, a finer one says where.

    Args:
        backbone: gives a dictionary with the maps "low" (the finer one) and "high".
        low_channels: channels of the finer map.
        high_channels: channels of the coarse map.
        num_classes: the number of classes.
        inter_channels: channels in between.

    Example:
        >>> model = segmentation.LRASPP(lambda x: {"low": x, "high": x[:, :, ::2, ::2]}, 3, 3, 5, 4)
        >>> model.eval()(torch.zeros(1, 3, 16, 16))["out"].shape
        torch.Size([1, 5, 16, 16])
    """

    def __init__(
        self, backbone: Any, low_channels: int, high_channels: int, num_classes: int, inter_channels: int = 128
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = LRASPPHead(low_channels, high_channels, num_classes, inter_channels)

    def forward(self, input: Tensor) -> OrderedDict[str, Tensor]:
        out = self.classifier(self.backbone(input))
        return OrderedDict(out=enlarged(out, input.shape[-2:]))


class LRASPPHead(nn.Module):
    """As `LRASPP`, of maps "low" and "high": the coarse one weighted by its own average, enlarged, and added to the finer one as classes."""

    def __init__(self, low_channels: int, high_channels: int, num_classes: int, inter_channels: int) -> None:
        super().__init__()
        self.cbr = nn.Sequential(
            nn.Conv2d(high_channels, inter_channels, 1, bias=False),
            nn.BatchNorm2d(inter_channels),
            nn.ReLU(inplace=True),
        )
        self.scale = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(high_channels, inter_channels, 1, bias=False), nn.Sigmoid()
        )
        self.low_classifier = nn.Conv2d(low_channels, num_classes, 1)
        self.high_classifier = nn.Conv2d(inter_channels, num_classes, 1)

    def forward(self, input: dict[str, Tensor]) -> Tensor:
        low, high = input["low"], input["high"]
        x = enlarged(self.cbr(high) * self.scale(high), low.shape[-2:])
        return self.low_classifier(low) + self.high_classifier(x)


def _on_mobilenet(
    num_classes: int, weights_backbone: WeightsEnum | str | None, trained: bool, progress: bool = True, **kwargs: Any
) -> LRASPP:
    features, ends = mobilenet_features(weights_backbone, progress)
    low, high = ends[-4], ends[-1]
    backbone = IntermediateLayerGetter(features, {str(low): "low", str(high): "high"})
    return LRASPP(backbone, features[low].out_channels, features[high].out_channels, num_classes)


LRASPP_MobileNet_V3_Large_Weights, lraspp_mobilenet_v3_large = build_on(
    "LRASPP_MobileNet_V3_Large", _on_mobilenet, "LR-ASPP on MobileNetV3.",
    backbone=MobileNet_V3_Large_Weights.IMAGENET1K_V1, classes=21,
)  # fmt: skip
