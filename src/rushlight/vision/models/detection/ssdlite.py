"""SSDlite (Sandler et al. 2018; Howard et al. 2019), with torchvision's names and weights."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

from .... import nn
from ....core.tensor import Tensor
from ...ops import Conv2dNormActivation
from .. import mobilenetv3
from .._api import WeightsEnum
from .._build import build_on
from .._initial import drawn
from ..segmentation._utils import stages
from . import _utils as det_utils
from .anchor_utils import DefaultBoxGenerator
from .backbone_utils import _validate_trainable_layers, freeze_stages
from .ssd import SSD, SSDScoringHead

__all__ = ["SSDLite320_MobileNet_V3_Large_Weights", "ssdlite320_mobilenet_v3_large"]

Norm = Callable[..., nn.Module]


def _prediction_block(in_channels: int, out_channels: int, kernel_size: int, norm_layer: Norm) -> nn.Sequential:
    """A filter for each channel, and a mixture of them."""
    filters = Conv2dNormActivation(
        in_channels, in_channels, kernel_size, groups=in_channels, norm_layer=norm_layer, activation_layer=nn.ReLU6
    )
    return nn.Sequential(filters, nn.Conv2d(in_channels, out_channels, 1))


def _extra_block(in_channels: int, out_channels: int, norm_layer: Norm) -> nn.Sequential:
    """A map of half the size."""
    between = out_channels // 2
    how: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.ReLU6}
    return nn.Sequential(
        Conv2dNormActivation(in_channels, between, 1, **how),
        Conv2dNormActivation(between, between, 3, 2, groups=between, **how),
        Conv2dNormActivation(between, out_channels, 1, **how),
    )


_small = partial(nn.init.normal_, mean=0.0, std=0.03)


def _heads(channels: list[int], anchors: list[int], columns: int, norm: Norm) -> nn.ModuleList:
    layers = nn.ModuleList(_prediction_block(c, columns * n, 3, norm) for c, n in zip(channels, anchors))
    drawn(layers.modules(), _small)
    return layers


class SSDLiteClassificationHead(SSDScoringHead):
    """As `SSDClassificationHead`, by separable convolutions and a normalisation, `norm_layer`."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: Norm) -> None:
        super().__init__(_heads(in_channels, num_anchors, num_classes, norm_layer), num_classes)


class SSDLiteRegressionHead(SSDScoringHead):
    """As `SSDLiteClassificationHead`: codes of the box of every default box."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], norm_layer: Norm) -> None:
        super().__init__(_heads(in_channels, num_anchors, 4, norm_layer), 4)


class SSDLiteHead(nn.Module):
    """As `SSDLiteClassificationHead`: classes and boxes of every default box."""

    def __init__(self, in_channels: list[int], num_anchors: list[int], num_classes: int, norm_layer: Norm) -> None:
        super().__init__()
        self.classification_head = SSDLiteClassificationHead(in_channels, num_anchors, num_classes, norm_layer)
        self.regression_head = SSDLiteRegressionHead(in_channels, num_anchors, norm_layer)

    def forward(self, x: list[Tensor]) -> dict[str, Tensor]:
        return {"bbox_regression": self.regression_head(x), "cls_logits": self.classification_head(x)}


class SSDLiteFeatureExtractorMobileNet(nn.Module):
    """Two maps of a MobileNet and four smaller ones after it.

    Args:
        backbone: the layers of the MobileNet.
        c4_pos: the block whose widened map is the first.
        norm_layer: the normalisation of the new layers.
        width_mult: a factor of their channels.
        min_depth: the fewest channels.

    Example:
        >>> net = models.mobilenet_v3_small().features
        >>> make = models.detection.ssdlite.SSDLiteFeatureExtractorMobileNet(net, 9, nn.BatchNorm2d).eval()
        >>> [m.shape[1] for m in make(torch.zeros(1, 3, 64, 64)).values()]
        [288, 576, 512, 256, 256, 128]
    """

    def __init__(
        self, backbone: Any, c4_pos: int, norm_layer: Norm, width_mult: float = 1.0, min_depth: int = 16
    ) -> None:
        super().__init__()
        if backbone[c4_pos].use_res_connect:
            raise ValueError("backbone[c4_pos].use_res_connect should be False")
        block = backbone[c4_pos].block
        self.features = nn.Sequential(
            nn.Sequential(*backbone[:c4_pos], block[0]), nn.Sequential(block[1:], *backbone[c4_pos + 1 :])
        )
        sizes = [max(min_depth, int(n * width_mult)) for n in (512, 256, 256, 128)]
        channels = [backbone[-1].out_channels, *sizes]
        self.extra = nn.ModuleList(_extra_block(a, b, norm_layer) for a, b in pairwise(channels))
        drawn(self.extra.modules(), _small)

    def forward(self, x: Tensor) -> OrderedDict[str, Tensor]:
        maps = []
        for block in (*self.features, *self.extra):
            x = block(x)
            maps.append(x)
        return OrderedDict((str(i), m) for i, m in enumerate(maps))


def _mobilenet_extractor(backbone: Any, trainable_layers: int, norm_layer: Norm) -> nn.Module:
    features = backbone.features
    ends = stages(features)
    freeze_stages(features, ends, trainable_layers)
    return SSDLiteFeatureExtractorMobileNet(features, ends[-2], norm_layer)


def _on_mobilenet(
    num_classes: int, below: WeightsEnum | str | None, trained: bool, progress: bool = True,
    trainable_backbone_layers: int | None = None, norm_layer: Norm | None = None, **kwargs: Any,
) -> SSD:  # fmt: skip
    if kwargs.pop("size", None) is not None:
        raise ValueError("The size of the model is fixed: 320 x 320.")
    is_trained = trained or below is not None
    count = _validate_trainable_layers(is_trained, trainable_backbone_layers, 6, 6)
    norm = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.03)
    # Weights of a backbone belong to the full one; from nothing the smaller last stage is enough.
    net = mobilenetv3.mobilenet_v3_large(weights=below, progress=progress, norm_layer=norm, reduced_tail=below is None)
    if below is None:
        drawn(net.modules(), _small)
    backbone = _mobilenet_extractor(net, count, norm)
    size = (320, 320)
    anchors = DefaultBoxGenerator([[2, 3] for _ in range(6)], min_ratio=0.2, max_ratio=0.95)
    channels = det_utils.retrieve_out_channels(backbone, size)
    head = SSDLiteHead(channels, anchors.num_anchors_per_location(), num_classes, norm)
    usual = {
        "score_thresh": 0.001, "nms_thresh": 0.55, "detections_per_img": 300, "topk_candidates": 300,
        "image_mean": [0.5, 0.5, 0.5], "image_std": [0.5, 0.5, 0.5],
    }  # fmt: skip
    return SSD(backbone, anchors, size, num_classes, head=head, **{**usual, **kwargs})


SSDLite320_MobileNet_V3_Large_Weights, ssdlite320_mobilenet_v3_large = build_on(
    "SSDLite320_MobileNet_V3_Large", _on_mobilenet,
    "SSDlite of pictures of 320 x 320 on MobileNetV3.",
    backbone=mobilenetv3.MobileNet_V3_Large_Weights.IMAGENET1K_V1, classes=91,
)  # fmt: skip
