"""Inception v3 (Szegedy et al. 2015), with torchvision's names and weights."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from ... import nn
from ...core.tensor import Tensor
from ...operators.shape.join import cat
from ._api import WeightsEnum
from ._aux import BasicConv2d, as_trained, drop_aux, initialise
from ._build import build

__all__ = ["Inception3", "InceptionOutputs", "Inception_V3_Weights", "inception_v3"]


InceptionOutputs = namedtuple("InceptionOutputs", ["logits", "aux_logits"])
InceptionOutputs.__annotations__ = {"logits": Tensor, "aux_logits": "Tensor | None"}
InceptionOutputs.__doc__ = """What `Inception3` returns while training: the result, and that of the classifier halfway.

Example:
    >>> models.InceptionOutputs(torch.ones(1), None).logits
    tensor([1.])
"""
_pool = nn.functional.avg_pool2d


class InceptionA(nn.Module):
    """1x1; 5x5; 3x3 twice; pool."""

    def __init__(
        self, in_channels: int, pool_features: int, conv_block: Callable[..., nn.Module] = BasicConv2d
    ) -> None:
        super().__init__()
        conv = conv_block
        self.branch1x1 = conv(in_channels, 64, kernel_size=1)
        self.branch5x5_1 = conv(in_channels, 48, kernel_size=1)
        self.branch5x5_2 = conv(48, 64, kernel_size=5, padding=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, padding=1)
        self.branch_pool = conv(in_channels, pool_features, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        five = self.branch5x5_2(self.branch5x5_1(x))
        three = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        pooled = self.branch_pool(_pool(x, kernel_size=3, stride=1, padding=1))
        return cat([self.branch1x1(x), five, three, pooled], 1)


class InceptionB(nn.Module):
    """Half the size: 3x3; 3x3 twice; pool."""

    def __init__(self, in_channels: int, conv_block: Callable[..., nn.Module] = BasicConv2d) -> None:
        super().__init__()
        conv = conv_block
        self.branch3x3 = conv(in_channels, 384, kernel_size=3, stride=2)
        self.branch3x3dbl_1 = conv(in_channels, 64, kernel_size=1)
        self.branch3x3dbl_2 = conv(64, 96, kernel_size=3, padding=1)
        self.branch3x3dbl_3 = conv(96, 96, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        twice = self.branch3x3dbl_3(self.branch3x3dbl_2(self.branch3x3dbl_1(x)))
        return cat([self.branch3x3(x), twice, nn.functional.max_pool2d(x, 3, stride=2)], 1)


class InceptionC(nn.Module):
    """7x7 as 1x7 and 7x1, once and twice."""

    def __init__(self, in_channels: int, channels_7x7: int, conv_block: Callable[..., nn.Module] = BasicConv2d) -> None:
        super().__init__()
        conv, c = conv_block, channels_7x7
        wide: dict[str, Any] = {"kernel_size": (1, 7), "padding": (0, 3)}
        tall: dict[str, Any] = {"kernel_size": (7, 1), "padding": (3, 0)}
        self.branch1x1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7_1 = conv(in_channels, c, kernel_size=1)
        self.branch7x7_2 = conv(c, c, **wide)
        self.branch7x7_3 = conv(c, 192, **tall)
        self.branch7x7dbl_1 = conv(in_channels, c, kernel_size=1)
        self.branch7x7dbl_2 = conv(c, c, **tall)
        self.branch7x7dbl_3 = conv(c, c, **wide)
        self.branch7x7dbl_4 = conv(c, c, **tall)
        self.branch7x7dbl_5 = conv(c, 192, **wide)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        once = self.branch7x7_3(self.branch7x7_2(self.branch7x7_1(x)))
        twice = self.branch7x7dbl_3(self.branch7x7dbl_2(self.branch7x7dbl_1(x)))
        twice = self.branch7x7dbl_5(self.branch7x7dbl_4(twice))
        pooled = self.branch_pool(_pool(x, kernel_size=3, stride=1, padding=1))
        return cat([self.branch1x1(x), once, twice, pooled], 1)


class InceptionD(nn.Module):
    """Half the size again."""

    def __init__(self, in_channels: int, conv_block: Callable[..., nn.Module] = BasicConv2d) -> None:
        super().__init__()
        conv = conv_block
        self.branch3x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch3x3_2 = conv(192, 320, kernel_size=3, stride=2)
        self.branch7x7x3_1 = conv(in_channels, 192, kernel_size=1)
        self.branch7x7x3_2 = conv(192, 192, kernel_size=(1, 7), padding=(0, 3))
        self.branch7x7x3_3 = conv(192, 192, kernel_size=(7, 1), padding=(3, 0))
        self.branch7x7x3_4 = conv(192, 192, kernel_size=3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        three = self.branch3x3_2(self.branch3x3_1(x))
        seven = self.branch7x7x3_2(self.branch7x7x3_1(x))
        seven = self.branch7x7x3_4(self.branch7x7x3_3(seven))
        return cat([three, seven, nn.functional.max_pool2d(x, kernel_size=3, stride=2)], 1)


class InceptionE(nn.Module):
    """The widest: branches end in 1x3 and 3x1 side by side."""

    def __init__(self, in_channels: int, conv_block: Callable[..., nn.Module] = BasicConv2d) -> None:
        super().__init__()
        conv = conv_block
        wide: dict[str, Any] = {"kernel_size": (1, 3), "padding": (0, 1)}
        tall: dict[str, Any] = {"kernel_size": (3, 1), "padding": (1, 0)}
        self.branch1x1 = conv(in_channels, 320, kernel_size=1)
        self.branch3x3_1 = conv(in_channels, 384, kernel_size=1)
        self.branch3x3_2a = conv(384, 384, **wide)
        self.branch3x3_2b = conv(384, 384, **tall)
        self.branch3x3dbl_1 = conv(in_channels, 448, kernel_size=1)
        self.branch3x3dbl_2 = conv(448, 384, kernel_size=3, padding=1)
        self.branch3x3dbl_3a = conv(384, 384, **wide)
        self.branch3x3dbl_3b = conv(384, 384, **tall)
        self.branch_pool = conv(in_channels, 192, kernel_size=1)

    def forward(self, x: Tensor) -> Tensor:
        once = self.branch3x3_1(x)
        once = cat([self.branch3x3_2a(once), self.branch3x3_2b(once)], 1)
        twice = self.branch3x3dbl_2(self.branch3x3dbl_1(x))
        twice = cat([self.branch3x3dbl_3a(twice), self.branch3x3dbl_3b(twice)], 1)
        pooled = self.branch_pool(_pool(x, kernel_size=3, stride=1, padding=1))
        return cat([self.branch1x1(x), once, twice, pooled], 1)


class InceptionAux(nn.Module):
    """A small classifier halfway."""

    def __init__(self, in_channels: int, num_classes: int, conv_block: Callable[..., nn.Module] = BasicConv2d) -> None:
        super().__init__()
        self.conv0 = conv_block(in_channels, 128, kernel_size=1)
        self.conv1 = conv_block(128, 768, kernel_size=5)
        self.conv1.stddev = 0.01
        self.fc = nn.Linear(768, num_classes)
        self.fc.stddev = 0.001

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv1(self.conv0(_pool(x, kernel_size=5, stride=3)))
        return self.fc(nn.functional.adaptive_avg_pool2d(x, (1, 1)).flatten(1))


_MIXED = ("5b", "5c", "5d", "6a", "6b", "6c", "6d", "6e")


class Inception3(nn.Module):
    """As `GoogLeNet`: the whole network; a classifier halfway while training, unless `aux_logits=False`.

    Args:
        inception_blocks: the classes of the parts.
    """

    def __init__(
        self, num_classes: int = 1000, aux_logits: bool = True, transform_input: bool = False,
        inception_blocks: list[Callable[..., nn.Module]] | None = None, init_weights: bool | None = None,
        dropout: float = 0.5,
    ) -> None:  # fmt: skip
        super().__init__()
        usual: list[Any] = [BasicConv2d, InceptionA, InceptionB, InceptionC, InceptionD, InceptionE, InceptionAux]
        conv, a, b, c, d, e, aux = inception_blocks or usual
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.Conv2d_1a_3x3 = conv(3, 32, kernel_size=3, stride=2)
        self.Conv2d_2a_3x3 = conv(32, 32, kernel_size=3)
        self.Conv2d_2b_3x3 = conv(32, 64, kernel_size=3, padding=1)
        self.maxpool1 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Conv2d_3b_1x1 = conv(64, 80, kernel_size=1)
        self.Conv2d_4a_3x3 = conv(80, 192, kernel_size=3)
        self.maxpool2 = nn.MaxPool2d(kernel_size=3, stride=2)
        self.Mixed_5b = a(192, pool_features=32)
        self.Mixed_5c = a(256, pool_features=64)
        self.Mixed_5d = a(288, pool_features=64)
        self.Mixed_6a = b(288)
        self.Mixed_6b = c(768, channels_7x7=128)
        self.Mixed_6c = c(768, channels_7x7=160)
        self.Mixed_6d = c(768, channels_7x7=160)
        self.Mixed_6e = c(768, channels_7x7=192)
        self.AuxLogits = aux(768, num_classes) if aux_logits else None
        self.Mixed_7a = d(768)
        self.Mixed_7b = e(1280)
        self.Mixed_7c = e(2048)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(2048, num_classes)
        initialise(self, init_weights, lambda layer: float(getattr(layer, "stddev", 0.1)), "inception_v3")

    def forward(self, x: Tensor) -> Any:
        x = as_trained(x) if self.transform_input else x
        x = self.maxpool1(self.Conv2d_2b_3x3(self.Conv2d_2a_3x3(self.Conv2d_1a_3x3(x))))
        x = self.maxpool2(self.Conv2d_4a_3x3(self.Conv2d_3b_1x1(x)))
        for name in _MIXED:
            x = getattr(self, f"Mixed_{name}")(x)
        halfway = self.AuxLogits(x) if self.AuxLogits is not None and self.training else None
        x = self.Mixed_7c(self.Mixed_7b(self.Mixed_7a(x)))
        x = self.fc(self.dropout(self.avgpool(x)).flatten(1))
        return InceptionOutputs(x, halfway) if self.training and self.aux_logits else x


def _adjust(kwargs: dict[str, Any], chosen: WeightsEnum | str | None) -> Any:
    return drop_aux(kwargs, ("AuxLogits",))


Inception_V3_Weights, inception_v3 = build(
    "Inception_V3", Inception3, "Inception v3 (Szegedy et al. 2015), for pictures of 299x299.", _adjust,
    note="; torchvision warns where `init_weights` is missing", more=", init_weights=False",
)  # fmt: skip
