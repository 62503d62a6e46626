"""MobileNetV3 (Howard et al. 2019), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ... import nn
from ...core.tensor import Tensor
from ..ops.misc import Conv2dNormActivation, SqueezeExcitation
from ._build import build
from ._initial import initialise
from ._utils import _make_divisible

__all__ = [
    "MobileNetV3", "MobileNet_V3_Large_Weights", "MobileNet_V3_Small_Weights", "mobilenet_v3_large",
    "mobilenet_v3_small",
]  # fmt: skip


class InvertedResidualConfig(NamedTuple):
    """One block: channels in, inside and out, the kernel's size, and what the block has beside."""

    input_channels: int
    kernel: int
    expanded_channels: int
    out_channels: int
    use_se: bool
    use_hs: bool
    stride: int
    dilation: int


class InvertedResidual(nn.Module):
    """Widen, filter each channel, weigh the channels, narrow; with a shortcut where shapes agree."""

    def __init__(
        self, cnf: InvertedResidualConfig, norm_layer: Callable[..., nn.Module],
        se_layer: Callable[..., nn.Module] = partial(SqueezeExcitation, scale_activation=nn.Hardsigmoid),
    ) -> None:  # fmt: skip
        super().__init__()
        if cnf.stride not in (1, 2):
            raise ValueError("illegal stride value")
        self.use_res_connect = cnf.stride == 1 and cnf.input_channels == cnf.out_channels
        inside = cnf.expanded_channels
        how: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": nn.Hardswish if cnf.use_hs else nn.ReLU}
        layers: list[nn.Module] = []
        if inside != cnf.input_channels:
            layers.append(Conv2dNormActivation(cnf.input_channels, inside, kernel_size=1, **how))
        layers.append(
            Conv2dNormActivation(
                inside, inside, kernel_size=cnf.kernel, stride=1 if cnf.dilation > 1 else cnf.stride,
                dilation=cnf.dilation, groups=inside, **how,
            )
        )  # fmt: skip
        if cnf.use_se:
            layers.append(se_layer(inside, _make_divisible(inside // 4, 8)))
        how["activation_layer"] = None
        layers.append(Conv2dNormActivation(inside, cnf.out_channels, kernel_size=1, **how))
        self.block = nn.Sequential(*layers)
        self.out_channels = cnf.out_channels
        self._is_cn = cnf.stride > 1

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x) + x if self.use_res_connect else self.block(x)


class MobileNetV3(nn.Module):
    """As `MobileNetV2`, of blocks found by search, and a classifier of two layers.

    Args:
        inverted_residual_setting: a configuration for each block.
        last_channel: between the two layers of the classifier.
    """

    def __init__(
        self, inverted_residual_setting: Sequence[InvertedResidualConfig], last_channel: int,
        num_classes: int = 1000, block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None, dropout: float = 0.2,
    ) -> None:  # fmt: skip
        super().__init__()
        if not inverted_residual_setting:
            raise ValueError("The inverted_residual_setting should not be empty")
        norm = norm_layer or partial(nn.BatchNorm2d, eps=0.001, momentum=0.01)
        make = block or InvertedResidual
        first = inverted_residual_setting[0].input_channels
        how: dict[str, Any] = {"norm_layer": norm, "activation_layer": nn.Hardswish}
        layers: list[nn.Module] = [Conv2dNormActivation(3, first, stride=2, **how)]
        layers += [make(cnf, norm) for cnf in inverted_residual_setting]
        last = inverted_residual_setting[-1].out_channels
        layers.append(Conv2dNormActivation(last, 6 * last, kernel_size=1, **how))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Sequential(
            nn.Linear(6 * last, last_channel), nn.Hardswish(inplace=True),
            nn.Dropout(p=dropout, inplace=True), nn.Linear(last_channel, num_classes),
        )  # fmt: skip
        initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


# kernel, channels inside, channels out, squeeze and excitation, hard swish, stride
_LARGE = (
    (3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1),
    (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
    (3, 184, 80, 0, 1, 1), (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2),
    (5, 960, 160, 1, 1, 1), (5, 960, 160, 1, 1, 1),
)  # fmt: skip
_SMALL = (
    (3, 16, 16, 1, 0, 2), (3, 72, 24, 0, 0, 2), (3, 88, 24, 0, 0, 1), (5, 96, 40, 1, 1, 2), (5, 240, 40, 1, 1, 1),
    (5, 240, 40, 1, 1, 1), (5, 120, 48, 1, 1, 1), (5, 144, 48, 1, 1, 1), (5, 288, 96, 1, 1, 2),
    (5, 576, 96, 1, 1, 1), (5, 576, 96, 1, 1, 1),
)  # fmt: skip


def _configuration(table: tuple, width_mult: float, reduced_tail: bool, dilated: bool) -> list[InvertedResidualConfig]:
    """The blocks of a table; the last stage may be narrower, or dilated where it would stride."""
    found: list[InvertedResidualConfig] = []
    width = partial(_make_divisible, divisor=8)
    tail = max(i for i, row in enumerate(table) if row[-1] == 2)
    channels = width(16 * width_mult)
    for i, (kernel, inside, out, se, hs, stride) in enumerate(table):
        less = 2 if reduced_tail and i >= tail else 1
        if reduced_tail and i > tail:
            inside //= 2
        to = width(out // less * width_mult)
        found.append(
            InvertedResidualConfig(
                channels, kernel, width(inside * width_mult), to, bool(se), bool(hs), stride,
                2 if dilated and i >= tail else 1,
            )
        )  # fmt: skip
        channels = to
    return found


def _mobilenet(
    table: tuple, last: int, width_mult: float = 1.0, reduced_tail: bool = False, dilated: bool = False, **kwargs: Any
) -> MobileNetV3:
    blocks = _configuration(table, width_mult, reduced_tail, dilated)
    last_channel = _make_divisible(last // (2 if reduced_tail else 1) * width_mult, 8)
    return MobileNetV3(blocks, last_channel, **kwargs)


MobileNet_V3_Large_Weights, mobilenet_v3_large = build(
    "MobileNet_V3_Large", partial(_mobilenet, _LARGE, 1280), "MobileNetV3, the large one."
)
MobileNet_V3_Small_Weights, mobilenet_v3_small = build(
    "MobileNet_V3_Small", partial(_mobilenet, _SMALL, 1024), "MobileNetV3, the small one."
)
