"""Backbones of detectors: a network's maps, with a feature pyramid over them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from .... import nn
from ....core.tensor import Tensor
from ...ops.feature_pyramid_network import ExtraFPNBlock, FeaturePyramidNetwork, LastLevelMaxPool
from ...ops.misc import FrozenBatchNorm2d
from .. import mobilenetv2, mobilenetv3, resnet
from .._api import WeightsEnum
from .._utils import IntermediateLayerGetter
from ..segmentation._utils import stages

__all__ = ["BackboneWithFPN", "mobilenet_backbone", "resnet_fpn_backbone"]


class BackboneWithFPN(nn.Module):
    """The maps of a network by name, joined by a feature pyramid.

    Args:
        backbone: the network.
        return_layers: which of its children give maps, and what the maps are called.
        in_channels_list: the channels of those maps.
        out_channels: channels of every map of the pyramid.
        extra_blocks: adds coarser maps; `LastLevelMaxPool` if None.
        norm_layer: a normalisation in the pyramid.

    Example:
        >>> from rushlight.vision.models.detection.backbone_utils import BackboneWithFPN
        >>> net = nn.Sequential(nn.Conv2d(3, 4, 3, 2, 1), nn.Conv2d(4, 8, 3, 2, 1))
        >>> list(BackboneWithFPN(net, {"0": "a", "1": "b"}, [4, 8], 6)(torch.zeros(1, 3, 16, 16)))
        ['a', 'b', 'pool']
    """

    def __init__(
        self,
        backbone: nn.Module,
        return_layers: dict[str, str],
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        self.body = IntermediateLayerGetter(backbone, return_layers)
        extra = LastLevelMaxPool() if extra_blocks is None else extra_blocks
        self.fpn = FeaturePyramidNetwork(in_channels_list, out_channels, extra, norm_layer)
        self.out_channels = out_channels

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return self.fpn(self.body(x))


def resnet_fpn_backbone(
    *,
    backbone_name: str,
    weights: WeightsEnum | str | None,
    norm_layer: Callable[..., nn.Module] = FrozenBatchNorm2d,
    trainable_layers: int = 3,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> BackboneWithFPN:
    """A ResNet with a feature pyramid.

    Args:
        backbone_name: such as "resnet50".
        weights: the weights of the ResNet, or None.
        norm_layer: its normalisation.
        trainable_layers: how many of its five parts learn, from the end.
        returned_layers: the stages, 1 to 4, that give maps; all if None.
        extra_blocks: adds coarser maps.

    Example:
        >>> from rushlight.vision.models.detection.backbone_utils import resnet_fpn_backbone
        >>> net = resnet_fpn_backbone(backbone_name="resnet18", weights=None, returned_layers=[3, 4])
        >>> list(net(torch.zeros(1, 3, 64, 64)))
        ['0', '1', 'pool']
    """
    backbone = getattr(resnet, backbone_name)(weights=weights, norm_layer=norm_layer)
    return _resnet_fpn_extractor(backbone, trainable_layers, returned_layers, extra_blocks)


def _resnet_fpn_extractor(
    backbone: Any,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Callable[..., nn.Module] | None = None,
) -> BackboneWithFPN:
    if not 0 <= trainable_layers <= 5:
        raise ValueError(f"Trainable layers should be in the range [0,5], got {trainable_layers}")
    learn = ["layer4", "layer3", "layer2", "layer1", "conv1"][:trainable_layers]
    if trainable_layers == 5:
        learn.append("bn1")
    for name, parameter in backbone.named_parameters():
        if not name.startswith(tuple(learn)):
            parameter.requires_grad_(False)
    chosen = returned_layers or [1, 2, 3, 4]
    if min(chosen) <= 0 or max(chosen) >= 5:
        raise ValueError(f"Each returned layer should be in the range [1,4]. Got {chosen}")
    first = backbone.inplanes // 8
    return BackboneWithFPN(
        backbone,
        {f"layer{k}": str(i) for i, k in enumerate(chosen)},
        [first * 2 ** (k - 1) for k in chosen],
        256,
        extra_blocks,
        norm_layer,
    )


def _validate_trainable_layers(
    is_trained: bool, trainable_backbone_layers: int | None, max_value: int, default_value: int
) -> int:
    """How many parts of the backbone learn: all of them where nothing is trained yet."""
    count = trainable_backbone_layers
    if not is_trained:
        if count is not None:
            warnings.warn(
                "Changing trainable_backbone_layers has no effect if neither pretrained nor pretrained_backbone have "
                f"been set to True, falling back to trainable_backbone_layers={max_value} so that all layers are "
                "trainable",
                stacklevel=4,
            )
        count = max_value
    if count is None:
        count = default_value
    if not 0 <= count <= max_value:
        raise ValueError(f"Trainable backbone layers should be in the range [0,{max_value}], got {count} ")
    return count


def mobilenet_backbone(
    *,
    backbone_name: str,
    weights: WeightsEnum | str | None,
    fpn: bool,
    norm_layer: Callable[..., nn.Module] = FrozenBatchNorm2d,
    trainable_layers: int = 2,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
) -> nn.Module:
    """A MobileNet with a feature pyramid, or with one more convolution.

    Args:
        backbone_name: "mobilenet_v2", "mobilenet_v3_large" or "mobilenet_v3_small".
        weights: the weights of the MobileNet, or None.
        fpn: build a pyramid.
        norm_layer: the normalisation of the MobileNet.
        trainable_layers: how many of its stages learn, from the end.
        returned_layers: the stages that give maps; the last two if None.
        extra_blocks: adds coarser maps.

    Example:
        >>> from rushlight.vision.models.detection.backbone_utils import mobilenet_backbone
        >>> net = mobilenet_backbone(backbone_name="mobilenet_v3_small", weights=None, fpn=True)
        >>> list(net(torch.zeros(1, 3, 64, 64)))
        ['0', '1', 'pool']
    """
    family = mobilenetv2 if backbone_name == "mobilenet_v2" else mobilenetv3
    backbone = getattr(family, backbone_name)(weights=weights, norm_layer=norm_layer)
    return _mobilenet_extractor(backbone, fpn, trainable_layers, returned_layers, extra_blocks)


def freeze_stages(features: Any, ends: list[int], trainable_layers: int) -> None:
    """Let only the last stages of a sequence of layers learn."""
    if not 0 <= trainable_layers <= len(ends):
        raise ValueError(f"Trainable layers should be in the range [0,{len(ends)}], got {trainable_layers} ")
    before = len(features) if trainable_layers == 0 else ends[len(ends) - trainable_layers]
    for block in features[:before]:
        for parameter in block.parameters():
            parameter.requires_grad_(False)


def _mobilenet_extractor(
    backbone: Any,
    fpn: bool,
    trainable_layers: int,
    returned_layers: list[int] | None = None,
    extra_blocks: ExtraFPNBlock | None = None,
    norm_layer: Callable[..., nn.Module] | None = None,
) -> nn.Module:
    features = backbone.features
    ends = stages(features)
    count = len(ends)
    freeze_stages(features, ends, trainable_layers)
    if not fpn:
        model = nn.Sequential(features, nn.Conv2d(features[-1].out_channels, 256, 1))
        model.out_channels = 256  # type: ignore[assignment]
        return model
    chosen = returned_layers or [count - 2, count - 1]
    if min(chosen) < 0 or max(chosen) >= count:
        raise ValueError(f"Each returned layer should be in the range [0,{count - 1}], got {chosen} ")
    return BackboneWithFPN(
        features,
        {str(ends[k]): str(i) for i, k in enumerate(chosen)},
        [features[ends[k]].out_channels for k in chosen],
        256,
        extra_blocks,
        norm_layer,
    )
