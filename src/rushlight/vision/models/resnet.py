"""ResNet (He et al. 2015, "Deep residual learning"), with torchvision's names and weights."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ... import nn
from ...core.tensor import Tensor
from ._api import register_model
from ._build import build

__all__ = [
    "ResNet", "ResNet18_Weights", "ResNet34_Weights", "ResNet50_Weights", "ResNet101_Weights",
    "ResNet152_Weights", "resnet18", "resnet18_cifar", "resnet18_small", "resnet34", "resnet34_cifar", "resnet50",
    "resnet50_cifar", "resnet101", "resnet152", "resnext50_32x4d", "resnext101_32x8d", "resnext101_64x4d",
    "wide_resnet50_2", "wide_resnet101_2", "ResNeXt50_32X4D_Weights", "ResNeXt101_32X8D_Weights",
    "ResNeXt101_64X4D_Weights", "Wide_ResNet50_2_Weights", "Wide_ResNet101_2_Weights",
]  # fmt: skip


def conv3x3(in_planes: int, out_planes: int, stride: int = 1, groups: int = 1, dilation: int = 1) -> nn.Conv2d:
    """A 3x3 convolution that keeps the size, but for its stride."""
    return nn.Conv2d(in_planes, out_planes, 3, stride, dilation, dilation=dilation, groups=groups, bias=False)


def conv1x1(in_planes: int, out_planes: int, stride: int = 1) -> nn.Conv2d:
    """A 1x1 convolution."""
    return nn.Conv2d(in_planes, out_planes, kernel_size=1, stride=stride, bias=False)


class BasicBlock(nn.Module):
    """Two 3x3 convolutions beside a shortcut."""

    expansion: int = 1

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        if groups != 1 or base_width != 64:
            raise ValueError("BasicBlock only supports groups=1 and base_width=64")
        if dilation > 1:
            raise NotImplementedError("Dilation > 1 not supported in BasicBlock")
        self.conv1 = conv3x3(inplanes, planes, stride)
        self.bn1 = norm(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = conv3x3(planes, planes)
        self.bn2 = norm(planes)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class Bottleneck(nn.Module):
    """1x1, 3x3 and 1x1 convolutions beside a shortcut; the stride is the 3x3's (ResNet V1.5)."""

    expansion: int = 4

    def __init__(
        self,
        inplanes: int,
        planes: int,
        stride: int = 1,
        downsample: nn.Module | None = None,
        groups: int = 1,
        base_width: int = 64,
        dilation: int = 1,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm = norm_layer or nn.BatchNorm2d
        width = int(planes * (base_width / 64.0)) * groups
        self.conv1 = conv1x1(inplanes, width)
        self.bn1 = norm(width)
        self.conv2 = conv3x3(width, width, stride, groups, dilation)
        self.bn2 = norm(width)
        self.conv3 = conv1x1(width, planes * self.expansion)
        self.bn3 = norm(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        out += x if self.downsample is None else self.downsample(x)
        return self.relu(out)


class ResNet(nn.Module):
    """A stem, four stages of residual blocks, an average and a linear layer.

    The last three arguments are ours: `stem="cifar"` begins with a 3x3 convolution and no pooling, for
    pictures of 32x32, `stem="half"` with one of stride 2, for 48x48 to 96x96; `width` is the number of
    channels of the first stage.

    Args:
        block: `BasicBlock` or `Bottleneck`.
        layers: blocks in each of the four stages.
        num_classes: of the result.
        zero_init_residual: let every block begin as the identity.
        groups, width_per_group: of the 3x3 convolutions: ResNeXt and wide networks.
        replace_stride_with_dilation: for the last three stages: keep the size and dilate.
        norm_layer: makes a normalisation; batch norm if not given.
        stem: "imagenet", "cifar" or "half".
        width: channels of the first stage.
        in_channels: of the pictures.

    Raises:
        ValueError: if an option is not allowed.

    Example:
        >>> from rushlight.vision.models.resnet import BasicBlock
        >>> net = models.ResNet(BasicBlock, [1, 1, 1, 1], 10, stem="cifar", width=8)
        >>> net(torch.ones(2, 3, 32, 32)).shape
        torch.Size([2, 10])
    """

    def __init__(
        self,
        block: type[BasicBlock | Bottleneck],
        layers: list[int],
        num_classes: int = 1000,
        zero_init_residual: bool = False,
        groups: int = 1,
        width_per_group: int = 64,
        replace_stride_with_dilation: list[bool] | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
        stem: str = "imagenet",
        width: int = 64,
        in_channels: int = 3,
    ) -> None:
        super().__init__()
        if stem not in ("imagenet", "cifar", "half"):
            raise ValueError(f"stem should be 'imagenet', 'cifar' or 'half', but got {stem!r}")
        dilate = replace_stride_with_dilation or [False, False, False]
        if len(dilate) != 3:
            raise ValueError(f"replace_stride_with_dilation should be None or a 3-element tuple, got {dilate}")
        self._norm_layer = norm_layer or nn.BatchNorm2d
        self.inplanes, self.dilation = width, 1
        self.groups, self.base_width = groups, width_per_group
        small = stem != "imagenet"
        stride = 1 if stem == "cifar" else 2
        self.conv1 = nn.Conv2d(in_channels, width, 3 if small else 7, stride, 1 if small else 3, bias=False)
        self.bn1 = self._norm_layer(width)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.Identity() if small else nn.MaxPool2d(3, stride=2, padding=1)
        self.layer1 = self._make_layer(block, width, layers[0])
        self.layer2 = self._make_layer(block, 2 * width, layers[1], 2, dilate[0])
        self.layer3 = self._make_layer(block, 4 * width, layers[2], 2, dilate[1])
        self.layer4 = self._make_layer(block, 8 * width, layers[3], 2, dilate[2])
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(8 * width * block.expansion, num_classes)
        self._initialise(zero_init_residual)

    def _initialise(self, zero_init_residual: bool) -> None:
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
                nn.init.constant_(m.weight, 1)
                nn.init.constant_(m.bias, 0)
        if not zero_init_residual:
            return
        for m in self.modules():  # every block begins as its shortcut (Goyal et al. 2017)
            if isinstance(m, Bottleneck) and m.bn3.weight is not None:
                nn.init.constant_(m.bn3.weight, 0)
            elif isinstance(m, BasicBlock) and m.bn2.weight is not None:
                nn.init.constant_(m.bn2.weight, 0)

    def _make_layer(
        self,
        block: type[BasicBlock] | type[Bottleneck],
        planes: int,
        blocks: int,
        stride: int = 1,
        dilate: bool = False,
    ) -> nn.Sequential:
        norm = self._norm_layer
        before = self.dilation
        if dilate:
            self.dilation *= stride
            stride = 1
        shortcut = None
        wide = planes * block.expansion
        if stride != 1 or self.inplanes != wide:
            shortcut = nn.Sequential(conv1x1(self.inplanes, wide, stride), norm(wide))
        shared = (self.groups, self.base_width)
        row = [block(self.inplanes, planes, stride, shortcut, *shared, before, norm)]
        self.inplanes = wide
        for _ in range(1, blocks):
            row.append(block(wide, planes, 1, None, *shared, self.dilation, norm))
        return nn.Sequential(*row)

    def forward(self, x: Tensor) -> Tensor:
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


ResNet18_Weights, resnet18 = build("ResNet18", partial(ResNet, BasicBlock, [2, 2, 2, 2]), "ResNet-18.")
ResNet34_Weights, resnet34 = build("ResNet34", partial(ResNet, BasicBlock, [3, 4, 6, 3]), "ResNet-34.")
ResNet50_Weights, resnet50 = build("ResNet50", partial(ResNet, Bottleneck, [3, 4, 6, 3]), "ResNet-50.")
ResNet101_Weights, resnet101 = build("ResNet101", partial(ResNet, Bottleneck, [3, 4, 23, 3]), "ResNet-101.")
ResNet152_Weights, resnet152 = build("ResNet152", partial(ResNet, Bottleneck, [3, 8, 36, 3]), "ResNet-152.")
ResNeXt50_32X4D_Weights, resnext50_32x4d = build(
    "ResNeXt50_32X4D", partial(ResNet, Bottleneck, [3, 4, 6, 3], groups=32, width_per_group=4),
    "ResNeXt-50 with 32 groups of 4 channels.",
)  # fmt: skip
ResNeXt101_32X8D_Weights, resnext101_32x8d = build(
    "ResNeXt101_32X8D", partial(ResNet, Bottleneck, [3, 4, 23, 3], groups=32, width_per_group=8),
    "ResNeXt-101 with 32 groups of 8 channels.",
)  # fmt: skip
ResNeXt101_64X4D_Weights, resnext101_64x4d = build(
    "ResNeXt101_64X4D", partial(ResNet, Bottleneck, [3, 4, 23, 3], groups=64, width_per_group=4),
    "ResNeXt-101 with 64 groups of 4 channels.",
)  # fmt: skip
Wide_ResNet50_2_Weights, wide_resnet50_2 = build(
    "Wide_ResNet50_2", partial(ResNet, Bottleneck, [3, 4, 6, 3], width_per_group=128),
    "ResNet-50 with twice the channels inside its blocks.",
)  # fmt: skip
Wide_ResNet101_2_Weights, wide_resnet101_2 = build(
    "Wide_ResNet101_2", partial(ResNet, Bottleneck, [3, 4, 23, 3], width_per_group=128),
    "ResNet-101 with twice the channels inside its blocks.",
)  # fmt: skip


def _for_cifar(
    name: str, block: type[BasicBlock | Bottleneck], layers: list[int], more: str = ""
) -> Callable[..., ResNet]:
    """The builder of a ResNet for pictures of 32x32."""

    def builder(num_classes: int = 10, **kwargs: Any) -> ResNet:
        return ResNet(block, layers, num_classes, stem="cifar", **kwargs)

    builder.__name__ = builder.__qualname__ = name
    builder.__doc__ = f"""ResNet-{name[6:8]} for pictures of 32x32{more}.

    Args:
        num_classes: of the result.
        kwargs: arguments of `ResNet`.

    Example:
        >>> with torch.device("meta"):
        ...     net = models.{name}()
        >>> net.conv1, net.fc
        (Conv2d(3, 64, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1), bias=False), Linear(in_features={512 * block.expansion}, out_features=10, bias=True))
    """
    return register_model(name)(builder)


resnet18_cifar = _for_cifar("resnet18_cifar", BasicBlock, [2, 2, 2, 2], ": a 3x3 stem without pooling")


@register_model()
def resnet18_small(num_classes: int = 1000, in_channels: int = 3) -> ResNet:
    """ResNet-18 of 24 channels with a 3x3 stem of stride 2: the network of the weights inside this package.

    Args:
        num_classes: of the result.
        in_channels: of the pictures.

    Example:
        >>> net = models.resnet18_small(num_classes=5)
        >>> net(torch.ones(1, 3, 64, 64)).shape
        torch.Size([1, 5])
    """
    return ResNet(BasicBlock, [2, 2, 2, 2], num_classes, stem="half", width=24, in_channels=in_channels)


resnet34_cifar = _for_cifar("resnet34_cifar", BasicBlock, [3, 4, 6, 3])
resnet50_cifar = _for_cifar("resnet50_cifar", Bottleneck, [3, 4, 6, 3])
