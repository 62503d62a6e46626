"""RegNet (Radosavovic et al. 2020), with torchvision's names and weights."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from functools import partial
from math import log, sqrt
from typing import Any, NamedTuple

import numpy as np

from ... import nn
from ...core.tensor import Tensor
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ..transforms._modes import InterpolationMode
from ._build import build
from ._utils import _make_divisible

__all__ = [
    "RegNet", "RegNet_X_16GF_Weights", "RegNet_X_1_6GF_Weights", "RegNet_X_32GF_Weights",
    "RegNet_X_3_2GF_Weights", "RegNet_X_400MF_Weights", "RegNet_X_800MF_Weights",
    "RegNet_X_8GF_Weights", "RegNet_Y_128GF_Weights", "RegNet_Y_16GF_Weights",
    "RegNet_Y_1_6GF_Weights", "RegNet_Y_32GF_Weights", "RegNet_Y_3_2GF_Weights",
    "RegNet_Y_400MF_Weights", "RegNet_Y_800MF_Weights", "RegNet_Y_8GF_Weights", "regnet_x_16gf",
    "regnet_x_1_6gf", "regnet_x_32gf", "regnet_x_3_2gf", "regnet_x_400mf", "regnet_x_800mf",
    "regnet_x_8gf", "regnet_y_128gf", "regnet_y_16gf", "regnet_y_1_6gf", "regnet_y_32gf",
    "regnet_y_3_2gf", "regnet_y_400mf", "regnet_y_800mf", "regnet_y_8gf",
]  # fmt: skip

_CUBIC = InterpolationMode.BICUBIC


_Layer = Callable[..., nn.Module]


class SimpleStemIN(Conv2dNormActivation):
    """3x3 with stride 2."""

    def __init__(self, width_in: int, width_out: int, norm_layer: _Layer, activation_layer: _Layer) -> None:
        super().__init__(
            width_in, width_out, kernel_size=3, stride=2, norm_layer=norm_layer, activation_layer=activation_layer
        )


class BottleneckTransform(nn.Sequential):
    """1x1, 3x3 in groups, weights of channels where `se_ratio` says, 1x1."""

    def __init__(
        self, width_in: int, width_out: int, stride: int, norm_layer: _Layer, activation_layer: _Layer,
        group_width: int, bottleneck_multiplier: float, se_ratio: float | None,
    ) -> None:  # fmt: skip
        inside = round(width_out * bottleneck_multiplier)
        how: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": activation_layer}
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        layers["a"] = Conv2dNormActivation(width_in, inside, kernel_size=1, stride=1, **how)
        layers["b"] = Conv2dNormActivation(
            inside, inside, kernel_size=3, stride=stride, groups=inside // group_width, **how
        )
        if se_ratio:
            squeezed = round(se_ratio * width_in)
            layers["se"] = SqueezeExcitation(inside, squeezed, activation=activation_layer)
        how["activation_layer"] = None
        layers["c"] = Conv2dNormActivation(inside, width_out, kernel_size=1, stride=1, **how)
        super().__init__(layers)


class ResBottleneckBlock(nn.Module):
    """The bottleneck beside a shortcut."""

    def __init__(
        self, width_in: int, width_out: int, stride: int, norm_layer: _Layer, activation_layer: _Layer,
        group_width: int = 1, bottleneck_multiplier: float = 1.0, se_ratio: float | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.proj = None
        if width_in != width_out or stride != 1:
            self.proj = Conv2dNormActivation(
                width_in, width_out, kernel_size=1, stride=stride, norm_layer=norm_layer, activation_layer=None
            )
        self.f = BottleneckTransform(
            width_in, width_out, stride, norm_layer, activation_layer, group_width, bottleneck_multiplier, se_ratio
        )
        self.activation = activation_layer(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        return self.activation((x if self.proj is None else self.proj(x)) + self.f(x))


class AnyStage(nn.Sequential):
    """Blocks of one width; the first one strides."""

    def __init__(
        self, width_in: int, width_out: int, stride: int, depth: int, block_constructor: _Layer, norm_layer: _Layer,
        activation_layer: _Layer, group_width: int, bottleneck_multiplier: float, se_ratio: float | None = None,
        stage_index: int = 0,
    ) -> None:  # fmt: skip
        super().__init__()
        for i in range(depth):
            block = block_constructor(
                width_in if i == 0 else width_out, width_out, stride if i == 0 else 1, norm_layer, activation_layer,
                group_width, bottleneck_multiplier, se_ratio,
            )  # fmt: skip
            self.add_module(f"block{stage_index}-{i}", block)


class BlockParams(NamedTuple):
    """Of each stage: blocks, width, width of a group, bottleneck, stride."""

    depths: list[int]
    widths: list[int]
    group_widths: list[int]
    bottleneck_multipliers: list[float]
    strides: list[int]
    se_ratio: float | None = None

    @classmethod
    def from_init_params(
        cls, depth: int, w_0: int, w_a: float, w_m: float, group_width: int, bottleneck_multiplier: float = 1.0,
        se_ratio: float | None = None, **kwargs: Any,
    ) -> BlockParams:  # fmt: skip
        """Widths that grow linearly, rounded to powers of `w_m`, and then to multiples of 8."""
        if w_a < 0 or w_0 <= 0 or w_m <= 1 or w_0 % 8 != 0:
            raise ValueError("Invalid RegNet settings")
        linear = np.arange(depth) * w_a + w_0
        steps = np.round(np.log(linear / w_0) / log(w_m))
        every = (np.round(w_0 * np.power(w_m, steps) / 8) * 8).astype(int).tolist()
        widths = sorted(set(every))
        depths = [every.count(w) for w in widths]
        groups = [min(group_width, round(w * bottleneck_multiplier)) for w in widths]
        inside = [_make_divisible(round(w * bottleneck_multiplier), g) for w, g in zip(widths, groups)]
        widths = [round(w / bottleneck_multiplier) for w in inside]
        n = len(widths)
        return cls(depths, widths, groups, [bottleneck_multiplier] * n, [2] * n, se_ratio)

    def stages(self) -> Iterator[tuple[int, int, int, int, float]]:
        """(width, stride, depth, width of a group, bottleneck) of every stage."""
        return zip(self.widths, self.strides, self.depths, self.group_widths, self.bottleneck_multipliers)


class RegNet(nn.Module):
    """A stem and stages whose widths follow a rule.

    Args:
        block_params: widths, depths and groups of the stages.
        num_classes: of the result.
        stem_width: channels of the stem.
        stem_type, block_type: the classes of the stem and of the blocks.
        norm_layer: makes a normalisation; batch norm if not given.
        activation: the class of the activations.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.regnet_y_400mf()
        >>> type(net).__name__, net.fc
        ('RegNet', Linear(in_features=440, out_features=1000, bias=True))
    """

    def __init__(
        self, block_params: BlockParams, num_classes: int = 1000, stem_width: int = 32, stem_type: _Layer | None = None,
        block_type: _Layer | None = None, norm_layer: _Layer | None = None, activation: _Layer | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        norm, act = norm_layer or nn.BatchNorm2d, activation or nn.ReLU
        self.stem = (stem_type or SimpleStemIN)(3, stem_width, norm, act)
        width, blocks = stem_width, []
        for i, (out, stride, depth, group, bottleneck) in enumerate(block_params.stages(), 1):
            stage = AnyStage(
                width, out, stride, depth, block_type or ResBottleneckBlock, norm, act, group, bottleneck,
                block_params.se_ratio, i,
            )  # fmt: skip
            blocks.append((f"block{i}", stage))
            width = out
        self.trunk_output = nn.Sequential(OrderedDict(blocks))
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(width, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                fan = m.kernel_size[0] * m.kernel_size[1] * m.out_channels
                nn.init.normal_(m.weight, mean=0.0, std=sqrt(2.0 / fan))
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.ones_(m.weight)
                nn.init.zeros_(m.bias)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0.0, std=0.01)
                nn.init.zeros_(m.bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.avgpool(self.trunk_output(self.stem(x))).flatten(1))


def _regnet(depth: int, w_0: int, w_a: float, w_m: float, group: int, se: float | None = None, **kwargs: Any) -> RegNet:
    params = BlockParams.from_init_params(depth, w_0, w_a, w_m, group, se_ratio=se)
    norm = kwargs.pop("norm_layer", partial(nn.BatchNorm2d, eps=1e-05, momentum=0.1))
    return RegNet(params, norm_layer=norm, **kwargs)


RegNet_Y_400MF_Weights, regnet_y_400mf = build("RegNet_Y_400MF", partial(_regnet, 16, 48, 27.89, 2.09, 8, 0.25))
RegNet_Y_800MF_Weights, regnet_y_800mf = build("RegNet_Y_800MF", partial(_regnet, 14, 56, 38.84, 2.4, 16, 0.25))
RegNet_Y_1_6GF_Weights, regnet_y_1_6gf = build("RegNet_Y_1_6GF", partial(_regnet, 27, 48, 20.71, 2.65, 24, 0.25))
RegNet_Y_3_2GF_Weights, regnet_y_3_2gf = build("RegNet_Y_3_2GF", partial(_regnet, 21, 80, 42.63, 2.66, 24, 0.25))
RegNet_Y_8GF_Weights, regnet_y_8gf = build("RegNet_Y_8GF", partial(_regnet, 17, 192, 76.82, 2.19, 56, 0.25))
RegNet_Y_16GF_Weights, regnet_y_16gf = build("RegNet_Y_16GF", partial(_regnet, 18, 200, 106.23, 2.48, 112, 0.25))
RegNet_Y_32GF_Weights, regnet_y_32gf = build("RegNet_Y_32GF", partial(_regnet, 20, 232, 115.89, 2.53, 232, 0.25))
RegNet_Y_128GF_Weights, regnet_y_128gf = build("RegNet_Y_128GF", partial(_regnet, 27, 456, 160.83, 2.52, 264, 0.25))
RegNet_X_400MF_Weights, regnet_x_400mf = build("RegNet_X_400MF", partial(_regnet, 22, 24, 24.48, 2.54, 16))
RegNet_X_800MF_Weights, regnet_x_800mf = build("RegNet_X_800MF", partial(_regnet, 16, 56, 35.73, 2.28, 16))
RegNet_X_1_6GF_Weights, regnet_x_1_6gf = build("RegNet_X_1_6GF", partial(_regnet, 18, 80, 34.01, 2.25, 24))
RegNet_X_3_2GF_Weights, regnet_x_3_2gf = build("RegNet_X_3_2GF", partial(_regnet, 25, 88, 26.31, 2.25, 48))
RegNet_X_8GF_Weights, regnet_x_8gf = build("RegNet_X_8GF", partial(_regnet, 23, 80, 49.56, 2.88, 120))
RegNet_X_16GF_Weights, regnet_x_16gf = build("RegNet_X_16GF", partial(_regnet, 22, 216, 55.59, 2.1, 128))
RegNet_X_32GF_Weights, regnet_x_32gf = build("RegNet_X_32GF", partial(_regnet, 23, 320, 69.86, 2.0, 168))
