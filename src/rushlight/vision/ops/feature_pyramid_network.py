"""Feature pyramids (Lin et al. 2017): the maps of a backbone, each joined with the coarser ones."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ... import nn
from ...core.tensor import Tensor
from ...nn import functional as F
from .misc import Conv2dNormActivation

__all__ = ["ExtraFPNBlock", "FeaturePyramidNetwork", "LastLevelMaxPool", "LastLevelP6P7"]


class ExtraFPNBlock(nn.Module):
    """What adds coarser maps to a pyramid; subclasses write `forward`.

    Example:
        >>> from rushlight.vision.ops.feature_pyramid_network import ExtraFPNBlock, LastLevelMaxPool
        >>> issubclass(LastLevelMaxPool, ExtraFPNBlock)
        True
    """

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        """The maps with more of them, and their names."""
        raise NotImplementedError


def initialise(modules: Any) -> None:
    """Uniform weights as in Caffe2, no bias."""
    for m in modules:
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_uniform_(m.weight, a=1)
            if m.bias is not None:
                nn.init.constant_(m.bias, 0)


class FeaturePyramidNetwork(nn.Module):
    """The maps of a backbone brought to the same number of channels, each joined with the coarser ones.

    Args:
        in_channels_list: channels of each map, the finest first.
        out_channels: channels of every map of the result.
        extra_blocks: adds coarser maps, such as `LastLevelMaxPool`.
        norm_layer: a normalisation after each convolution.

    Example:
        >>> pyramid = ops.FeaturePyramidNetwork([4, 8], 5)
        >>> maps = pyramid({"a": torch.zeros(1, 4, 8, 8), "b": torch.zeros(1, 8, 4, 4)})
        >>> [(name, tuple(x.shape)) for name, x in maps.items()]
        [('a', (1, 5, 8, 8)), ('b', (1, 5, 4, 4))]
    """

    def __init__(
        self,
        in_channels_list: list[int],
        out_channels: int,
        extra_blocks: ExtraFPNBlock | None = None,
        norm_layer: Callable[..., nn.Module] | None = None,
    ) -> None:
        super().__init__()
        options: dict[str, Any] = {"norm_layer": norm_layer, "activation_layer": None}
        self.inner_blocks = nn.ModuleList()
        self.layer_blocks = nn.ModuleList()
        for channels in in_channels_list:
            if channels == 0:
                raise ValueError("in_channels=0 is currently not supported")
            self.inner_blocks.append(Conv2dNormActivation(channels, out_channels, 1, padding=0, **options))
            self.layer_blocks.append(Conv2dNormActivation(out_channels, out_channels, 3, **options))
        initialise(self.modules())
        if extra_blocks is not None and not isinstance(extra_blocks, ExtraFPNBlock):
            raise TypeError(f"extra_blocks should be of type ExtraFPNBlock not {type(extra_blocks)}")
        self.extra_blocks = extra_blocks

    def forward(self, x: dict[str, Tensor]) -> OrderedDict[str, Tensor]:
        names, maps = list(x.keys()), list(x.values())
        above: Any = None
        results: list[Tensor] = []
        for i in reversed(range(len(maps))):
            inner = self.inner_blocks[i](maps[i])
            if above is not None:
                inner = inner + F.interpolate(above, size=inner.shape[-2:], mode="nearest")
            results.insert(0, self.layer_blocks[i](inner))
            above = inner
        if self.extra_blocks is not None:
            results, names = self.extra_blocks(results, maps, names)
        return OrderedDict(zip(names, results))


class LastLevelMaxPool(ExtraFPNBlock):
    """One more map: every second pixel of the coarsest.

    Example:
        >>> from rushlight.vision.ops.feature_pyramid_network import LastLevelMaxPool
        >>> maps, names = LastLevelMaxPool()([torch.zeros(1, 2, 4, 4)], [], ["0"])
        >>> names, maps[1].shape
        (['0', 'pool'], torch.Size([1, 2, 2, 2]))
    """

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        names.append("pool")
        results.append(F.max_pool2d(results[-1], kernel_size=1, stride=2, padding=0))
        return results, names


class LastLevelP6P7(ExtraFPNBlock):
    """Two more maps by convolutions, as RetinaNet has them.

    Args:
        in_channels: channels of the backbone's coarsest map; the pyramid's is used if they are equal
            to `out_channels`.
        out_channels: channels of the new maps.

    Example:
        >>> from rushlight.vision.ops.feature_pyramid_network import LastLevelP6P7
        >>> maps, names = LastLevelP6P7(4, 4)([torch.zeros(1, 4, 8, 8)], [torch.zeros(1, 4, 8, 8)], ["0"])
        >>> names, [tuple(m.shape[2:]) for m in maps]
        (['0', 'p6', 'p7'], [(8, 8), (4, 4), (2, 2)])
    """

    def __init__(self, in_channels: int, out_channels: int) -> None:
        super().__init__()
        self.p6 = nn.Conv2d(in_channels, out_channels, 3, 2, 1)
        self.p7 = nn.Conv2d(out_channels, out_channels, 3, 2, 1)
        initialise([self.p6, self.p7])
        self.use_P5 = in_channels == out_channels

    def forward(self, results: list[Tensor], x: list[Tensor], names: list[str]) -> tuple[list[Tensor], list[str]]:
        p6 = self.p6(results[-1] if self.use_P5 else x[-1])
        results.extend([p6, self.p7(F.relu(p6))])
        names.extend(["p6", "p7"])
        return results, names
