"""VGG (Simonyan and Zisserman 2014), with torchvision's names and weights."""

from __future__ import annotations

from typing import Any

from ... import nn
from ...core.tensor import Tensor
from ._api import WeightsEnum, register_model
from ._utils import _ovewrite_named_param, handle_legacy_interface
from ._weights import features_only, imagenet

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
        >>> from rushlight.vision import models
        >>> with torch.device("meta"):
        ...     net = models.VGG(nn.Conv2d(3, 512, 3), num_classes=10)
        >>> net.classifier[-1]
        Linear(in_features=4096, out_features=10, bias=True)
    """

    def __init__(
        self,
        features: nn.Module,
        num_classes: int = 1000,
        init_weights: bool = True,
        dropout: float = 0.5,
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


def _vgg(
    cfg: str, batch_norm: bool, weights: WeightsEnum | None, progress: bool, **kwargs: Any
) -> VGG:
    if weights is not None:
        kwargs["init_weights"] = False
        if weights.meta["categories"] is not None:
            _ovewrite_named_param(kwargs, "num_classes", len(weights.meta["categories"]))
    model = VGG(make_layers(cfgs[cfg], batch_norm), **kwargs)
    if weights is not None:
        model.load_state_dict(weights.get_state_dict(progress=progress, check_hash=True))
    return model


def _trained(file: str, num_params: int, acc1: float) -> Any:
    return imagenet(file, num_params, acc1, min_size=(32, 32))


class VGG11_Weights(WeightsEnum):
    IMAGENET1K_V1 = _trained("vgg11-8a719046.pth", 132863336, 69.020)
    DEFAULT = IMAGENET1K_V1


class VGG11_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = _trained("vgg11_bn-6002323d.pth", 132868840, 70.370)
    DEFAULT = IMAGENET1K_V1


class VGG13_Weights(WeightsEnum):
    IMAGENET1K_V1 = _trained("vgg13-19584684.pth", 133047848, 69.928)
    DEFAULT = IMAGENET1K_V1


class VGG13_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = _trained("vgg13_bn-abd245e5.pth", 133053736, 71.586)
    DEFAULT = IMAGENET1K_V1


class VGG16_Weights(WeightsEnum):
    IMAGENET1K_V1 = _trained("vgg16-397923af.pth", 138357544, 71.592)
    # The layers before the classifier only, from another training (Liu et al. 2016), for SSD.
    IMAGENET1K_FEATURES = features_only("vgg16_features-amdegroot-88682ab5.pth", 138357544)
    DEFAULT = IMAGENET1K_V1


class VGG16_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = _trained("vgg16_bn-6c64b313.pth", 138365992, 73.360)
    DEFAULT = IMAGENET1K_V1


class VGG19_Weights(WeightsEnum):
    IMAGENET1K_V1 = _trained("vgg19-dcbb9e9d.pth", 143667240, 72.376)
    DEFAULT = IMAGENET1K_V1


class VGG19_BN_Weights(WeightsEnum):
    IMAGENET1K_V1 = _trained("vgg19_bn-c79401a0.pth", 143678248, 74.218)
    DEFAULT = IMAGENET1K_V1


@register_model()
@handle_legacy_interface(weights=("pretrained", VGG11_Weights.IMAGENET1K_V1))
def vgg11(*, weights: WeightsEnum | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-11."""
    return _vgg("A", False, VGG11_Weights.verify(weights), progress, **kwargs)


@register_model()
@handle_legacy_interface(weights=("pretrained", VGG11_BN_Weights.IMAGENET1K_V1))
def vgg11_bn(
    *, weights: WeightsEnum | str | None = None, progress: bool = True, **kwargs: Any
) -> VGG:
    """VGG-11 with batch normalisation."""
    return _vgg("A", True, VGG11_BN_Weights.verify(weights), progress, **kwargs)


@register_model()
@handle_legacy_interface(weights=("pretrained", VGG13_Weights.IMAGENET1K_V1))
def vgg13(*, weights: WeightsEnum | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-13."""
    return _vgg("B", False, VGG13_Weights.verify(weights), progress, **kwargs)


@register_model()
@handle_legacy_interface(weights=("pretrained", VGG13_BN_Weights.IMAGENET1K_V1))
def vgg13_bn(
    *, weights: WeightsEnum | str | None = None, progress: bool = True, **kwargs: Any
) -> VGG:
    """VGG-13 with batch normalisation."""
    return _vgg("B", True, VGG13_BN_Weights.verify(weights), progress, **kwargs)


@register_model()
@handle_legacy_interface(weights=("pretrained", VGG16_Weights.IMAGENET1K_V1))
def vgg16(*, weights: WeightsEnum | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-16."""
    return _vgg("D", False, VGG16_Weights.verify(weights), progress, **kwargs)


@register_model()
@handle_legacy_interface(weights=("pretrained", VGG16_BN_Weights.IMAGENET1K_V1))
def vgg16_bn(
    *, weights: WeightsEnum | str | None = None, progress: bool = True, **kwargs: Any
) -> VGG:
    """VGG-16 with batch normalisation."""
    return _vgg("D", True, VGG16_BN_Weights.verify(weights), progress, **kwargs)


@register_model()
@handle_legacy_interface(weights=("pretrained", VGG19_Weights.IMAGENET1K_V1))
def vgg19(*, weights: WeightsEnum | str | None = None, progress: bool = True, **kwargs: Any) -> VGG:
    """VGG-19."""
    return _vgg("E", False, VGG19_Weights.verify(weights), progress, **kwargs)


@register_model()
@handle_legacy_interface(weights=("pretrained", VGG19_BN_Weights.IMAGENET1K_V1))
def vgg19_bn(
    *, weights: WeightsEnum | str | None = None, progress: bool = True, **kwargs: Any
) -> VGG:
    """VGG-19 with batch normalisation."""
    return _vgg("E", True, VGG19_BN_Weights.verify(weights), progress, **kwargs)
