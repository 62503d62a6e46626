"""LeNet and MLP: networks for small pictures, which torchvision does not have."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from ... import nn
from ...core.tensor import Tensor
from ...nn import functional as F
from ._api import register_model

__all__ = ["MLP", "LeNet", "lenet", "mlp"]


class LeNet(nn.Module):
    """The network of PyTorch's CIFAR-10 lab: two convolutions of 5x5 and three linear layers.

    `size` is the height and width of the pictures, `width` multiplies the channels.

    Args:
        num_classes: of the result.
        in_channels: of the pictures.
        size: their height and width, at least 16.
        width: a factor on the channels.

    Raises:
        ValueError: if the pictures are too small.

    Example:
        >>> models.LeNet()(torch.ones(1, 3, 32, 32)).shape
        torch.Size([1, 10])
    """

    def __init__(self, num_classes: int = 10, in_channels: int = 3, size: int = 32, width: int = 1) -> None:
        super().__init__()
        side = ((size - 4) // 2 - 4) // 2
        if side < 1:
            raise ValueError(f"LeNet needs pictures of 16x16 or more, but got {size}x{size}")
        self.conv1 = nn.Conv2d(in_channels, 6 * width, 5)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(6 * width, 16 * width, 5)
        self.fc1 = nn.Linear(16 * width * side * side, 120 * width)
        self.fc2 = nn.Linear(120 * width, 84 * width)
        self.fc3 = nn.Linear(84 * width, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        x = F.relu(self.fc1(x.flatten(1)))
        return self.fc3(F.relu(self.fc2(x)))


class MLP(nn.Sequential):
    """Linear layers of the given sizes with ReLUs between them; pictures are flattened first.

    Args:
        in_features: numbers in a picture.
        hidden: sizes of the layers between.
        num_classes: of the result.

    Example:
        >>> models.MLP()(torch.ones(5, 1, 28, 28)).shape
        torch.Size([5, 10])
    """

    def __init__(self, in_features: int = 784, hidden: Sequence[int] = (256, 128), num_classes: int = 10) -> None:
        sizes = [in_features, *hidden]
        layers: list[nn.Module] = [nn.Flatten()]
        for a, b in pairwise(sizes):
            layers += [nn.Linear(a, b), nn.ReLU()]
        super().__init__(*layers, nn.Linear(sizes[-1], num_classes))


@register_model()
def lenet(**kwargs: int) -> LeNet:
    """The network of the CIFAR-10 lab.

    Args:
        kwargs: arguments of `LeNet`.

    Example:
        >>> models.lenet(size=28, in_channels=1)(torch.ones(5, 1, 28, 28)).shape
        torch.Size([5, 10])
    """
    return LeNet(**kwargs)


@register_model()
def mlp(in_features: int = 784, hidden: Sequence[int] = (256, 128), num_classes: int = 10) -> MLP:
    """Linear layers with ReLUs between them.

    Args:
        in_features: numbers in a picture.
        hidden: sizes of the layers between.
        num_classes: of the result.

    Example:
        >>> models.mlp()(torch.ones(5, 1, 28, 28)).shape
        torch.Size([5, 10])
    """
    return MLP(in_features, hidden, num_classes)
