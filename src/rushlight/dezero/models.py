"""Models: whole networks, from a multi-layer perceptron to the winners of ImageNet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import functions as F
from . import layers as L
from . import utils
from .layers import Layer

if TYPE_CHECKING:
    from ..vision._pillow import PILImage
    from .core import Operand


class Model(Layer):
    """A Layer that can draw itself.

    Example:
        >>> class Net(models.Model):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.l1, self.l2 = L.Linear(4), L.Linear(1)
        ...     def forward(self, x):
        ...         return self.l2(F.relu(self.l1(x)))
        >>> Net()(np.ones((5, 3), np.float32)).shape
        (5, 1)
    """

    def plot(self, *inputs: Operand, to_file: str = "model.png") -> Any:
        """Draw the graph of one call into a file."""
        return utils.plot_dot_graph(self.forward(*inputs), verbose=True, to_file=to_file)


class Sequential(Model):
    """Layers one after the other.

    Args:
        layers: Layers or functions.

    Example:
        >>> models.Sequential(L.Linear(4), F.relu, L.Linear(1))(np.ones((5, 3), np.float32)).shape
        (5, 1)
    """

    def __init__(self, *layers: Layer) -> None:
        super().__init__()
        self.layers: list[Any] = []
        for i, layer in enumerate(layers):
            setattr(self, f"l{i}", layer)
            self.layers.append(layer)

    def forward(self, x: Operand) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


class MLP(Model):
    """Linear layers of the given sizes with an activation between them.

    Args:
        fc_output_sizes: the size of each layer's results.
        activation: a function.

    Example:
        >>> models.MLP((10, 1))(np.ones((5, 3), np.float32)).shape
        (5, 1)
    """

    def __init__(self, fc_output_sizes: Sequence[int], activation: Callable[[Any], Any] = F.sigmoid) -> None:
        super().__init__()
        self.activation = activation
        self.layers: list[Any] = []
        for i, size in enumerate(fc_output_sizes):
            layer = L.Linear(size)
            setattr(self, f"l{i}", layer)
            self.layers.append(layer)

    def forward(self, x: Operand) -> Any:
        for layer in self.layers[:-1]:
            x = self.activation(layer(x))
        return self.layers[-1](x)


# -- VGG16 ----------------------------------------------------------------------------------------


class VGG16(Model):
    """Thirteen convolutions in five blocks and three linear layers (Simonyan, Zisserman 2014).

    Args:
        pretrained: download the weights that DeZero uses.

    Example:
        >>> net = models.VGG16()
        >>> net.conv1_1.out_channels, net.fc8.out_size
        (64, 1000)
    """

    WEIGHTS_PATH = "https://github.com/koki0702/dezero-models/releases/download/v0.1/vgg16.npz"
    _BLOCKS = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))

    def __init__(self, pretrained: bool = False) -> None:
        super().__init__()
        for block, (channels, count) in enumerate(self._BLOCKS, 1):
            for i in range(1, count + 1):
                setattr(self, f"conv{block}_{i}", L.Conv2d(channels, kernel_size=3, pad=1))
        self.fc6 = L.Linear(4096)
        self.fc7 = L.Linear(4096)
        self.fc8 = L.Linear(1000)
        if pretrained:
            self.load_weights(utils.get_file(self.WEIGHTS_PATH))

    def forward(self, x: Operand) -> Any:
        for block, (_, count) in enumerate(self._BLOCKS, 1):
            for i in range(1, count + 1):
                x = F.relu(getattr(self, f"conv{block}_{i}")(x))
            x = F.pooling(x, 2, 2)
        x = F.reshape(x, (x.shape[0], -1))
        x = F.dropout(F.relu(self.fc6(x)))
        x = F.dropout(F.relu(self.fc7(x)))
        return self.fc8(x)

    @staticmethod
    def preprocess(
        image: PILImage, size: tuple[int, int] = (224, 224), dtype: np.typing.DTypeLike = np.float32
    ) -> np.ndarray:
        """A PIL picture as the network was trained on: BGR, the mean taken off, channels first."""
        image = image.convert("RGB")
        if size:
            image = image.resize(size)
        a = np.asarray(image, dtype=dtype)[:, :, ::-1]
        a = a - np.array([103.939, 116.779, 123.68], dtype=dtype)
        return a.transpose(2, 0, 1)


# -- ResNet ---------------------------------------------------------------------------------------


class ResNet(Model):
    """Residual networks of 50, 101 or 152 layers (He et al. 2015).

    Args:
        n_layers: 50, 101 or 152.
        pretrained: download the weights that DeZero uses.

    Raises:
        ValueError: if `n_layers` is another number.

    Example:
        >>> net = models.ResNet(50)
        >>> net.fc6.out_size
        1000
    """

    WEIGHTS_PATH = "https://github.com/koki0702/dezero-models/releases/download/v0.1/resnet{}.npz"
    _DEPTHS = {50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}

    def __init__(self, n_layers: int = 152, pretrained: bool = False) -> None:
        super().__init__()
        if n_layers not in self._DEPTHS:
            raise ValueError(f"The n_layers argument should be 50, 101 or 152, but {n_layers} was given.")
        n2, n3, n4, n5 = self._DEPTHS[n_layers]
        self.conv1 = L.Conv2d(64, 7, 2, 3)
        self.bn1 = L.BatchNorm()
        self.res2 = BuildingBlock(n2, 64, 64, 256, 1)
        self.res3 = BuildingBlock(n3, 256, 128, 512, 2)
        self.res4 = BuildingBlock(n4, 512, 256, 1024, 2)
        self.res5 = BuildingBlock(n5, 1024, 512, 2048, 2)
        self.fc6 = L.Linear(1000)
        if pretrained:
            self.load_weights(utils.get_file(self.WEIGHTS_PATH.format(n_layers)))

    def forward(self, x: Operand) -> Any:
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.pooling(x, kernel_size=3, stride=2)
        for block in (self.res2, self.res3, self.res4, self.res5):
            x = block(x)
        return self.fc6(_global_average_pooling_2d(x))


class ResNet152(ResNet):
    """As `ResNet`, of 152 layers."""

    def __init__(self, pretrained: bool = False) -> None:
        super().__init__(152, pretrained)


class ResNet101(ResNet):
    """As `ResNet`, of 101 layers."""

    def __init__(self, pretrained: bool = False) -> None:
        super().__init__(101, pretrained)


class ResNet50(ResNet):
    """As `ResNet`, of 50 layers."""

    def __init__(self, pretrained: bool = False) -> None:
        super().__init__(50, pretrained)


def _global_average_pooling_2d(x: Operand) -> Any:
    n, c, h, w = x.shape
    return F.reshape(F.average_pooling(x, (h, w), stride=1), (n, c))


class BuildingBlock(Layer):
    """A bottleneck that changes the size, followed by ones that keep it.

    Args:
        n_layers: how many bottlenecks.
        in_channels, mid_channels, out_channels: of the input, between, and of the result.
        stride: of the first.
        downsample_fb: take the stride in the 3x3 convolution, as Facebook's networks do.

    Example:
        >>> models.BuildingBlock(2, 4, 2, 8, 1)(np.ones((1, 4, 8, 8), np.float32)).shape
        (1, 8, 8, 8)
    """

    def __init__(
        self,
        n_layers: Any = None,
        in_channels: Any = None,
        mid_channels: Any = None,
        out_channels: Any = None,
        stride: Any = None,
        downsample_fb: Any = None,
    ) -> None:
        super().__init__()
        self.a = BottleneckA(in_channels, mid_channels, out_channels, stride, downsample_fb)
        self._forward = ["a"]
        for i in range(1, n_layers):
            setattr(self, f"b{i}", BottleneckB(out_channels, mid_channels))
            self._forward.append(f"b{i}")

    def forward(self, x: Operand) -> Any:
        for name in self._forward:
            x = getattr(self, name)(x)
        return x


class BottleneckA(Layer):
    """1x1, 3x3 and 1x1 convolutions beside a 1x1 convolution that brings the input to size.

    Args:
        in_channels, mid_channels, out_channels: of the input, between, and of the result.
        stride: how much smaller the picture gets.
        downsample_fb: take the stride in the 3x3 convolution, as Facebook's networks do.

    Example:
        >>> models.BottleneckA(4, 2, 8)(np.ones((1, 4, 8, 8), np.float32)).shape
        (1, 8, 4, 4)
    """

    def __init__(
        self, in_channels: int, mid_channels: int, out_channels: int, stride: int = 2, downsample_fb: bool = False
    ) -> None:
        super().__init__()
        # Facebook's networks take the stride in the 3x3 convolution, the paper's in the first one.
        first, second = (1, stride) if downsample_fb else (stride, 1)
        self.conv1 = L.Conv2d(mid_channels, 1, first, 0, nobias=True)
        self.bn1 = L.BatchNorm()
        self.conv2 = L.Conv2d(mid_channels, 3, second, 1, nobias=True)
        self.bn2 = L.BatchNorm()
        self.conv3 = L.Conv2d(out_channels, 1, 1, 0, nobias=True)
        self.bn3 = L.BatchNorm()
        self.conv4 = L.Conv2d(out_channels, 1, stride, 0, nobias=True)
        self.bn4 = L.BatchNorm()

    def forward(self, x: Operand) -> Any:
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(h)))
        return F.relu(self.bn3(self.conv3(h)) + self.bn4(self.conv4(x)))


class BottleneckB(Layer):
    """1x1, 3x3 and 1x1 convolutions added to their input.

    Args:
        in_channels, mid_channels: of the input and the result, and between.

    Example:
        >>> models.BottleneckB(4, 2)(np.ones((1, 4, 8, 8), np.float32)).shape
        (1, 4, 8, 8)
    """

    def __init__(self, in_channels: int, mid_channels: int) -> None:
        super().__init__()
        self.conv1 = L.Conv2d(mid_channels, 1, 1, 0, nobias=True)
        self.bn1 = L.BatchNorm()
        self.conv2 = L.Conv2d(mid_channels, 3, 1, 1, nobias=True)
        self.bn2 = L.BatchNorm()
        self.conv3 = L.Conv2d(in_channels, 1, 1, 0, nobias=True)
        self.bn3 = L.BatchNorm()

    def forward(self, x: Operand) -> Any:
        h = F.relu(self.bn1(self.conv1(x)))
        h = F.relu(self.bn2(self.conv2(h)))
        return F.relu(self.bn3(self.conv3(h)) + x)


# -- SqueezeNet -----------------------------------------------------------------------------------


class Fire(Layer):
    """Few channels by a 1x1 convolution, then many by 1x1 and 3x3 convolutions side by side.

    Args:
        squeeze, expand: the few channels, and half of the many.

    Example:
        >>> models.Fire(2, 4)(np.ones((1, 3, 8, 8), np.float32)).shape
        (1, 8, 8, 8)
    """

    def __init__(self, squeeze: int, expand: int) -> None:
        super().__init__()
        self.squeeze = L.Conv2d(squeeze, 1)
        self.expand1 = L.Conv2d(expand, 1)
        self.expand3 = L.Conv2d(expand, 3, pad=1)

    def forward(self, x: Any) -> Any:
        h = F.relu(self.squeeze(x))
        return F.relu(F.concat([self.expand1(h), self.expand3(h)], axis=1))


class SqueezeNet(Model):
    """SqueezeNet 1.1: AlexNet's accuracy with a fiftieth of its weights (Iandola et al. 2016).

    Args:
        pretrained: not supported: nobody has published weights for DeZero.

    Raises:
        NotImplementedError: if `pretrained` is set.

    Example:
        >>> models.SqueezeNet().conv10.out_channels
        1000
    """

    _FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))
    _POOL_AFTER = (2, 4)

    def __init__(self, pretrained: bool = False) -> None:
        super().__init__()
        if pretrained:
            raise NotImplementedError("nobody has published SqueezeNet's weights for DeZero")
        self.conv1 = L.Conv2d(64, 3, 2)
        for i, (squeeze, expand) in enumerate(self._FIRES, 2):
            setattr(self, f"fire{i}", Fire(squeeze, expand))
        self.conv10 = L.Conv2d(1000, 1)

    def forward(self, x: Operand) -> Any:
        x = F.pooling(F.relu(self.conv1(x)), 3, 2)
        for i in range(1, len(self._FIRES) + 1):
            x = getattr(self, f"fire{i + 1}")(x)
            if i in self._POOL_AFTER:
                x = F.pooling(x, 3, 2)
        x = F.relu(self.conv10(F.dropout(x)))
        return _global_average_pooling_2d(x)
