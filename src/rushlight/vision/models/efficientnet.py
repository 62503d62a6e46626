"""EfficientNet (Tan and Le 2019) and EfficientNetV2 (2021), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import ceil, sqrt
from typing import Any, NamedTuple

from ... import nn
from ...core.tensor import Tensor
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..ops.stochastic_depth import StochasticDepth
from ..transforms._modes import InterpolationMode
from ._build import build
from ._initial import initialise
from ._utils import _make_divisible

__all__ = [
    "EfficientNet", "EfficientNet_B0_Weights", "EfficientNet_B1_Weights", "EfficientNet_B2_Weights",
    "EfficientNet_B3_Weights", "EfficientNet_B4_Weights", "EfficientNet_B5_Weights",
    "EfficientNet_B6_Weights", "EfficientNet_B7_Weights", "EfficientNet_V2_L_Weights",
    "EfficientNet_V2_M_Weights", "EfficientNet_V2_S_Weights", "efficientnet_b0", "efficientnet_b1",
    "efficientnet_b2", "efficientnet_b3", "efficientnet_b4", "efficientnet_b5", "efficientnet_b6",
    "efficientnet_b7", "efficientnet_v2_l", "efficientnet_v2_m", "efficientnet_v2_s",
]  # fmt: skip


class MBConvConfig(NamedTuple):
    """One stage: how much blocks widen, their kernel and stride, channels, how many, and whether widening is fused."""

    expand_ratio: float
    kernel: int
    stride: int
    input_channels: int
    out_channels: int
    num_layers: int
    fused: bool = False

    def scaled(self, width: float, depth: float) -> MBConvConfig:
        """The stage of a larger network."""
        return self._replace(
            input_channels=_make_divisible(self.input_channels * width, 8),
            out_channels=_make_divisible(self.out_channels * width, 8),
            num_layers=ceil(self.num_layers * depth),
        )


class _Block(nn.Module):
    """What both kinds of block share: a shortcut that is sometimes left out while training."""

    def __init__(self, cnf: MBConvConfig, drop: float) -> None:
        super().__init__()
        if not 1 <= cnf.stride <= 2:
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        self.drop = drop

    def _finish(self, layers: list[nn.Module], cnf: MBConvConfig) -> None:
        self.block = nn.Sequential(*layers)
        self.stochastic_depth = StochasticDepth(self.drop, "row")
        self.out_channels = cnf.out_channels

    def forward(self, x: Tensor) -> Tensor:
        out = self.block(x)
        return self.stochastic_depth(out) + x if self.use_res_connect else out


class MBConv(_Block):
    """Widen by 1x1, filter each channel, weigh the channels, narrow by 1x1."""

    def __init__(
        self, cnf: MBConvConfig, stochastic_depth_prob: float, norm_layer: Callable[..., nn.Module],
        se_layer: Callable[..., nn.Module] = SqueezeExcitation,
    ) -> None:  # fmt: skip
        super().__init__(cnf, stochastic_depth_prob)
        inside = _make_divisible(cnf.input_channels * cnf.expand_ratio, 8)
        how: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        layers: list[nn.Module] = []
        if inside != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, inside, kernel_size=1, **how))
        layers.append(
            Conv2dNormActivation(inside, inside, kernel_size=cnf.kernel, stride=cnf.stride, groups=inside, **how)
        )
        squeezed = max(1, cnf.input_channels // 4)
        layers.append(se_layer(inside, squeezed, activation=partial(nn.SiLU, inplace=True)))
        how["activation_layer"] = None
        layers.append(Conv2dNormActivation(inside, cnf.out_channels, kernel_size=1, **how))
        self._finish(layers, cnf)


class FusedMBConv(_Block):
    """Widening and filtering as one plain convolution."""

    def __init__(self, cnf: MBConvConfig, stochastic_depth_prob: float, norm_layer: Callable[..., nn.Module]) -> None:
        super().__init__(cnf, stochastic_depth_prob)
        inside = _make_divisible(cnf.input_channels * cnf.expand_ratio, 8)
        wide = inside != cnf.input_channels
        to = inside if wide else cnf.out_channels
        how: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.SiLU}
        layers: list[nn.Module] = [
            Conv2dNormActivation(cnf.input_channels, to, kernel_size=cnf.kernel, stride=cnf.stride, **how)
        ]
        if wide:
            how["activation_layer"] = None
            layers.append(Conv2dNormActivation(inside, cnf.out_channels, kernel_size=1, **how))
        self._finish(layers, cnf)


class EfficientNet(nn.Module):
    """Stages of blocks; deeper blocks are left out more often while training.

    Args:
        inverted_residual_setting: a configuration for each stage.
        dropout: the probability in front of the last layer.
        stochastic_depth_prob: how often the last block is left out while training.
        num_classes: of the result.
        norm_layer: makes a normalisation; batch norm if not given.
        last_channel: channels in front of the classifier.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.efficientnet_b0()
        >>> type(net).__name__, len(net.features)
        ('EfficientNet', 9)
    """

    def __init__(
        self, inverted_residual_setting: Sequence[MBConvConfig], dropout: float,
        stochastic_depth_prob: float = 0.2, num_classes: int = 1000,
        norm_layer: Callable[..., nn.Module] | None = None, last_channel: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        norm = norm_layer or nn.BatchNorm2d
        how: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.SiLU}
        first = inverted_residual_setting[0].input_channels
        layers: list[nn.Module] = [Conv2dNormActivation(3, first, stride=2, **how)]
        total, done = sum(c.num_layers for c in inverted_residual_setting), 0
        for cnf in inverted_residual_setting:
            stage = []
            for i in range(cnf.num_layers):
                own = cnf if i == 0 else cnf._replace(input_channels=cnf.out_channels, stride=1)
                drop = stochastic_depth_prob * done / total
                stage.append((FusedMBConv if cnf.fused else MBConv)(own, drop, norm))
                done += 1
            layers.append(nn.Sequential(*stage))
        last = inverted_residual_setting[-1].out_channels
        width = last_channel or 4 * last
        layers.append(Conv2dNormActivation(last, width, kernel_size=1, **how))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(nn.Dropout(p=dropout, inplace=True), nn.Linear(width, num_classes))
        reach = 1.0 / sqrt(num_classes)
        initialise(self, lambda w: nn.init.uniform_(w, -reach, reach))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


_B0 = (
    MBConvConfig(1, 3, 1, 32, 16, 1), MBConvConfig(6, 3, 2, 16, 24, 2), MBConvConfig(6, 5, 2, 24, 40, 2),
    MBConvConfig(6, 3, 2, 40, 80, 3), MBConvConfig(6, 5, 1, 80, 112, 3), MBConvConfig(6, 5, 2, 112, 192, 4),
    MBConvConfig(6, 3, 1, 192, 320, 1),
)  # fmt: skip
# widening, kernel, stride, channels in and out, blocks, fused
_V2 = {
    "s": ((1, 3, 1, 24, 24, 2, True), (4, 3, 2, 24, 48, 4, True), (4, 3, 2, 48, 64, 4, True), (4, 3, 2, 64, 128, 6),
          (6, 3, 1, 128, 160, 9), (6, 3, 2, 160, 256, 15)),
    "m": ((1, 3, 1, 24, 24, 3, True), (4, 3, 2, 24, 48, 5, True), (4, 3, 2, 48, 80, 5, True), (4, 3, 2, 80, 160, 7),
          (6, 3, 1, 160, 176, 14), (6, 3, 2, 176, 304, 18), (6, 3, 1, 304, 512, 5)),
    "l": ((1, 3, 1, 32, 32, 4, True), (4, 3, 2, 32, 64, 7, True), (4, 3, 2, 64, 96, 7, True), (4, 3, 2, 96, 192, 10),
          (6, 3, 1, 192, 224, 19), (6, 3, 2, 224, 384, 25), (6, 3, 1, 384, 640, 7)),
}  # fmt: skip


def _first(width: float, depth: float, dropout: float, norm: Any = None, **kwargs: Any) -> EfficientNet:
    stages = [stage.scaled(width, depth) for stage in _B0]
    return EfficientNet(stages, kwargs.pop("dropout", dropout), norm_layer=kwargs.pop("norm_layer", norm), **kwargs)


def _second(size: str, dropout: float, **kwargs: Any) -> EfficientNet:
    stages = [MBConvConfig(*row) for row in _V2[size]]
    norm = kwargs.pop("norm_layer", partial(nn.BatchNorm2d, eps=1e-03))
    return EfficientNet(stages, kwargs.pop("dropout", dropout), norm_layer=norm, last_channel=1280, **kwargs)


_CUBIC = InterpolationMode.BICUBIC
_OLD = partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)


EfficientNet_B0_Weights, efficientnet_b0 = build("EfficientNet_B0", partial(_first, 1.0, 1.0, 0.2))
EfficientNet_B1_Weights, efficientnet_b1 = build("EfficientNet_B1", partial(_first, 1.0, 1.1, 0.2))
EfficientNet_B2_Weights, efficientnet_b2 = build("EfficientNet_B2", partial(_first, 1.1, 1.2, 0.3))
EfficientNet_B3_Weights, efficientnet_b3 = build("EfficientNet_B3", partial(_first, 1.2, 1.4, 0.3))
EfficientNet_B4_Weights, efficientnet_b4 = build("EfficientNet_B4", partial(_first, 1.4, 1.8, 0.4))
EfficientNet_B5_Weights, efficientnet_b5 = build("EfficientNet_B5", partial(_first, 1.6, 2.2, 0.4, _OLD))
EfficientNet_B6_Weights, efficientnet_b6 = build("EfficientNet_B6", partial(_first, 1.8, 2.6, 0.5, _OLD))
EfficientNet_B7_Weights, efficientnet_b7 = build("EfficientNet_B7", partial(_first, 2.0, 3.1, 0.5, _OLD))
EfficientNet_V2_S_Weights, efficientnet_v2_s = build("EfficientNet_V2_S", partial(_second, "s", 0.2))
EfficientNet_V2_M_Weights, efficientnet_v2_m = build("EfficientNet_V2_M", partial(_second, "m", 0.3))
EfficientNet_V2_L_Weights, efficientnet_v2_l = build("EfficientNet_V2_L", partial(_second, "l", 0.4))
