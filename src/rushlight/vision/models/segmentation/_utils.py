"""What the models of segmentation share: their form, and the networks they stand on."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from .... import nn
from ....core.tensor import Tensor
from ....nn.functional import interpolate
from .. import mobilenetv3, resnet
from .._api import WeightsEnum
from .._utils import IntermediateLayerGetter


class _SimpleSegmentationModel(nn.Module):
    """A backbone, a classifier of its last map, and perhaps one of an earlier map that helps in training."""

    def __init__(self, backbone: nn.Module, classifier: nn.Module, aux_classifier: nn.Module | None = None) -> None:
        super().__init__()
        self.backbone = backbone
        self.classifier = classifier
        self.aux_classifier = aux_classifier

    def forward(self, x: Tensor) -> OrderedDict[str, Tensor]:
        size = x.shape[-2:]
        maps = self.backbone(x)
        result: OrderedDict[str, Tensor] = OrderedDict()
        result["out"] = enlarged(self.classifier(maps["out"]), size)
        if self.aux_classifier is not None:
            result["aux"] = enlarged(self.aux_classifier(maps["aux"]), size)
        return result


def enlarged(x: Tensor, size: Sequence[int]) -> Tensor:
    """A map brought to the size of the picture."""
    return interpolate(x, size=size, mode="bilinear", align_corners=False)


def stages(features: nn.Sequential) -> list[int]:
    """Where the stages of a MobileNet end: before each block that halves the map, and at the end."""
    return [0, *(i for i, block in enumerate(features) if getattr(block, "_is_cn", False)), len(features) - 1]


def on_resnet(
    name: str, model: type[nn.Module], head: Callable[..., nn.Module], aux: Callable[..., nn.Module]
) -> Callable[..., nn.Module]:
    """How a model is made that stands on a ResNet whose last two stages are dilated."""

    def make(
        num_classes: int,
        weights_backbone: WeightsEnum | str | None,
        trained: bool,
        progress: bool = True,
        aux_loss: bool | None = None,
        **kwargs: Any,
    ) -> nn.Module:
        below = getattr(resnet, name)(
            weights=weights_backbone, progress=progress, replace_stride_with_dilation=[False, True, True]
        )
        layers = {"layer4": "out"} | ({"layer3": "aux"} if aux_loss else {})
        helper = aux(1024, num_classes) if aux_loss else None
        return model(IntermediateLayerGetter(below, layers), head(2048, num_classes), helper)

    return make


def mobilenet_features(weights_backbone: WeightsEnum | str | None, progress: bool) -> tuple[nn.Sequential, list[int]]:
    """The layers of MobileNetV3 with a dilated last stage, and where its stages end."""
    model = mobilenetv3.mobilenet_v3_large(weights=weights_backbone, progress=progress, dilated=True)
    return model.features, stages(model.features)
