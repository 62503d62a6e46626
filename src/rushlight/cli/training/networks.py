"""The networks of the command line, by name, fitted to the images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import config
from ..errors import UsageError
from . import zoo

if TYPE_CHECKING:
    from ...nn.modules.module import Module
    from ..data.inputs import Inputs

# Of an MLP of width 1, and of a ResNet's first stage.
HIDDEN = (256, 128)
# The network of the weights inside this package.
SMALL = "resnet18_small"
STAGE = 64
# Up to so many pixels a ResNet begins without halving the size twice: at 64 that would cost four times
# as much as the usual beginning does.
CIFAR_STEM = 40


def build(
    name: str, *, channels: int, size: int, classes: int, width: float = 1, over: str = "", inputs: Inputs | None = None
) -> Any:
    """A network for `classes` classes of `channels` x `size` x `size` images, or what stands `over` one and answers for its places, or what reads other `inputs`."""
    if inputs is not None:
        return inputs.network(classes, width)
    from rushlight.vision import models

    check_model(name, channels, size)
    builder, options = how_to_build(name, channels, size, classes, width, over)
    return models.get_model(builder, **options)


def how_to_build(
    name: str, channels: int, size: int, classes: int, width: float, over: str = ""
) -> tuple[str, dict[str, Any]]:
    """The builder of `rushlight.vision.models` and its arguments; those of torchvision's have no others than it takes."""
    if over:
        backbone, more = how_to_build(name, channels, size, classes, width)
        return over.rpartition(".")[2], {"backbone": backbone, **more}
    if name == "lenet":
        return name, {"num_classes": classes, "in_channels": channels, "size": size, "width": int(width)}
    if name == "mlp":
        hidden = [int(n * width) for n in HIDDEN]
        return name, {"in_features": channels * size * size, "hidden": hidden, "num_classes": classes}
    if name not in config.WIDE:
        return name, {"num_classes": classes, **_options(name, size)}
    options: dict[str, Any] = {"num_classes": classes}
    if channels != 3:
        options["in_channels"] = channels
    if width != 1:
        options["width"] = int(STAGE * width)
    return name + ("_cifar" if size <= CIFAR_STEM else ""), options


def check_model(name: str, channels: int, size: int) -> None:
    """UsageError where a network cannot take such images."""
    if name in config.OF_TEXTS:
        raise UsageError(f"--model {name} reads texts, and these are pictures: try resnet18")
    if channels != 3 and name not in config.WIDE:
        raise UsageError(f"--model {name} is for colour images, and these are grey: try resnet18")
    least, step = zoo.smallest(name), zoo.patch(name)
    if size < least:
        raise UsageError(
            f"--model {name} needs images of {least} pixels or more, not {size}: give a larger --size or "
            "another --model"
        )
    if size % step:
        raise UsageError(
            f"--model {name} cuts images into squares of {step} pixels, and {size} is no multiple of that: "
            f"try --size {zoo.fitting_size(name, size)}"
        )


def _options(name: str, size: int) -> dict[str, Any]:
    """The options of a network beside the number of classes.

    Pictures are scaled as for ImageNet's weights, which those two networks undo by `transform_input`.
    """
    if name in ("googlenet", "inception_v3"):
        return {"aux_logits": False, "transform_input": True, "init_weights": True}
    return {"image_size": size} if zoo.patch(name) > 1 else {}


def parameters_of(net: Module) -> int:
    """How many numbers there are in a network."""
    return sum(p.numel() for p in net.parameters())


def head_of(net: Module) -> str:
    """The name of what is new where weights are given: the last linear layer, or a convolution where there is none."""
    import rushlight as rl

    if hasattr(net, "decoder"):
        return "decoder"
    if isinstance(getattr(net, "head", None), rl.nn.Linear):
        return "head"
    layers = [(name, type(m)) for name, m in net.named_modules()]
    linear = [name for name, kind in layers if issubclass(kind, rl.nn.Linear)]
    return (linear or [name for name, kind in layers if issubclass(kind, rl.nn.Conv2d)])[-1]
