"""VGG (Simonyan and Zisserman 2014), with torchvision's names and weights."""

from __future__ import annotations

from functools import partial
from typing import Any

from ... import nn
from ...core.tensor import Tensor
from ._api import WeightsEnum
from ._build import build

__all__ = [
    "VGG", "VGG11_BN_Weights", "VGG11_Weights", "VGG13_BN_Weights", "VGG13_Weights",
    "VGG16_BN_Weights", "VGG16_Weights", "VGG19_BN_Weights", "VGG19_Weights", "vgg11", "vgg11_bn",
    "vgg13", "vgg13_bn", "vgg16", "vgg16_bn", "vgg19", "vgg19_bn",
]  # fmt: skip


class VGG(nn.Module):
    """3x3 convolutions in `features`, three linear layers in `classifier`.

    Args:
        features: the convolutions; the result has 512 channels.
        num_classes: of the result.
        init_weights: draw the first weights as torchvision does.
        dropout: the probability in front of the last layer.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.VGG(nn.Conv2d(3, 512, 3), num_classes=10)
        >>> net.classifier[-1]
        Linear(in_features=4096, out_features=10, bias=True)
    """

    def __init__(
        self, features: nn.Module, num_classes: int = 1000, init_weights: bool = True, dropout: float = 0.5
    ) -> None:
        super().__init__()
        self.features = features
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(512 * 7 * 7, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, 4096),
            nn.ReLU(True),
            nn.Dropout(p=dropout),
            nn.Linear(4096, num_classes),
        )
        if init_weights:
            self._initialise()

    def _initialise(self) -> None:
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.BatchNorm2d):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
            elif isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, 0, 0.01)
                nn.init.constant_(m.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def make_layers(cfg: list[Any], batch_norm: bool = False) -> nn.Sequential:
    """Convolutions with these numbers of channels; "M" is a pooling."""
    layers: list[nn.Module] = []
    channels = 3
    for v in cfg:
        if v == "M":
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
            continue
        layers.append(nn.Conv2d(channels, v, kernel_size=3, padding=1))
        if batch_norm:
            layers.append(nn.BatchNorm2d(v))
        layers.append(nn.ReLU(inplace=True))
        channels = v
    return nn.Sequential(*layers)


def _stages(*repeats: int) -> list[Any]:
    row: list[Any] = []
    for channels, n in zip((64, 128, 256, 512, 512), repeats):
        row += [channels] * n + ["M"]
    return row


cfgs: dict[str, list[Any]] = {
    "A": _stages(1, 1, 2, 2, 2),
    "B": _stages(2, 2, 2, 2, 2),
    "D": _stages(2, 2, 3, 3, 3),
    "E": _stages(2, 2, 4, 4, 4),
}


def _vgg(cfg: str, batch_norm: bool = False, **kwargs: Any) -> VGG:
    return VGG(make_layers(cfgs[cfg], batch_norm), **kwargs)


def _given(kwargs: dict[str, Any], chosen: WeightsEnum) -> None:
    """Weights that are loaded need not be drawn."""
    kwargs["init_weights"] = False


VGG11_Weights, vgg11 = build("VGG11", partial(_vgg, "A"), "VGG-11.", _given)
VGG11_BN_Weights, vgg11_bn = build("VGG11_BN", partial(_vgg, "A", True), "VGG-11 with batch normalisation.", _given)
VGG13_Weights, vgg13 = build("VGG13", partial(_vgg, "B"), "VGG-13.", _given)
VGG13_BN_Weights, vgg13_bn = build("VGG13_BN", partial(_vgg, "B", True), "VGG-13 with batch normalisation.", _given)
VGG16_Weights, vgg16 = build("VGG16", partial(_vgg, "D"), "VGG-16.", _given)
VGG16_BN_Weights, vgg16_bn = build("VGG16_BN", partial(_vgg, "D", True), "VGG-16 with batch normalisation.", _given)
VGG19_Weights, vgg19 = build("VGG19", partial(_vgg, "E"), "VGG-19.", _given)
VGG19_BN_Weights, vgg19_bn = build("VGG19_BN", partial(_vgg, "E", True), "VGG-19 with batch normalisation.", _given)
