"""ConvNeXt (Liu et al. 2022), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

from ... import nn
from ...core.tensor import Tensor
from ...operators.create.filled import ones
from ..ops.misc import Conv2dNormActivation, Permute
from ..ops.stochastic_depth import StochasticDepth
from ._build import build
from ._initial import drawn

__all__ = [
    "ConvNeXt", "ConvNeXt_Base_Weights", "ConvNeXt_Large_Weights", "ConvNeXt_Small_Weights",
    "ConvNeXt_Tiny_Weights", "convnext_base", "convnext_large", "convnext_small", "convnext_tiny",
]  # fmt: skip


class LayerNorm2d(nn.LayerNorm):
    """Layer normalisation over the channels of pictures."""

    def forward(self, x: Tensor) -> Tensor:
        x = x.permute(0, 2, 3, 1)
        x = nn.functional.layer_norm(x, self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class CNBlock(nn.Module):
    """7x7 for each channel, then two dense layers over the channels; what is added is scaled."""

    def __init__(
        self, dim: int, layer_scale: float, stochastic_depth_prob: float,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        norm = norm_layer or partial(nn.LayerNorm, eps=1e-6)
        self.block = nn.Sequential(
            nn.Conv2d(dim, dim, kernel_size=7, padding=3, groups=dim, bias=True), Permute([0, 2, 3, 1]), norm(dim),
            nn.Linear(dim, 4 * dim, bias=True), nn.GELU(), nn.Linear(4 * dim, dim, bias=True), Permute([0, 3, 1, 2]),
        )  # fmt: skip
        self.layer_scale = nn.Parameter(ones(dim, 1, 1) * layer_scale)
        self.stochastic_depth = StochasticDepth(stochastic_depth_prob, "row")

    def forward(self, input: Tensor) -> Tensor:
        return self.stochastic_depth(self.layer_scale * self.block(input)) + input


class CNBlockConfig(NamedTuple):
    """One stage: its channels, the next one's, its blocks."""

    input_channels: int
    out_channels: int | None
    num_layers: int


class ConvNeXt(nn.Module):
    """Patches, stages of blocks with halved sizes between them, a classifier.

    Args:
        block_setting: a `CNBlockConfig` for each stage.
        stochastic_depth_prob: how often the last block is left out while training.
        layer_scale: what each block's result is multiplied by at first.
        num_classes: of the result.
        block: the class of the blocks.
        norm_layer: makes a normalisation; batch norm if not given.
        kwargs: accepted and not needed.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.convnext_tiny()
        >>> type(net).__name__, len(net.features)
        ('ConvNeXt', 8)
    """

    def __init__(
        self, block_setting: Sequence[CNBlockConfig], stochastic_depth_prob: float = 0.0,
        layer_scale: float = 1e-6, num_classes: int = 1000, block: Callable[..., nn.Module] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__()
        if not block_setting:
            raise ValueError("The block_setting should not be empty")
        make, norm = block or CNBlock, norm_layer or partial(LayerNorm2d, eps=1e-6)
        first = block_setting[0].input_channels
        layers: list[nn.Module] = [
            Conv2dNormActivation(3, first, kernel_size=4, stride=4, padding=0, norm_layer=norm, activation_layer=None, bias=True)
        ]  # fmt: skip
        total, done = sum(c.num_layers for c in block_setting), 0
        for cnf in block_setting:
            stage = []
            for _ in range(cnf.num_layers):
                drop = stochastic_depth_prob * done / (total - 1.0)
                stage.append(make(cnf.input_channels, layer_scale, drop))
                done += 1
            layers.append(nn.Sequential(*stage))
            if cnf.out_channels is not None:
                half = nn.Conv2d(cnf.input_channels, cnf.out_channels, kernel_size=2, stride=2)
                layers.append(nn.Sequential(norm(cnf.input_channels), half))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        last = block_setting[-1].out_channels or block_setting[-1].input_channels
        self.classifier = nn.Sequential(norm(last), nn.Flatten(1), nn.Linear(last, num_classes))
        kinds = (nn.Conv2d, nn.Linear)
        drawn(self.modules(), partial(nn.init.trunc_normal_, std=0.02), kinds)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)))


def _convnext(widths: tuple[int, ...], depths: tuple[int, ...], **kwargs: Any) -> ConvNeXt:
    stages = [CNBlockConfig(w, out, d) for w, out, d in zip(widths, (*widths[1:], None), depths)]
    return ConvNeXt(stages, **kwargs)


ConvNeXt_Tiny_Weights, convnext_tiny = build(
    "ConvNeXt_Tiny", partial(_convnext, (96, 192, 384, 768), (3, 3, 9, 3), stochastic_depth_prob=0.1)
)
ConvNeXt_Small_Weights, convnext_small = build(
    "ConvNeXt_Small", partial(_convnext, (96, 192, 384, 768), (3, 3, 27, 3), stochastic_depth_prob=0.4)
)
ConvNeXt_Base_Weights, convnext_base = build(
    "ConvNeXt_Base", partial(_convnext, (128, 256, 512, 1024), (3, 3, 27, 3), stochastic_depth_prob=0.5)
)
ConvNeXt_Large_Weights, convnext_large = build(
    "ConvNeXt_Large", partial(_convnext, (192, 384, 768, 1536), (3, 3, 27, 3), stochastic_depth_prob=0.5)
)
