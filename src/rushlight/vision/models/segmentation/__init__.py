"""Models that name the class of every pixel, under torchvision's names."""

from __future__ import annotations

from . import deeplabv3, fcn, lraspp
from .deeplabv3 import (
    DeepLabV3,
    DeepLabV3_MobileNet_V3_Large_Weights,
    DeepLabV3_ResNet50_Weights,
    DeepLabV3_ResNet101_Weights,
    deeplabv3_mobilenet_v3_large,
    deeplabv3_resnet50,
    deeplabv3_resnet101,
)
from .fcn import FCN, FCN_ResNet50_Weights, FCN_ResNet101_Weights, fcn_resnet50, fcn_resnet101
from .lraspp import LRASPP, LRASPP_MobileNet_V3_Large_Weights, lraspp_mobilenet_v3_large
from .pyramid import Pyramid, pyramid

__all__ = [
    "FCN", "LRASPP", "DeepLabV3", "DeepLabV3_MobileNet_V3_Large_Weights", "DeepLabV3_ResNet50_Weights",
    "DeepLabV3_ResNet101_Weights", "FCN_ResNet50_Weights", "FCN_ResNet101_Weights",
    "LRASPP_MobileNet_V3_Large_Weights", "Pyramid", "deeplabv3", "deeplabv3_mobilenet_v3_large", "deeplabv3_resnet50",
    "deeplabv3_resnet101", "fcn", "fcn_resnet50", "fcn_resnet101", "lraspp", "lraspp_mobilenet_v3_large", "pyramid",
]  # fmt: skip
