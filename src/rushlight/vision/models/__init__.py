"""Models of images, under torchvision's names; `state_dict` names are torchvision's, so weights load."""

from __future__ import annotations

from . import (  # noqa: F401 - submodules are reached as attributes
    _api,
    _utils,
    alexnet,
    mobilenet,
    mobilenetv2,
    resnet,
    small,
    squeezenet,
    vgg,
)
from ._api import (
    Weights,
    WeightsEnum,
    get_model,
    get_model_builder,
    get_model_weights,
    get_weight,
    list_models,
)

_FAMILIES = (alexnet, mobilenetv2, resnet, small, squeezenet, vgg)
__all__ = [
    "Weights", "WeightsEnum", "get_model", "get_model_builder", "get_model_weights", "get_weight",
    "list_models",
]  # fmt: skip
# Some modules and a function in them share a name (`alexnet`): as in torchvision the function wins.
for _family in _FAMILIES:
    globals().update({_name: getattr(_family, _name) for _name in _family.__all__})
    __all__ += _family.__all__
