"""MobileNetV2 (Sandler et al. 2018), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import nn
from ...core.tensor import Tensor
from ..ops.misc import Conv2dNormActivation
from ._build import build
from ._initial import initialise
from ._utils import _make_divisible

__all__ = ["MobileNetV2", "MobileNet_V2_Weights", "mobilenet_v2"]


class InvertedResidual(nn.Module):
    """Widen by 1x1, filter each channel by 3x3, narrow by 1x1; with a shortcut where shapes agree."""

    def __init__(
        self, inp: int, oup: int, stride: int, expand_ratio: int, norm_layer: Callable[..., nn.Module] | None = None
    ) -> None:
        super().__init__()
        if stride not in (1, 2):
            raise ValueError(f"stride should be 1 or 2 instead of {stride}")
        self.stride = stride
        norm = norm_layer or nn.BatchNorm2d
        inside = round(inp * expand_ratio)
        self.use_res_connect = stride == 1 and inp == oup
        layers: list[nn.Module] = []
        shared: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.ReLU6}
        if expand_ratio != 1:
            layers.append(Conv2dNormActivation(inp, inside, kernel_size=1, **shared))
        layers += [
            Conv2dNormActivation(inside, inside, stride=stride, groups=inside, **shared),
            nn.Conv2d(inside, oup, 1, 1, 0, bias=False),
            norm(oup),
        ]
        self.conv = nn.Sequential(*layers)
        self.out_channels = oup
        self._is_cn = stride > 1

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.use_res_connect else self.conv(x)


# expansion, channels, blocks, stride of the first block
_STAGES = [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 3, 2], [6, 64, 4, 2], [6, 96, 3, 1], [6, 160, 3, 2], [6, 320, 1, 1]]


class MobileNetV2(nn.Module):
    """A small, quick network of inverted residuals.

    Args:
        num_classes: of the result.
        width_mult: a factor on the channels.
        inverted_residual_setting: [widening, channels, blocks, stride] of each stage.
        round_nearest: channels are multiples of this.
        block: the class of the blocks.
        norm_layer: makes a normalisation; batch norm if not given.
        dropout: the probability in front of the last layer.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.MobileNetV2(num_classes=10)
        >>> net.classifier[-1]
        Linear(in_features=1280, out_features=10, bias=True)
    """

    def __init__(
        self,
        num_classes: int = 1000,
        width_mult: float = 1.0,
        inverted_residual_setting: list[list[int]] | None = None,
        round_nearest: int = 8,
        block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        dropout: float = 0.2,
    ) -> None:
        super().__init__()
        make = block or InvertedResidual
        norm = norm_layer or nn.BatchNorm2d
        stages = inverted_residual_setting or _STAGES
        if len(stages) == 0 or len(stages[0]) != 4:
            raise ValueError(
                f"inverted_residual_setting should be non-empty or a 4-element list, got {inverted_residual_setting}"
            )
        channels = _make_divisible(32 * width_mult, round_nearest)
        self.last_channel = _make_divisible(1280 * max(1.0, width_mult), round_nearest)
        shared: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.ReLU6}
        features: list[nn.Module] = [Conv2dNormActivation(3, channels, stride=2, **shared)]
        for t, c, n, s in stages:
            out = _make_divisible(c * width_mult, round_nearest)
            for i in range(n):
                stride = s if i == 0 else 1
                features.append(make(channels, out, stride, expand_ratio=t, norm_layer=norm))
                channels = out
        features.append(Conv2dNormActivation(channels, self.last_channel, kernel_size=1, **shared))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout), nn.Linear(self.last_channel, num_classes))
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        x = nn.functional.adaptive_avg_pool2d(self.features(x), (1, 1))
        return self.classifier(x.flatten(1))


MobileNet_V2_Weights, mobilenet_v2 = build("MobileNet_V2", MobileNetV2, "MobileNetV2.")
