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
from ._build import build, weights
from ._utils import _make_divisible
from ._weights import imagenet

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

    def __init__(
        self, width_in: int, width_out: int, norm_layer: _Layer, activation_layer: _Layer
    ) -> None:
        super().__init__(
            width_in, width_out, kernel_size=3, stride=2, norm_layer=norm_layer, activation_layer=activation_layer
        )  # fmt: skip


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
            )  # fmt: skip
        self.f = BottleneckTransform(
            width_in, width_out, stride, norm_layer, activation_layer, group_width, bottleneck_multiplier, se_ratio
        )  # fmt: skip
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
        inside = [
            _make_divisible(round(w * bottleneck_multiplier), g) for w, g in zip(widths, groups)
        ]
        widths = [round(w / bottleneck_multiplier) for w in inside]
        n = len(widths)
        return cls(depths, widths, groups, [bottleneck_multiplier] * n, [2] * n, se_ratio)

    def stages(self) -> Iterator[tuple[int, int, int, int, float]]:
        """(width, stride, depth, width of a group, bottleneck) of every stage."""
        return zip(
            self.widths, self.strides, self.depths, self.group_widths, self.bottleneck_multipliers
        )


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
        >>> from rushlight.vision import models
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


def _regnet(
    depth: int, w_0: int, w_a: float, w_m: float, group: int, se: float | None = None, **kwargs: Any
) -> RegNet:
    params = BlockParams.from_init_params(depth, w_0, w_a, w_m, group, se_ratio=se)
    norm = kwargs.pop("norm_layer", partial(nn.BatchNorm2d, eps=1e-05, momentum=0.1))
    return RegNet(params, norm_layer=norm, **kwargs)


RegNet_Y_400MF_Weights = weights(
    "RegNet_Y_400MF_Weights",
    IMAGENET1K_V1=imagenet("regnet_y_400mf-c65dace8.pth", 4344144, 74.046),
    IMAGENET1K_V2=imagenet("regnet_y_400mf-e6988f5f.pth", 4344144, 75.804, resize_size=232),
)  # fmt: skip
RegNet_Y_800MF_Weights = weights(
    "RegNet_Y_800MF_Weights",
    IMAGENET1K_V1=imagenet("regnet_y_800mf-1b27b58c.pth", 6432512, 76.42),
    IMAGENET1K_V2=imagenet("regnet_y_800mf-58fc7688.pth", 6432512, 78.828, resize_size=232),
)  # fmt: skip
RegNet_Y_1_6GF_Weights = weights(
    "RegNet_Y_1_6GF_Weights",
    IMAGENET1K_V1=imagenet("regnet_y_1_6gf-b11a554e.pth", 11202430, 77.95),
    IMAGENET1K_V2=imagenet("regnet_y_1_6gf-0d7bc02a.pth", 11202430, 80.876, resize_size=232),
)  # fmt: skip
RegNet_Y_3_2GF_Weights = weights(
    "RegNet_Y_3_2GF_Weights",
    IMAGENET1K_V1=imagenet("regnet_y_3_2gf-b5a9779c.pth", 19436338, 78.948),
    IMAGENET1K_V2=imagenet("regnet_y_3_2gf-9180c971.pth", 19436338, 81.982, resize_size=232),
)  # fmt: skip
RegNet_Y_8GF_Weights = weights(
    "RegNet_Y_8GF_Weights",
    IMAGENET1K_V1=imagenet("regnet_y_8gf-d0d0e4a8.pth", 39381472, 80.032),
    IMAGENET1K_V2=imagenet("regnet_y_8gf-dc2b1b54.pth", 39381472, 82.828, resize_size=232),
)  # fmt: skip
RegNet_Y_16GF_Weights = weights(
    "RegNet_Y_16GF_Weights", default="IMAGENET1K_V2",
    IMAGENET1K_V1=imagenet("regnet_y_16gf-9e6ed7dd.pth", 83590140, 80.424),
    IMAGENET1K_V2=imagenet("regnet_y_16gf-3e4a00f9.pth", 83590140, 82.886, resize_size=232),
    IMAGENET1K_SWAG_E2E_V1=imagenet("regnet_y_16gf_swag-43afe44d.pth", 83590140, 86.012, resize_size=384, crop_size=384, interpolation=_CUBIC),
    IMAGENET1K_SWAG_LINEAR_V1=imagenet("regnet_y_16gf_lc_swag-f3ec0043.pth", 83590140, 83.976, resize_size=224, interpolation=_CUBIC),
)  # fmt: skip
RegNet_Y_32GF_Weights = weights(
    "RegNet_Y_32GF_Weights", default="IMAGENET1K_V2",
    IMAGENET1K_V1=imagenet("regnet_y_32gf-4dee3f7a.pth", 145046770, 80.878),
    IMAGENET1K_V2=imagenet("regnet_y_32gf-8db6d4b5.pth", 145046770, 83.368, resize_size=232),
    IMAGENET1K_SWAG_E2E_V1=imagenet("regnet_y_32gf_swag-04fdfa75.pth", 145046770, 86.838, resize_size=384, crop_size=384, interpolation=_CUBIC),
    IMAGENET1K_SWAG_LINEAR_V1=imagenet("regnet_y_32gf_lc_swag-e1583746.pth", 145046770, 84.622, resize_size=224, interpolation=_CUBIC),
)  # fmt: skip
RegNet_Y_128GF_Weights = weights(
    "RegNet_Y_128GF_Weights", default="IMAGENET1K_SWAG_E2E_V1",
    IMAGENET1K_SWAG_E2E_V1=imagenet("regnet_y_128gf_swag-c8ce3e52.pth", 644812894, 88.228, resize_size=384, crop_size=384, interpolation=_CUBIC),
    IMAGENET1K_SWAG_LINEAR_V1=imagenet("regnet_y_128gf_lc_swag-cbe8ce12.pth", 644812894, 86.068, resize_size=224, interpolation=_CUBIC),
)  # fmt: skip
RegNet_X_400MF_Weights = weights(
    "RegNet_X_400MF_Weights",
    IMAGENET1K_V1=imagenet("regnet_x_400mf-adf1edd5.pth", 5495976, 72.834),
    IMAGENET1K_V2=imagenet("regnet_x_400mf-62229a5f.pth", 5495976, 74.864, resize_size=232),
)  # fmt: skip
RegNet_X_800MF_Weights = weights(
    "RegNet_X_800MF_Weights",
    IMAGENET1K_V1=imagenet("regnet_x_800mf-ad17e45c.pth", 7259656, 75.212),
    IMAGENET1K_V2=imagenet("regnet_x_800mf-94a99ebd.pth", 7259656, 77.522, resize_size=232),
)  # fmt: skip
RegNet_X_1_6GF_Weights = weights(
    "RegNet_X_1_6GF_Weights",
    IMAGENET1K_V1=imagenet("regnet_x_1_6gf-e3633e7f.pth", 9190136, 77.04),
    IMAGENET1K_V2=imagenet("regnet_x_1_6gf-a12f2b72.pth", 9190136, 79.668, resize_size=232),
)  # fmt: skip
RegNet_X_3_2GF_Weights = weights(
    "RegNet_X_3_2GF_Weights",
    IMAGENET1K_V1=imagenet("regnet_x_3_2gf-f342aeae.pth", 15296552, 78.364),
    IMAGENET1K_V2=imagenet("regnet_x_3_2gf-7071aa85.pth", 15296552, 81.196, resize_size=232),
)  # fmt: skip
RegNet_X_8GF_Weights = weights(
    "RegNet_X_8GF_Weights",
    IMAGENET1K_V1=imagenet("regnet_x_8gf-03ceed89.pth", 39572648, 79.344),
    IMAGENET1K_V2=imagenet("regnet_x_8gf-2b70d774.pth", 39572648, 81.682, resize_size=232),
)  # fmt: skip
RegNet_X_16GF_Weights = weights(
    "RegNet_X_16GF_Weights",
    IMAGENET1K_V1=imagenet("regnet_x_16gf-2007eb11.pth", 54278536, 80.058),
    IMAGENET1K_V2=imagenet("regnet_x_16gf-ba3796d7.pth", 54278536, 82.716, resize_size=232),
)  # fmt: skip
RegNet_X_32GF_Weights = weights(
    "RegNet_X_32GF_Weights",
    IMAGENET1K_V1=imagenet("regnet_x_32gf-9d47f8d0.pth", 107811560, 80.622),
    IMAGENET1K_V2=imagenet("regnet_x_32gf-6eb8fdc6.pth", 107811560, 83.014, resize_size=232),
)  # fmt: skip

regnet_y_400mf = build("regnet_y_400mf", RegNet_Y_400MF_Weights, partial(_regnet, 16, 48, 27.89, 2.09, 8, 0.25), "The network of that name: regnet y 400mf.")  # fmt: skip
regnet_y_800mf = build("regnet_y_800mf", RegNet_Y_800MF_Weights, partial(_regnet, 14, 56, 38.84, 2.4, 16, 0.25), "The network of that name: regnet y 800mf.")  # fmt: skip
regnet_y_1_6gf = build("regnet_y_1_6gf", RegNet_Y_1_6GF_Weights, partial(_regnet, 27, 48, 20.71, 2.65, 24, 0.25), "The network of that name: regnet y 1 6gf.")  # fmt: skip
regnet_y_3_2gf = build("regnet_y_3_2gf", RegNet_Y_3_2GF_Weights, partial(_regnet, 21, 80, 42.63, 2.66, 24, 0.25), "The network of that name: regnet y 3 2gf.")  # fmt: skip
regnet_y_8gf = build("regnet_y_8gf", RegNet_Y_8GF_Weights, partial(_regnet, 17, 192, 76.82, 2.19, 56, 0.25), "The network of that name: regnet y 8gf.")  # fmt: skip
regnet_y_16gf = build("regnet_y_16gf", RegNet_Y_16GF_Weights, partial(_regnet, 18, 200, 106.23, 2.48, 112, 0.25), "The network of that name: regnet y 16gf.")  # fmt: skip
regnet_y_32gf = build("regnet_y_32gf", RegNet_Y_32GF_Weights, partial(_regnet, 20, 232, 115.89, 2.53, 232, 0.25), "The network of that name: regnet y 32gf.")  # fmt: skip
regnet_y_128gf = build("regnet_y_128gf", RegNet_Y_128GF_Weights, partial(_regnet, 27, 456, 160.83, 2.52, 264, 0.25), "The network of that name: regnet y 128gf.")  # fmt: skip
regnet_x_400mf = build("regnet_x_400mf", RegNet_X_400MF_Weights, partial(_regnet, 22, 24, 24.48, 2.54, 16), "The network of that name: regnet x 400mf.")  # fmt: skip
regnet_x_800mf = build("regnet_x_800mf", RegNet_X_800MF_Weights, partial(_regnet, 16, 56, 35.73, 2.28, 16), "The network of that name: regnet x 800mf.")  # fmt: skip
regnet_x_1_6gf = build("regnet_x_1_6gf", RegNet_X_1_6GF_Weights, partial(_regnet, 18, 80, 34.01, 2.25, 24), "The network of that name: regnet x 1 6gf.")  # fmt: skip
regnet_x_3_2gf = build("regnet_x_3_2gf", RegNet_X_3_2GF_Weights, partial(_regnet, 25, 88, 26.31, 2.25, 48), "The network of that name: regnet x 3 2gf.")  # fmt: skip
regnet_x_8gf = build("regnet_x_8gf", RegNet_X_8GF_Weights, partial(_regnet, 23, 80, 49.56, 2.88, 120), "The network of that name: regnet x 8gf.")  # fmt: skip
regnet_x_16gf = build("regnet_x_16gf", RegNet_X_16GF_Weights, partial(_regnet, 22, 216, 55.59, 2.1, 128), "The network of that name: regnet x 16gf.")  # fmt: skip
regnet_x_32gf = build("regnet_x_32gf", RegNet_X_32GF_Weights, partial(_regnet, 23, 320, 69.86, 2.0, 168), "The network of that name: regnet x 32gf.")  # fmt: skip
