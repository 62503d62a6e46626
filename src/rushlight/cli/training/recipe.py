"""Which network, size, optimiser and augmentation suit a data set, by how many pictures there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from .. import config
from ..data import augment
from ..data.images import Source
from ..data.inputs import PICTURES, Inputs
from ..data.texts import Texts
from ..errors import UsageError
from ..tasks.kinds import KINDS
from ..words import counted
from . import zoo
from .networks import SMALL

if TYPE_CHECKING:
    from argparse import Namespace

# Weights trained elsewhere want the size they were trained at, and small steps.
_PRETRAINED_SIZE = 224
# From so many pictures on, a larger network from scratch learns more than the small one inside this package.
MANY = 20_000
NETWORKS = {
    "mlp": "an MLP with embeddings for categories",
    "pieces": "a weight for every word, pair of words and piece of a word",
    "transformer": "a small transformer over bytes",
}
# Where the time decides: how many epochs are thought of until it is measured, and the most that are of any use.
GUESS, MOST, MOST_FROM_SCRATCH = 20, 60, 200


class Recipe(NamedTuple):
    """The settings that suit a kind of data set, and why, in words."""

    why: str
    settings: dict[str, Any]


def _settings(**kept: Any) -> dict[str, Any]:
    plain = {"augment": "none", "label_smoothing": 0.0, "mixup": 0.0, "weight_decay": 5e-4, "epochs": None,
             "optimizer": "sgd", "lr": None, "head_lr": None, "batch_size": 64, "size": None, "width": None,
             "weights": config.NONE, "minutes": None, "ema": 0.0, "views": 1}  # fmt: skip
    return {**plain, **kept}


def recipe_for(source: Source, on_gpu: bool, weights: str | None, model: str | None = None) -> Recipe:
    """The settings for this data set on this device."""
    if source.listing is None:
        return _of_named(source.name, on_gpu)
    count = source.count or 0
    if (inputs := source.listing.inputs) is not None:
        return _of_others(inputs, count, model or inputs.model)
    few, told = count < 2000, counted(count, "picture")
    small = model in (None, SMALL)
    if weights is None:
        weights = config.OWN if small and count < MANY else config.NONE
    photo = {"label_smoothing": 0.1, "minutes": 3.0 if few else 10.0 if count < MANY else 60.0,
             "ema": 0.98, "views": 2, "weights": weights}  # fmt: skip
    if weights == config.OWN:
        return Recipe(
            f"{told}: the small network inside this package, taught further",
            _settings(**photo, model=SMALL, size=96 if on_gpu else 64, batch_size=32, optimizer="adamw",
                      lr=1e-3, head_lr=5e-3, weight_decay=0.02, augment="auto"),
        )  # fmt: skip
    if weights != config.NONE:
        return Recipe(
            f"{told} and weights to start from: small steps, light changes of the pictures",
            _settings(**{**photo, "minutes": 10.0}, model="resnet18", size=_PRETRAINED_SIZE, batch_size=32,
                      optimizer="adamw", lr=3e-4, head_lr=3e-3, weight_decay=0.01, augment="auto"),
        )  # fmt: skip
    if count < MANY:
        return Recipe(
            f"{told}, from scratch: a small ResNet, many epochs, strong changes of the pictures",
            _settings(**photo, model=SMALL, size=96 if on_gpu else 64, batch_size=32, optimizer="adamw",
                      lr=3e-3, weight_decay=0.05, augment="strong", mixup=0.0 if few else 0.1),
        )  # fmt: skip
    return Recipe(
        f"{told}: SGD with one cycle, mixup",
        _settings(**photo, model="resnet50" if on_gpu else "resnet18", size=160 if on_gpu else 64,
                  batch_size=128, lr=0.1, augment="light", mixup=0.2),
    )  # fmt: skip


def _of_others(inputs: Inputs, count: int, model: str) -> Recipe:
    """Rows of a table or texts: one network each, from scratch."""
    why = f"{counted(count, inputs.noun)} to train on and test: {NETWORKS[model]}"
    settings = inputs.networks[model]
    if "minutes" in settings:
        settings = {**settings, "minutes": settings["minutes"] * (1 if count < MANY else 10)}
    return Recipe(why, _settings(**settings, model=model, optimizer="adamw", ema=0.98))


def _of_named(name: str, on_gpu: bool) -> Recipe:
    if name.startswith("cifar") and on_gpu:
        return Recipe(
            "small colour images on a GPU: a ResNet-18 with one cycle",
            _settings(model="resnet18", epochs=30, batch_size=512, lr=0.2, augment="light"),
        )
    return Recipe("small images: a small network, a few epochs", _settings(model="lenet", epochs=6))


def settle(args: Namespace, source: Source, on_gpu: bool) -> str:
    """Fill in what is still open after the command line, the file and the defaults; the answer says why."""
    task = KINDS[source.task]
    inputs = source.listing.inputs if source.listing is not None else None
    if inputs is not None:
        _check_others(args, inputs)
    chosen = recipe_for(source, on_gpu, args.weights, args.model)
    of_task = task.recipe if inputs is None else {k: v for k, v in task.recipe.items() if k in ("label_smoothing", "mixup")}  # fmt: skip
    chosen.settings.update(of_task, task=task.kind, input=PICTURES if inputs is None else inputs.kind)
    by_time = args.minutes is not None or chosen.settings["epochs"] is None
    args.timed = args.epochs is None and by_time
    open_before = {name for name in chosen.settings if getattr(args, name) is None}
    other = args.model is not None and args.model != chosen.settings["model"]
    if args.optimizer is not None and args.optimizer != chosen.settings["optimizer"]:
        chosen.settings.update(lr=None, weight_decay=5e-4)
    if other:
        _fit_network(chosen.settings, args.model, args.weights or config.NONE)
    if args.timed:
        chosen.settings["epochs"] = GUESS
    for name in open_before:
        setattr(args, name, chosen.settings[name])
    if args.model == "mlp" and args.augment == "strong" and "augment" in open_before:
        args.augment = "light"
    config.finish(args)
    task(()).check(args)
    return chosen.why


def _check_others(args: Namespace, inputs: Inputs) -> None:
    """UsageError for settings that are for pictures."""
    given = [name for name in (*inputs.not_for, "fit") if getattr(args, name)]
    given += ["size"] if args.size and inputs.kind != Texts.kind else []
    given += ["augment"] if args.augment not in (None, "none") else []
    given += ["views"] if args.views not in (None, 1) else []
    if given:
        raise UsageError(f"{config.option(given[0])} is for pictures, and these are {inputs.noun}s: leave it out")
    if args.model is not None and args.model not in inputs.networks:
        raise UsageError(
            f"--model {args.model} looks at pictures, and these are {inputs.noun}s: leave it out, or take {' or '.join(inputs.networks)}"
        )
    if args.weights not in (None, config.NONE):
        raise UsageError(f"--weights {args.weights} are of pictures, and these are {inputs.noun}s: leave it out")


def _fit_network(settings: dict[str, Any], name: str, weights: str) -> None:
    """Width, rate and size for another network than the recipe's."""
    settings["width"] = None
    if settings["lr"] is not None and weights == config.NONE and zoo.gentle(name):
        settings["lr"] /= zoo.GENTLER
    if settings["size"] is not None:
        trained = zoo.trained_size(name) if weights == "imagenet" else None
        settings["size"] = zoo.fitting_size(name, trained or settings["size"])


def in_words(args: Namespace) -> list[str]:
    """One line each: network, optimiser, pictures."""
    wide = "" if args.width == 1 else f", {args.width:g} times as wide"
    start = {config.OWN: ", from the weights inside this package", config.NONE: ", from scratch"}.get(
        args.weights, f", from {args.weights}"
    )
    more = ""
    if args.label_smoothing:
        more += f", labels smoothed by {args.label_smoothing:g}"
    if args.mixup:
        more += f", mixup {args.mixup:g}"
    if args.cutmix:
        more += f", cutmix {args.cutmix:g}"
    if args.erase:
        more += f", a rectangle erased in {args.erase:.0%}"
    if args.balanced:
        more += ", rare classes shown as often as common ones"
    cycle = {"cosine": "one cycle", "step": "three steps", "none": "constant"}[args.schedule]
    parts = f" in {args.accumulate} parts" if args.accumulate > 1 else ""
    batch = args.batch_size * args.accumulate
    half = f", {args.amp} where it is safe" if args.amp else ""
    return [
        f"Recipe: {args.model}{wide}{start}{'; only the head is trained' if args.freeze else ''}.",
        f"Steps: {args.optimizer}, rate {args.lr:g}{_of_head(args)} ({cycle}), weight decay {args.weight_decay:g}, batch "
        f"{batch}{parts}, {_how_long(args)}{half}.",
        *([f"Variety: {augment.in_words(args.augment)}{more}."] if args.input == PICTURES else []),
    ]


def _of_head(args: Namespace) -> str:
    return f", of the head {args.head_lr:g}" if args.head_lr and args.head_lr != args.lr else ""


def _how_long(args: Namespace) -> str:
    """How many epochs, or the time that decides it."""
    if getattr(args, "timed", False):
        return f"as many epochs as fit into {counted(args.minutes, 'minute')} (--minutes, --epochs)"
    return counted(args.epochs, "epoch")


def epochs_in(seconds: float, of_one: float, from_scratch: bool) -> int:
    """How many epochs of `of_one` seconds fit into the time: one at least, and no more than are of use."""
    most = MOST_FROM_SCRATCH if from_scratch else MOST
    return max(1, min(most, int(seconds / max(of_one, 1e-9))))
