"""GoogLeNet (Szegedy et al. 2014), with torchvision's names and weights."""

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

__all__ = ["GoogLeNet", "GoogLeNetOutputs", "GoogLeNet_Weights", "googlenet"]


GoogLeNetOutputs = namedtuple("GoogLeNetOutputs", ["logits", "aux_logits2", "aux_logits1"])
GoogLeNetOutputs.__annotations__ = {"logits": Tensor, "aux_logits2": "Tensor | None", "aux_logits1": "Tensor | None"}
GoogLeNetOutputs.__doc__ = """What `GoogLeNet` returns while training: the result, and those of the two classifiers halfway.

Example:
    >>> models.GoogLeNetOutputs(torch.ones(1), None, None).logits
    tensor([1.])
"""


class Inception(nn.Module):
    """Four ways through: 1x1, 3x3, 3x3 again (5x5 in the paper), and a pool; side by side."""

    def __init__(
        self, in_channels: int, ch1x1: int, ch3x3red: int, ch3x3: int, ch5x5red: int, ch5x5: int, pool_proj: int,
        conv_block: Callable[..., nn.Module] = BasicConv2d,
    ) -> None:  # fmt: skip
        super().__init__()
        conv = conv_block
        self.branch1 = conv(in_channels, ch1x1, kernel_size=1)
        self.branch2 = nn.Sequential(
            conv(in_channels, ch3x3red, kernel_size=1), conv(ch3x3red, ch3x3, kernel_size=3, padding=1)
        )
        self.branch3 = nn.Sequential(
            conv(in_channels, ch5x5red, kernel_size=1), conv(ch5x5red, ch5x5, kernel_size=3, padding=1)
        )
        self.branch4 = nn.Sequential(
            nn.MaxPool2d(kernel_size=3, stride=1, padding=1, ceil_mode=True),
            conv(in_channels, pool_proj, kernel_size=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return cat([self.branch1(x), self.branch2(x), self.branch3(x), self.branch4(x)], 1)


class InceptionAux(nn.Module):
    """A small classifier halfway, which helps to train what lies before it."""

    def __init__(
        self, in_channels: int, num_classes: int, conv_block: Callable[..., nn.Module] = BasicConv2d,
        dropout: float = 0.7,
    ) -> None:  # fmt: skip
        super().__init__()
        self.conv = conv_block(in_channels, 128, kernel_size=1)
        self.fc1 = nn.Linear(2048, 1024)
        self.fc2 = nn.Linear(1024, num_classes)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(nn.functional.adaptive_avg_pool2d(x, (4, 4))).flatten(1)
        return self.fc2(self.dropout(nn.functional.relu(self.fc1(x), inplace=True)))


# of each inception: channels in and those of its branches
_BRANCHES = {
    "3a": (192, 64, 96, 128, 16, 32, 32), "3b": (256, 128, 128, 192, 32, 96, 64), "4a": (480, 192, 96, 208, 16, 48, 64),
    "4b": (512, 160, 112, 224, 24, 64, 64), "4c": (512, 128, 128, 256, 24, 64, 64),
    "4d": (512, 112, 144, 288, 32, 64, 64), "4e": (528, 256, 160, 320, 32, 128, 128),
    "5a": (832, 256, 160, 320, 32, 128, 128), "5b": (832, 384, 192, 384, 48, 128, 128),
}  # fmt: skip


class GoogLeNet(nn.Module):
    """Nine inceptions; two classifiers halfway while training, unless `aux_logits=False`.

    Args:
        num_classes: of the result.
        aux_logits: have the two classifiers.
        transform_input: bring pictures from ImageNet's usual normalisation to [-1, 1].
        init_weights: draw the first weights as torchvision does; slow.
        blocks: the classes of convolutions, inceptions and classifiers.
        dropout: the probability in front of the last layer.
        dropout_aux: the same in the two classifiers.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.GoogLeNet(num_classes=10, init_weights=False)
        >>> net.fc
        Linear(in_features=1024, out_features=10, bias=True)
    """

    def __init__(
        self, num_classes: int = 1000, aux_logits: bool = True, transform_input: bool = False,
        init_weights: bool | None = None, blocks: list[Callable[..., nn.Module]] | None = None,
        dropout: float = 0.2, dropout_aux: float = 0.7,
    ) -> None:  # fmt: skip
        super().__init__()
        conv, inception, aux = blocks or [BasicConv2d, Inception, InceptionAux]
        self.aux_logits, self.transform_input = aux_logits, transform_input
        self.conv1 = conv(3, 64, kernel_size=7, stride=2, padding=3)
        self.maxpool1 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        self.conv2 = conv(64, 64, kernel_size=1)
        self.conv3 = conv(64, 192, kernel_size=3, padding=1)
        self.maxpool2 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
        for name, sizes in _BRANCHES.items():
            if name == "4a":
                self.maxpool3 = nn.MaxPool2d(3, stride=2, ceil_mode=True)
            if name == "5a":
                self.maxpool4 = nn.MaxPool2d(2, stride=2, ceil_mode=True)
            setattr(self, f"inception{name}", inception(*sizes))
        self.aux1 = aux(512, num_classes, dropout=dropout_aux) if aux_logits else None
        self.aux2 = aux(528, num_classes, dropout=dropout_aux) if aux_logits else None
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.dropout = nn.Dropout(p=dropout)
        self.fc = nn.Linear(1024, num_classes)
        initialise(self, init_weights, lambda layer: 0.01, "GoogleNet")

    def forward(self, x: Tensor) -> Any:
        x = as_trained(x) if self.transform_input else x
        x = self.maxpool2(self.conv3(self.conv2(self.maxpool1(self.conv1(x)))))
        halfway = []
        for name in _BRANCHES:
            if name == "4a":
                x = self.maxpool3(x)
            if name == "5a":
                x = self.maxpool4(x)
            x = getattr(self, f"inception{name}")(x)
            aux = {"4a": self.aux1, "4d": self.aux2}.get(name)
            if aux is not None and self.training:
                halfway.append(aux(x))
        x = self.fc(self.dropout(self.avgpool(x).flatten(1)))
        if self.training and self.aux_logits:
            return GoogLeNetOutputs(x, halfway[1], halfway[0])
        return x


def _adjust(kwargs: dict[str, Any], chosen: WeightsEnum | str | None) -> Any:
    return drop_aux(kwargs, ("aux1", "aux2"))


GoogLeNet_Weights, googlenet = build(
    "GoogLeNet", GoogLeNet, "GoogLeNet, also called Inception v1 (Szegedy et al. 2014).", _adjust,
    note="; torchvision warns where `init_weights` is missing", more=", init_weights=False",
)  # fmt: skip
