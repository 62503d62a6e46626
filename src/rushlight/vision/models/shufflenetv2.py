"""ShuffleNetV2 (Ma et al. 2018), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ... import nn
from ...core.tensor import Tensor
from ...operators.shape.join import cat
from ._build import build

if TYPE_CHECKING:
    from ...nn.modules.module import Module

__all__ = [
    "ShuffleNetV2", "ShuffleNet_V2_X0_5_Weights", "ShuffleNet_V2_X1_0_Weights",
    "ShuffleNet_V2_X1_5_Weights", "ShuffleNet_V2_X2_0_Weights", "shufflenet_v2_x0_5",
    "shufflenet_v2_x1_0", "shufflenet_v2_x1_5", "shufflenet_v2_x2_0",
]  # fmt: skip


def channel_shuffle(x: Tensor, groups: int) -> Tensor:
    """The channels of the groups in turn."""
    n, c, h, w = x.size()
    return x.view(n, groups, c // groups, h, w).transpose(1, 2).contiguous().view(n, c, h, w)


def _filtered(inp: int, out: int, stride: int, first: bool) -> list[nn.Module]:
    """1x1 (where there is a `first`), 3x3 for each channel, 1x1."""
    layers: list[nn.Module] = []
    if first:
        layers = [nn.Conv2d(inp, out, 1, 1, 0, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True)]
    inside = out if first else inp
    return [
        *layers,
        nn.Conv2d(inside, inside, 3, stride, 1, bias=False, groups=inside), nn.BatchNorm2d(inside),
        nn.Conv2d(inside, out, 1, 1, 0, bias=False), nn.BatchNorm2d(out), nn.ReLU(inplace=True),
    ]  # fmt: skip


class InvertedResidual(nn.Module):
    """Half of the channels pass, half are filtered, then both are mixed."""

    def __init__(self, inp: int, oup: int, stride: int) -> None:
        super().__init__()
        if not 1 <= stride <= 3:
            raise ValueError("illegal stride value")
        self.stride = stride
        half = oup // 2
        if stride == 1 and inp != half << 1:
            raise ValueError(f"Invalid combination of stride {stride}, inp {inp} and oup {oup} values. "
                             "If stride == 1 then inp should be equal to oup // 2 << 1.")  # fmt: skip
        self.branch1 = nn.Sequential(*(_filtered(inp, half, stride, False) if stride > 1 else []))
        self.branch2 = nn.Sequential(*_filtered(inp if stride > 1 else half, half, stride, True))

    def forward(self, x: Tensor) -> Tensor:
        if self.stride == 1:
            passed, filtered = x.chunk(2, dim=1)
            return channel_shuffle(cat((passed, self.branch2(filtered)), 1), 2)
        return channel_shuffle(cat((self.branch1(x), self.branch2(x)), 1), 2)


class ShuffleNetV2(nn.Module):
    """A stem, three stages, a last 1x1 convolution and a linear layer.

    Args:
        stages_repeats: blocks in each of the three stages.
        stages_out_channels: of the stem, the stages and the last convolution.
        num_classes: of the result.
        inverted_residual: the class of the blocks.

    Raises:
        ValueError: if the lists are not three and five long.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.ShuffleNetV2([4, 8, 4], [24, 48, 96, 192, 1024])
        >>> net.fc
        Linear(in_features=1024, out_features=1000, bias=True)
    """

    def __init__(
        self, stages_repeats: list[int], stages_out_channels: list[int], num_classes: int = 1000,
        inverted_residual: Callable[..., Module] = InvertedResidual,
    ) -> None:  # fmt: skip
        super().__init__()
        if len(stages_repeats) != 3:
            raise ValueError("expected stages_repeats as list of 3 positive ints")
        if len(stages_out_channels) != 5:
            raise ValueError("expected stages_out_channels as list of 5 positive ints")
        first, *middle, last = stages_out_channels
        self.conv1 = nn.Sequential(
            nn.Conv2d(3, first, 3, 2, 1, bias=False), nn.BatchNorm2d(first), nn.ReLU(inplace=True)
        )
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
        width = first
        for i, (count, out) in enumerate(zip(stages_repeats, middle), 2):
            blocks = [inverted_residual(width, out, 2)]
            blocks += [inverted_residual(out, out, 1) for _ in range(count - 1)]
            setattr(self, f"stage{i}", nn.Sequential(*blocks))
            width = out
        self.conv5 = nn.Sequential(
            nn.Conv2d(width, last, 1, 1, 0, bias=False), nn.BatchNorm2d(last), nn.ReLU(inplace=True)
        )
        self.fc = nn.Linear(last, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(x.mean([2, 3]))


ShuffleNet_V2_X0_5_Weights, shufflenet_v2_x0_5 = build(
    "ShuffleNet_V2_X0_5", partial(ShuffleNetV2, [4, 8, 4], [24, 48, 96, 192, 1024])
)
ShuffleNet_V2_X1_0_Weights, shufflenet_v2_x1_0 = build(
    "ShuffleNet_V2_X1_0", partial(ShuffleNetV2, [4, 8, 4], [24, 116, 232, 464, 1024])
)
ShuffleNet_V2_X1_5_Weights, shufflenet_v2_x1_5 = build(
    "ShuffleNet_V2_X1_5", partial(ShuffleNetV2, [4, 8, 4], [24, 176, 352, 704, 1024])
)
ShuffleNet_V2_X2_0_Weights, shufflenet_v2_x2_0 = build(
    "ShuffleNet_V2_X2_0", partial(ShuffleNetV2, [4, 8, 4], [24, 244, 488, 976, 2048])
)
