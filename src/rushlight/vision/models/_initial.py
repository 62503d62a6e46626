"""The first weights of models: what several families do, and the rule of MobileNet, EfficientNet, MNASNet."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ... import nn
from ...core.tensor import Tensor


def drawn(layers: Iterable[nn.Module], draw: Callable[[Tensor], object], kinds: Any = nn.Conv2d) -> None:
    """Draw the weights of the convolutions among `layers`, or of layers of other kinds; biases are zero."""
    for layer in layers:
        if isinstance(layer, kinds):
            draw(layer.weight)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)


relu_normal = partial(nn.init.kaiming_normal_, mode="fan_out", nonlinearity="relu")


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
