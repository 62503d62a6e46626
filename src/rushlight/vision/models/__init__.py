"""Models of images, under torchvision's names; `state_dict` names are torchvision's, so weights load."""

from __future__ import annotations

from ...base.signatures import show_plainly
from . import (  # noqa: F401 - submodules are reached as attributes
    _api,
    _utils,
    alexnet,
    convnext,
    densenet,
    detection,
    efficientnet,
    googlenet,
    inception,
    maxvit,
    mnasnet,
    mobilenet,
    mobilenetv2,
    mobilenetv3,
    regnet,
    resnet,
    segmentation,
    shufflenetv2,
    small,
    squeezenet,
    swin_transformer,
    vgg,
    vision_transformer,
)
from ._api import Weights, WeightsEnum, get_model, get_model_builder, get_model_weights, get_weight, list_models

_FAMILIES = (
    alexnet, convnext, densenet, efficientnet, googlenet, inception, maxvit, mnasnet, mobilenetv2, mobilenetv3, regnet,
    resnet, shufflenetv2, small, squeezenet, swin_transformer, vgg, vision_transformer,
)  # fmt: skip
__all__ = [
    "Weights", "WeightsEnum", "detection", "get_model", "get_model_builder", "get_model_weights", "get_weight",
    "list_models", "segmentation",
]  # fmt: skip
# Some modules and a function in them share a name (`alexnet`): as in torchvision the function wins.
for _family in _FAMILIES:
    globals().update({_name: getattr(_family, _name) for _name in _family.__all__})
    __all__ += _family.__all__

show_plainly(list(globals().values()))
del show_plainly
