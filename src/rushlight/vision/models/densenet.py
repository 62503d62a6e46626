"""DenseNet (Huang et al. 2016), with torchvision's names and weights."""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from re import compile as pattern
from typing import Any

from ... import nn
from ...core.tensor import Tensor
from ...operators.shape.join import cat
from ...utils.checkpoint import checkpoint
from ._build import build

__all__ = [
    "DenseNet", "DenseNet121_Weights", "DenseNet161_Weights", "DenseNet169_Weights",
    "DenseNet201_Weights", "densenet121", "densenet161", "densenet169", "densenet201",
]  # fmt: skip


class _DenseLayer(nn.Module):
    """Narrow by 1x1 to a few channels, filter by 3x3; what it is given is everything before it."""

    def __init__(
        self, num_input_features: int, growth_rate: int, bn_size: int, drop_rate: float, memory_efficient: bool = False
    ) -> None:
        super().__init__()
        inside = bn_size * growth_rate
        self.norm1 = nn.BatchNorm2d(num_input_features)
        self.relu1 = nn.ReLU(inplace=True)
        self.conv1 = nn.Conv2d(num_input_features, inside, kernel_size=1, stride=1, bias=False)
        self.norm2 = nn.BatchNorm2d(inside)
        self.relu2 = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(inside, growth_rate, kernel_size=3, stride=1, padding=1, bias=False)
        self.drop_rate = float(drop_rate)
        self.memory_efficient = memory_efficient

    def _narrowed(self, *inputs: Tensor) -> Tensor:
        return self.conv1(self.relu1(self.norm1(cat(inputs, 1))))

    def forward(self, input: Tensor | list[Tensor]) -> Tensor:
        before = [input] if isinstance(input, Tensor) else input
        if self.memory_efficient and any(t.requires_grad for t in before):
            narrow = checkpoint(self._narrowed, *before, use_reentrant=False)
        else:
            narrow = self._narrowed(*before)
        new = self.conv2(self.relu2(self.norm2(narrow)))
        if self.drop_rate > 0:
            new = nn.functional.dropout(new, p=self.drop_rate, training=self.training)
        return new


class _DenseBlock(nn.ModuleDict):
    """Layers each of which sees the results of all before it."""

    def __init__(
        self, num_layers: int, num_input_features: int, bn_size: int, growth_rate: int,
        drop_rate: float, memory_efficient: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        for i in range(num_layers):
            width = num_input_features + i * growth_rate
            layer = _DenseLayer(width, growth_rate, bn_size, drop_rate, memory_efficient)
            self.add_module(f"denselayer{i + 1}", layer)

    def forward(self, init_features: Tensor) -> Tensor:
        features = [init_features]
        for layer in self.values():
            features.append(layer(features))
        return cat(features, 1)


class _Transition(nn.Sequential):
    """Half the channels, half the size."""

    def __init__(self, num_input_features: int, num_output_features: int) -> None:
        super().__init__()
        self.norm = nn.BatchNorm2d(num_input_features)
        self.relu = nn.ReLU(inplace=True)
        self.conv = nn.Conv2d(num_input_features, num_output_features, kernel_size=1, bias=False)
        self.pool = nn.AvgPool2d(kernel_size=2, stride=2)


class DenseNet(nn.Module):
    """A stem, dense blocks with transitions between them, a classifier.

    Args:
        growth_rate: channels that each layer adds.
        block_config: layers in each dense block.
        num_init_features: channels of the stem.
        bn_size: channels inside a layer, as a multiple of `growth_rate`.
        drop_rate: the probability of dropout behind each layer.
        num_classes: of the result.
        memory_efficient: compute parts again in backward to save memory.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.DenseNet(num_classes=10)
        >>> net.classifier
        Linear(in_features=1024, out_features=10, bias=True)
    """

    def __init__(
        self, growth_rate: int = 32, block_config: tuple[int, ...] = (6, 12, 24, 16),
        num_init_features: int = 64, bn_size: int = 4, drop_rate: float = 0, num_classes: int = 1000,
        memory_efficient: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        stem = OrderedDict(
            conv0=nn.Conv2d(3, num_init_features, kernel_size=7, stride=2, padding=3, bias=False),
            norm0=nn.BatchNorm2d(num_init_features), relu0=nn.ReLU(inplace=True),
            pool0=nn.MaxPool2d(kernel_size=3, stride=2, padding=1),
        )  # fmt: skip
        self.features = nn.Sequential(stem)
        width = num_init_features
        for i, layers in enumerate(block_config, 1):
            block = _DenseBlock(layers, width, bn_size, growth_rate, drop_rate, memory_efficient)
            self.features.add_module(f"denseblock{i}", block)
            width += layers * growth_rate
            if i < len(block_config):
                self.features.add_module(f"transition{i}", _Transition(width, width // 2))
                width //= 2
        self.features.add_module("norm5", nn.BatchNorm2d(width))
        self.classifier = nn.Linear(width, num_classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.Linear):
                nn.init.constant_(m.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        found = nn.functional.relu(self.features(x), inplace=True)
        return self.classifier(nn.functional.adaptive_avg_pool2d(found, (1, 1)).flatten(1))

    # The published files say `norm.1` where the layers here are called `norm1`.
    _OLD = pattern(r"^(.*denselayer\d+\.(?:norm|relu|conv))\.([12])\.(.*)$")

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        for key in list(state_dict):
            old = self._OLD.match(key)
            if old:
                state_dict["".join(old.group(1, 2)) + "." + old.group(3)] = state_dict.pop(key)
        super()._load_from_state_dict(state_dict, prefix, *rest)


DenseNet121_Weights, densenet121 = build("DenseNet121", partial(DenseNet, 32, (6, 12, 24, 16), 64))
DenseNet161_Weights, densenet161 = build("DenseNet161", partial(DenseNet, 48, (6, 12, 36, 24), 96))
DenseNet169_Weights, densenet169 = build("DenseNet169", partial(DenseNet, 32, (6, 12, 32, 32), 64))
DenseNet201_Weights, densenet201 = build("DenseNet201", partial(DenseNet, 32, (6, 12, 48, 32), 64))
