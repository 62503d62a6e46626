"""DeepLabV3 (Chen et al. 2017), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .... import nn
from ....core.tensor import Tensor
from ....operators.shape.join import cat
from .._api import WeightsEnum
from .._build import build_on
from .._utils import IntermediateLayerGetter
from ..mobilenetv3 import MobileNet_V3_Large_Weights
from ..resnet import ResNet50_Weights, ResNet101_Weights
from ._utils import _SimpleSegmentationModel, enlarged, mobilenet_features, on_resnet
from .fcn import FCNHead

__all__ = [
    "DeepLabV3", "DeepLabV3_MobileNet_V3_Large_Weights", "DeepLabV3_ResNet50_Weights",
    "DeepLabV3_ResNet101_Weights", "deeplabv3_mobilenet_v3_large", "deeplabv3_resnet50", "deeplabv3_resnet101",
]  # fmt: skip


class DeepLabV3(_SimpleSegmentationModel):
    """A network whose last map is read at several scales by dilated convolutions.

    Args:
        backbone: gives a dictionary with the map "out", and "aux" where `aux_classifier` is given.
        classifier: from the map "out" to a channel for each class, such as `DeepLabHead`.
        aux_classifier: the same for the map "aux", a help in training.

    Example:
        >>> backbone = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        >>> model = segmentation.DeepLabV3(lambda x: {"out": backbone(x)}, nn.Conv2d(8, 5, 1))
        >>> model(torch.zeros(1, 3, 16, 16))["out"].shape
        torch.Size([1, 5, 16, 16])
    """


def _conv(in_channels: int, out_channels: int, kernel: int = 1, dilation: int = 1) -> list[nn.Module]:
    around = dilation if kernel == 3 else 0
    return [
        nn.Conv2d(in_channels, out_channels, kernel, padding=around, dilation=dilation, bias=False),
        nn.BatchNorm2d(out_channels),
        nn.ReLU(),
    ]


class DeepLabHead(nn.Sequential):
    """Dilated convolutions side by side (`ASPP`), one over all of them, and one to the classes.

    Args:
        in_channels: channels of the map.
        num_classes: the number of classes.
        atrous_rates: the dilations.

    Example:
        >>> from rushlight.vision.models.segmentation.deeplabv3 import DeepLabHead
        >>> DeepLabHead(8, 5, (1, 2)).eval()(torch.zeros(1, 8, 4, 4)).shape
        torch.Size([1, 5, 4, 4])
    """

    def __init__(self, in_channels: int, num_classes: int, atrous_rates: Sequence[int] = (12, 24, 36)) -> None:
        super().__init__(ASPP(in_channels, atrous_rates), *_conv(256, 256, 3), nn.Conv2d(256, num_classes, 1))


class ASPPConv(nn.Sequential):
    """A dilated convolution with norm and relu.

    Args:
        in_channels: channels of the map.
        out_channels: channels of the result.
        dilation: distance of the kernel's taps.

    Example:
        >>> from rushlight.vision.models.segmentation.deeplabv3 import ASPPConv
        >>> ASPPConv(2, 3, dilation=2)(torch.randn(1, 2, 6, 6)).shape
        torch.Size([1, 3, 6, 6])
    """

    def __init__(self, in_channels: int, out_channels: int, dilation: int) -> None:
        super().__init__(*_conv(in_channels, out_channels, 3, dilation))


class ASPPPooling(nn.Sequential):
    """As `ASPPConv`: the average of the whole map, convolved and spread over the map again."""

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__(nn.AdaptiveAvgPool2d(1), *_conv(in_channels, out_channels))

    def forward(self, x: Tensor) -> Tensor:
        return enlarged(super().forward(x), x.shape[-2:])


class ASPP(nn.Module):
    """Convolutions of several dilations and the average of the map, side by side.

    Args:
        in_channels: channels of the map.
        atrous_rates: the dilations.
        out_channels: channels of each, and of the result.

    Example:
        >>> from rushlight.vision.models.segmentation.deeplabv3 import ASPP
        >>> ASPP(2, [1, 2], 3).eval()(torch.randn(1, 2, 6, 6)).shape
        torch.Size([1, 3, 6, 6])
    """

    def __init__(self, in_channels: int, atrous_rates: Sequence[int], out_channels: int = 256) -> None:
        super().__init__()
        rows: list[nn.Module] = [nn.Sequential(*_conv(in_channels, out_channels))]
        rows += [ASPPConv(in_channels, out_channels, rate) for rate in atrous_rates]
        rows.append(ASPPPooling(in_channels, out_channels))
        self.convs = nn.ModuleList(rows)
        self.project = nn.Sequential(*_conv(len(rows) * out_channels, out_channels), nn.Dropout(0.5))

    def forward(self, x: Tensor) -> Tensor:
        return self.project(cat([conv(x) for conv in self.convs], 1))


def _on_mobilenet(
    num_classes: int,
    weights_backbone: WeightsEnum | str | None,
    trained: bool,
    progress: bool = True,
    aux_loss: bool | None = None,
    **kwargs: Any,
) -> DeepLabV3:
    features, ends = mobilenet_features(weights_backbone, progress)
    last, early = ends[-1], ends[-4]
    layers = {str(last): "out"} | ({str(early): "aux"} if aux_loss else {})
    helper = FCNHead(features[early].out_channels, num_classes) if aux_loss else None
    head = DeepLabHead(features[last].out_channels, num_classes)
    return DeepLabV3(IntermediateLayerGetter(features, layers), head, helper)


DeepLabV3_ResNet50_Weights, deeplabv3_resnet50 = build_on(
    "DeepLabV3_ResNet50", on_resnet("resnet50", DeepLabV3, DeepLabHead, FCNHead), "DeepLabV3 on ResNet-50.",
    backbone=ResNet50_Weights.IMAGENET1K_V1, classes=21, decided={"aux_loss": True},
)  # fmt: skip
DeepLabV3_ResNet101_Weights, deeplabv3_resnet101 = build_on(
    "DeepLabV3_ResNet101", on_resnet("resnet101", DeepLabV3, DeepLabHead, FCNHead), "DeepLabV3 on ResNet-101.",
    backbone=ResNet101_Weights.IMAGENET1K_V1, classes=21, decided={"aux_loss": True},
)  # fmt: skip
DeepLabV3_MobileNet_V3_Large_Weights, deeplabv3_mobilenet_v3_large = build_on(
    "DeepLabV3_MobileNet_V3_Large", _on_mobilenet,
    "DeepLabV3 on MobileNetV3.", backbone=MobileNet_V3_Large_Weights.IMAGENET1K_V1, classes=21,
    decided={"aux_loss": True},
)  # fmt: skip
