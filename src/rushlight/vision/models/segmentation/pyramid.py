"""A feature pyramid on a ResNet (Lin et al. 2017; Kirillov et al. 2019): fine maps for small pictures, cheap on a CPU."""

from __future__ import annotations

from typing import Any

from .... import nn
from ....core.tensor import Tensor
from ....nn.functional import interpolate, relu
from .. import resnet
from .._api import register_model
from ._utils import enlarged

__all__ = ["Pyramid", "pyramid"]


class _Decoder(nn.Module):
    """The maps of the four stages as one: the coarsest, enlarged and added to the next, and so on; then scores."""

    def __init__(self, widths: list[int], channels: int, num_classes: int) -> None:
        super().__init__()
        self.sides = nn.ModuleList([nn.Conv2d(w, channels, 1, bias=False) for w in widths])
        self.norms = nn.ModuleList([nn.BatchNorm2d(channels) for _ in widths])
        self.mix = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)
        self.score = nn.Conv2d(channels, num_classes, 1)

    def forward(self, maps: list[Tensor]) -> Tensor:
        x: Any = None
        for side, norm, one in reversed(list(zip(self.sides, self.norms, maps))):
            finer = norm(side(one))
            x = relu(finer if x is None else finer + interpolate(x, size=one.shape[-2:]))
        return self.score(relu(self.norm(self.mix(x))))


class Pyramid(nn.Module):
    """A ResNet's four stages, seen together: a score of every class at every pixel.

    Args:
        backbone: a ResNet; its last layer is left out.
        num_classes: of the result.
        channels: of the maps that are added up.

    Example:
        >>> from rushlight.vision.models.segmentation import Pyramid
        >>> Pyramid(models.resnet18_small(), 3)(torch.ones(1, 3, 64, 64)).shape
        torch.Size([1, 3, 64, 64])
    """

    def __init__(self, backbone: resnet.ResNet, num_classes: int, channels: int = 48) -> None:
        super().__init__()
        widths = without_head(backbone)
        self.backbone = backbone
        self.decoder = _Decoder(widths, channels, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        return enlarged(self.decoder(maps_of(self.backbone, x)), x.shape[-2:])


def without_head(backbone: resnet.ResNet) -> list[int]:
    """The channels of the four stages of a ResNet, whose last layer is taken away."""
    widths = [backbone.fc.in_features >> (3 - i) for i in range(4)]
    for name in ("avgpool", "fc"):
        setattr(backbone, name, nn.Identity())
    return widths


def maps_of(backbone: resnet.ResNet, x: Tensor) -> list[Tensor]:
    """What the four stages of a ResNet make of pictures."""
    b = backbone
    x = b.maxpool(b.relu(b.bn1(b.conv1(x))))
    maps = []
    for stage in (b.layer1, b.layer2, b.layer3, b.layer4):
        x = stage(x)
        maps.append(x)
    return maps


@register_model()
def pyramid(backbone: str = "resnet18_small", num_classes: int = 21, **kwargs: Any) -> Pyramid:
    """A feature pyramid on a ResNet without weights.

    Args:
        backbone: the name of a ResNet.
        num_classes: of the result.
        kwargs: arguments of that ResNet.

    Example:
        >>> from rushlight.vision.models.segmentation import pyramid
        >>> pyramid(num_classes=2)(torch.ones(1, 3, 32, 48)).shape
        torch.Size([1, 2, 32, 48])
    """
    return Pyramid(getattr(resnet, backbone)(**kwargs), num_classes)
