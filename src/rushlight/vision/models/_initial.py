"""The first weights of the mobile families: MobileNet, EfficientNet, MNASNet."""

from __future__ import annotations

from collections.abc import Callable

from ... import nn
from ...core.tensor import Tensor


def _small(weight: Tensor) -> None:
    nn.init.normal_(weight, 0, 0.01)


def initialise(model: nn.Module, linear: Callable[[Tensor], object] = _small) -> None:
    """Normal weights by the fan of the outputs for convolutions, ones for norms, no bias anywhere.

    `linear` draws the weight of a linear layer, in which the families differ.
    """
    for m in model.modules():
        if isinstance(m, nn.Conv2d):
            nn.init.kaiming_normal_(m.weight, mode="fan_out")
            if m.bias is not None:
                nn.init.zeros_(m.bias)
        elif isinstance(m, (nn.BatchNorm2d, nn.GroupNorm)):
            nn.init.ones_(m.weight)
            nn.init.zeros_(m.bias)
        elif isinstance(m, nn.Linear):
            linear(m.weight)
            nn.init.zeros_(m.bias)
