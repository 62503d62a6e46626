"""Which network, size, optimiser and augmentation suit a data set, by how many pictures there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .. import config
from ..data import augment
from ..data.images import Source
from . import zoo

if TYPE_CHECKING:
    from argparse import Namespace

# Weights trained elsewhere want the size they were trained at, and small steps.
_PRETRAINED_SIZE = 224


class Recipe(NamedTuple):
    """The settings that suit a kind of data set, and why, in words."""

    why: str
    settings: dict[str, Any]


def _settings(**kept: Any) -> dict[str, Any]:
    plain = {"augment": "none", "label_smoothing": 0.0, "mixup": 0.0, "weight_decay": 5e-4,
             "optimizer": "sgd", "lr": None, "batch_size": 64, "size": None, "width": None}  # fmt: skip
    return {**plain, **kept}


def recipe_for(source: Source, on_gpu: bool, weights: str | None) -> Recipe:
    """The settings for this data set on this device."""
    if source.listing is None:
        return _of_named(source.name, on_gpu)
    count = source.count or 0
    if weights:
        return Recipe(
            f"{count:,} pictures and weights to start from: small steps, light changes of the pictures",
            _settings(model="resnet18", size=_PRETRAINED_SIZE, epochs=10, batch_size=32, optimizer="adamw",
                      lr=3e-4, weight_decay=0.01, augment="light", label_smoothing=0.1),
        )  # fmt: skip
    photo = {"model": "resnet18", "label_smoothing": 0.1}
    if count < 2000:
        return Recipe(
            f"{count:,} pictures are few: a small ResNet, many epochs, strong changes of the pictures",
            _settings(**photo, size=128 if on_gpu else 64, width=0.5, epochs=25, batch_size=32, optimizer="adamw",
                      lr=3e-3, weight_decay=0.05, augment="strong"),
        )  # fmt: skip
    if count < 20_000:
        return Recipe(
            f"{count:,} pictures: a ResNet-18, strong changes of the pictures, a little mixup",
            _settings(**photo, size=128 if on_gpu else 64, width=1 if on_gpu else 0.5, epochs=30, optimizer="adamw",
                      lr=2e-3, weight_decay=0.05, augment="strong", mixup=0.1),
        )  # fmt: skip
    return Recipe(
        f"{count:,} pictures are many: SGD with one cycle, mixup",
        _settings(**{**photo, "model": "resnet50" if on_gpu else "resnet18"}, size=160 if on_gpu else 64,
                  epochs=20, batch_size=128, lr=0.1, augment="light", mixup=0.2),
    )  # fmt: skip


def _of_named(name: str, on_gpu: bool) -> Recipe:
    if name.startswith("cifar") and on_gpu:
        return Recipe(
            "small colour images on a GPU: a ResNet-18 with one cycle",
            _settings(model="resnet18", epochs=30, batch_size=512, lr=0.2, augment="light"),
        )
    return Recipe("small images: a small network, a few epochs", _settings(model="lenet", epochs=6))


def settle(args: Namespace, source: Source, on_gpu: bool) -> str:
    """Fill in what is still open after the command line, the file and the defaults; the answer says why."""
    chosen = recipe_for(source, on_gpu, args.weights)
    open_before = {name for name in chosen.settings if getattr(args, name) is None}
    other = args.model is not None and args.model != chosen.settings["model"]
    if args.optimizer is not None and args.optimizer != chosen.settings["optimizer"]:
        chosen.settings.update(lr=None, weight_decay=5e-4)
    if other:
        _fit_network(chosen.settings, args.model, args.weights)
    for name in open_before:
        setattr(args, name, chosen.settings[name])
    if args.model == "mlp" and args.augment == "strong" and "augment" in open_before:
        args.augment = "light"
    config.finish(args)
    return chosen.why


def _fit_network(settings: dict[str, Any], name: str, weights: str | None) -> None:
    """Width, rate and size for another network than the recipe's."""
    settings["width"] = None
    if settings["lr"] is not None and not weights and zoo.gentle(name):
        settings["lr"] /= zoo.GENTLER
    if settings["size"] is not None:
        trained = zoo.trained_size(name) if weights == "imagenet" else None
        settings["size"] = zoo.fitting_size(name, trained or settings["size"])


def in_words(args: Namespace) -> list[str]:
    """One line each: network, optimiser, pictures."""
    wide = "" if args.width == 1 else f", {args.width:g} times as wide"
    start = f", from {args.weights}" if args.weights else ", from scratch"
    more = ""
    if args.label_smoothing:
        more += f", labels smoothed by {args.label_smoothing:g}"
    if args.mixup:
        more += f", mixup {args.mixup:g}"
    cycle = {"cosine": "one cycle", "step": "three steps", "none": "constant"}[args.schedule]
    parts = f" in {args.accumulate} parts" if args.accumulate > 1 else ""
    batch = args.batch_size * args.accumulate
    half = f", {args.amp} where it is safe" if args.amp else ""
    return [
        f"Recipe: {args.model}{wide}{start}{'; only the head is trained' if args.freeze else ''}.",
        f"Steps: {args.optimizer}, rate {args.lr:g} ({cycle}), weight decay {args.weight_decay:g}, batch "
        f"{batch}{parts}, {_epochs(args.epochs)}{half}.",
        f"Variety: {augment.in_words(args.augment)}{more}.",
    ]


def _epochs(count: int) -> str:
    return f"{count} epoch" if count == 1 else f"{count} epochs"
