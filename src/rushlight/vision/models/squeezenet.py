"""SqueezeNet (Iandola et al. 2016), with torchvision's names and weights."""

from __future__ import annotations

from functools import partial

from ... import nn
from ...core.tensor import Tensor
from ...operators.shape.join import cat
from ._build import build

__all__ = ["SqueezeNet", "SqueezeNet1_0_Weights", "SqueezeNet1_1_Weights", "squeezenet1_0", "squeezenet1_1"]


class Fire(nn.Module):
    """Narrow by 1x1, then widen by 1x1 and 3x3 side by side."""

    def __init__(self, inplanes: int, squeeze_planes: int, expand1x1_planes: int, expand3x3_planes: int) -> None:
        super().__init__()
        self.inplanes = inplanes
        self.squeeze = nn.Conv2d(inplanes, squeeze_planes, kernel_size=1)
        self.squeeze_activation = nn.ReLU(inplace=True)
        self.expand1x1 = nn.Conv2d(squeeze_planes, expand1x1_planes, kernel_size=1)
        self.expand1x1_activation = nn.ReLU(inplace=True)
        self.expand3x3 = nn.Conv2d(squeeze_planes, expand3x3_planes, kernel_size=3, padding=1)
        self.expand3x3_activation = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        x = self.squeeze_activation(self.squeeze(x))
        narrow = self.expand1x1_activation(self.expand1x1(x))
        return cat([narrow, self.expand3x3_activation(self.expand3x3(x))], 1)


def _pool() -> nn.Module:
    return nn.MaxPool2d(kernel_size=3, stride=2, ceil_mode=True)


def _fires(*rows: tuple[int, int]) -> list[nn.Module]:
    return [Fire(inside, narrow, 4 * narrow, 4 * narrow) for inside, narrow in rows]


def _features(version: str) -> nn.Sequential:
    first = [(128, 32), (256, 32)]
    if version == "1_0":
        front: list[nn.Module] = [nn.Conv2d(3, 96, 7, stride=2), nn.ReLU(inplace=True), _pool()]
        front += [*_fires((96, 16), (128, 16), (128, 32)), _pool()]
        front += [*_fires((256, 32), (256, 48), (384, 48), (384, 64)), _pool(), *_fires((512, 64))]
    elif version == "1_1":
        front = [nn.Conv2d(3, 64, 3, stride=2), nn.ReLU(inplace=True), _pool()]
        front += [*_fires((64, 16), (128, 16)), _pool(), *_fires(*first), _pool()]
        front += _fires((256, 48), (384, 48), (384, 64), (512, 64))
    else:
        raise ValueError(f"Unsupported SqueezeNet version {version}: 1_0 or 1_1 expected")
    return nn.Sequential(*front)


class SqueezeNet(nn.Module):
    """Fire modules, then a convolution that gives the classes.

    Args:
        version: "1_0" or "1_1".
        num_classes: of the result.
        dropout: the probability in front of the last layer.

    Raises:
        ValueError: if the version is not known.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.SqueezeNet(num_classes=10)
        >>> net.classifier[1]
        Conv2d(512, 10, kernel_size=(1, 1), stride=(1, 1))
    """

    def __init__(self, version: str = "1_0", num_classes: int = 1000, dropout: float = 0.5) -> None:
        super().__init__()
        self.num_classes = num_classes
        self.features = _features(version)
        final = nn.Conv2d(512, num_classes, kernel_size=1)
        self.classifier = nn.Sequential(
            nn.Dropout(p=dropout), final, nn.ReLU(inplace=True), nn.AdaptiveAvgPool2d((1, 1))
        )
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                if m is final:
                    nn.init.normal_(m.weight, mean=0.0, std=0.01)
                else:
                    nn.init.kaiming_uniform_(m.weight)
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x)).flatten(1)


SqueezeNet1_0_Weights, squeezenet1_0 = build("SqueezeNet1_0", partial(SqueezeNet, "1_0"), "SqueezeNet 1.0.")
SqueezeNet1_1_Weights, squeezenet1_1 = build(
    "SqueezeNet1_1", partial(SqueezeNet, "1_1"), "SqueezeNet 1.1: as good, and 2.4 times quicker."
)
