"""Fully convolutional networks (Long et al. 2015), with torchvision's names and weights."""

from __future__ import annotations

from .... import nn
from .._build import build_on
from ..resnet import ResNet50_Weights, ResNet101_Weights
from ._utils import _SimpleSegmentationModel, on_resnet

__all__ = ["FCN", "FCN_ResNet50_Weights", "FCN_ResNet101_Weights", "fcn_resnet50", "fcn_resnet101"]


class FCN(_SimpleSegmentationModel):
    """A network whose last map is classified pixel by pixel and enlarged to the picture's size.

    Args:
        backbone: gives a dictionary with the map "out", and "aux" where `aux_classifier` is given.
        classifier: from the map "out" to a channel for each class.
        aux_classifier: the same for the map "aux", a help in training.

    Example:
        >>> backbone = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        >>> model = segmentation.FCN(lambda x: {"out": backbone(x)}, nn.Conv2d(8, 5, 1))
        >>> model(torch.zeros(1, 3, 16, 16))["out"].shape
        torch.Size([1, 5, 16, 16])
    """


class FCNHead(nn.Sequential):
    """A convolution to a quarter of the channels, and one to the classes.

    Args:
        in_channels: channels of the map.
        channels: the number of classes.

    Example:
        >>> from rushlight.vision.models.segmentation.fcn import FCNHead
        >>> FCNHead(8, 5).eval()(torch.zeros(1, 8, 4, 4)).shape
        torch.Size([1, 5, 4, 4])
    """

    def __init__(self, in_channels: int, channels: int) -> None:
        between = in_channels // 4
        super().__init__(
            nn.Conv2d(in_channels, between, 3, padding=1, bias=False),
            nn.BatchNorm2d(between),
            nn.ReLU(),
            nn.Dropout(0.1),
            nn.Conv2d(between, channels, 1),
        )


FCN_ResNet50_Weights, fcn_resnet50 = build_on(
    "FCN_ResNet50", on_resnet("resnet50", FCN, FCNHead, FCNHead),
    "FCN on ResNet-50.", backbone=ResNet50_Weights.IMAGENET1K_V1, classes=21, decided={"aux_loss": True},
)  # fmt: skip
FCN_ResNet101_Weights, fcn_resnet101 = build_on(
    "FCN_ResNet101", on_resnet("resnet101", FCN, FCNHead, FCNHead),
    "FCN on ResNet-101.", backbone=ResNet101_Weights.IMAGENET1K_V1, classes=21, decided={"aux_loss": True},
)  # fmt: skip
