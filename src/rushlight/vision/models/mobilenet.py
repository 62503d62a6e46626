"""The MobileNets under the module name that torchvision gathers them in."""

from __future__ import annotations

from .mobilenetv2 import MobileNet_V2_Weights, MobileNetV2, mobilenet_v2

__all__ = ["MobileNetV2", "MobileNet_V2_Weights", "mobilenet_v2"]
