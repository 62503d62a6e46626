"""The networks of rushlight.vision that classify pictures: their names, and what each of them needs."""

from __future__ import annotations

import argparse
from functools import cache

from .. import config
from ..suggest import did_you_mean

# The fewest pixels of a side with which every layer still has something to look at, by the beginning of
# the name; tests/cli/test_cli_zoo.py tries each of them.
_SMALLEST = {
    "alexnet": 63, "convnext": 32, "densenet": 29, "googlenet": 15, "inception": 75, "lenet": 16, "mlp": 1,
    "resnet18": 1, "resnet34": 1, "resnet50": 1, "squeezenet1_0": 21, "squeezenet1_1": 17, "vgg": 32,
}  # fmt: skip
_ELSE = 8
_OF_ONE_SIZE = ("maxvit",)  # whose windows are cut for 224 x 224 pictures and no others
# Without batch normalisation the learning rate of a ResNet is too high: it is divided by this.
GENTLER = 8.0
_WITHOUT_BATCH_NORM = ("alexnet", "convnext", "squeezenet", "swin", "vgg", "vit")


@cache
def names() -> tuple[str, ...]:
    """Every network that `--model` takes, in the order of the alphabet.

    Those for detection and the like live in packages of their own; the `_cifar` beginnings of ResNets
    are chosen by the size of the pictures, and networks for one size are left to `rushlight.vision`.
    """
    from rushlight.vision import models

    def classifies(name: str) -> bool:
        home = models.get_model_builder(name).__module__
        other = name.endswith("_cifar") or name.startswith(_OF_ONE_SIZE)
        return home.rpartition(".")[0] == models.__name__ and not other

    return tuple(name for name in models.list_models() if classifies(name))


def known(name: str) -> bool:
    """Whether this is the name of a network; the usual ones are known without loading the rest."""
    return type(name) is str and (name in config.WIDE or name in config.OF_TEXTS or name in names())


def model_name(text: str) -> str:
    """A converter for argparse: a network's name, or what may have been meant."""
    if known(text):
        return text
    hint = did_you_mean(text, (*names(), *config.OF_TEXTS))
    raise argparse.ArgumentTypeError(
        f"there is no network {text!r}{hint} (`rushlight models` lists all {len(names())})"
    )


def smallest(name: str) -> int:
    """The fewest pixels of a side that a network can take."""
    if name.startswith("vit"):
        return patch(name)
    return next((n for start, n in _SMALLEST.items() if name.startswith(start)), _ELSE)


def patch(name: str) -> int:
    """The side of the squares that a network cuts pictures into; 1 where it does not."""
    return int(name.rpartition("_")[2]) if name.startswith("vit") else 1


def fitting_size(name: str, size: int) -> int:
    """The size nearest above `size` that a network can take."""
    least, step = max(size, smallest(name)), patch(name)
    return -(-least // step) * step


def trained_size(name: str) -> int | None:
    """The size that the ImageNet weights of a network were trained at, where there are some."""
    from rushlight.vision import models

    try:
        chosen = models.get_model_weights(name).DEFAULT
    except (ValueError, LookupError):
        return None
    return int(chosen.transforms.keywords["crop_size"])


def gentle(name: str) -> bool:
    """Whether a network needs a lower learning rate than a ResNet."""
    return name.startswith(_WITHOUT_BATCH_NORM) and not name.endswith("_bn")


def _parameters(name: str) -> str:
    """How many parameters a network has; those of the small ones depend on the pictures."""
    import rushlight as rl
    from rushlight.vision import models

    if name in ("lenet", "mlp"):
        return "by --size"
    if trained_size(name):
        return f"{models.get_model_weights(name).DEFAULT.meta['num_params']:,}"
    with rl.device("meta"):  # shapes without memory
        return f"{sum(p.numel() for p in models.get_model(name).parameters()):,}"


def show() -> int:
    """`rushlight models`: a line for each network."""
    print(f"{'network':22} {'parameters':>12} {'smallest':>9} {'ImageNet weights, size':>23}")
    for name in names():
        size = trained_size(name)
        print(f"{name:22} {_parameters(name):>12} {smallest(name):>9} {size or '-':>23}")
    print(f"\n{len(names())} networks for `rushlight train --model NAME`. Parameters are those for 1,000 classes; "
          f"smallest is the least --size;\n--width is for {', '.join(config.WIDE)}.")  # fmt: skip
    return 0
