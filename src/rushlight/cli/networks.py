"""The networks of the command line, by name, fitted to the images."""

from __future__ import annotations

from typing import Any

from . import config
from .errors import UsageError

# Of an MLP of width 1, and of a ResNet's first stage.
HIDDEN = (256, 128)
STAGE = 64


def build(name: str, *, channels: int, size: int, classes: int, width: int = 1) -> Any:
    """A network for `classes` classes of `channels` x `size` x `size` images."""
    from rushlight.vision import models

    _check(name, channels, size)
    if name == "lenet":
        return models.get_model(
            "lenet", num_classes=classes, in_channels=channels, size=size, width=width
        )
    if name == "mlp":
        hidden = [n * width for n in HIDDEN]
        return models.get_model(
            "mlp", in_features=channels * size * size, hidden=hidden, num_classes=classes
        )
    if name not in config.WIDE:
        return models.get_model(name, num_classes=classes)
    stem = "_cifar" if size <= 64 else ""
    return models.get_model(
        name + stem, num_classes=classes, in_channels=channels, width=STAGE * width
    )


def _check(name: str, channels: int, size: int) -> None:
    if channels != 3 and name not in config.WIDE:
        raise UsageError(f"--model {name} is for colour images, and these are grey")
    least = {"lenet": 16, "mlp": 1}.get(name, 1 if name in config.WIDE else 32)
    if size < least:
        raise UsageError(f"--model {name} needs images of {least} pixels or more, not {size}")


def parameters_of(net: Any) -> int:
    """How many numbers are trained."""
    return sum(p.numel() for p in net.parameters())
