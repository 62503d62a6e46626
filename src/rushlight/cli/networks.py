"""The networks of the command line, by name, fitted to the images."""

from __future__ import annotations

from typing import Any

from .errors import UsageError

SMALL = ("lenet", "mlp")
LARGE = (
    "resnet18", "resnet34", "resnet50", "vgg11", "vgg13", "vgg16", "vgg19", "mobilenet_v2",
)  # fmt: skip


def build(name: str, *, channels: int, size: int, classes: int, width: float = 1.0) -> Any:
    """A network for `classes` classes of `channels` x `size` x `size` images."""
    from rushlight.vision import models

    if name in SMALL:
        make = getattr(models, name)
        return make(num_classes=classes, in_channels=channels, image_size=size, width=width)
    if name not in LARGE:
        raise UsageError(f"--model {name}: unknown; one of {', '.join((*SMALL, *LARGE))}")
    if width != 1.0:
        raise UsageError(f"--width is for {' and '.join(SMALL)}; {name} has its own")
    if name.startswith("resnet") and size <= 64:
        return getattr(models, name + "_cifar")(num_classes=classes, in_channels=channels)
    if name.startswith("vgg") and size < 32:
        raise UsageError(f"--model {name} halves the image five times: it needs at least 32 pixels")
    net = getattr(models, name)(num_classes=classes)
    if channels != 3:
        raise UsageError(f"--model {name} is for colour images; these have {channels} channel(s)")
    return net


def parameters_of(net: Any) -> int:
    return sum(p.numel() for p in net.parameters())
