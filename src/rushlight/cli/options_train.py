"""The options of `rushlight train`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import config
from .arguments import DEVICE, command, fold, number, one_of, width
from .data import augment, cache
from .data.inputs import PICTURES
from .data.readings import READINGS
from .tasks.kinds import KINDS
from .training import loggers, zoo

if TYPE_CHECKING:
    from argparse import Namespace, _SubParsersAction

PLACE = "runs/train, or runs/train-2 and so on where that holds a run"


def add_train(commands: _SubParsersAction) -> None:
    """The command and its groups of options."""
    text = "train a network on your pictures, tables or texts, test it, write a report"
    p = command(commands, "train", text, _train)
    p.epilog = "What is not given is chosen by the number of pictures, and said."
    groups = (p.add_argument_group(t) for t in ("data", "network", "training", "speed", "files and machine"))
    # The options that a checkpoint remembers have no default here: see config.settle.
    for group, add in zip(groups, (_data, _network, _training, _speed, _files)):
        add(group.add_argument)


def _data(add: Callable[..., Any]) -> None:
    d = config.DEFAULTS
    add("--data", metavar="NAME|FOLDER|CSV", help=f"{', '.join(config.DATA)}, or a folder of pictures with one "
        "folder per class, or with train/, val/ and test/ of those, or a .csv file with the columns path,label "
        f"or path,value [,split], or a table of values, or texts, or boxes as COCO or YOLO have them, or images/ and masks/ (default: {d['data']}, which is in the package)")  # fmt: skip
    add("--data-dir", default="data", help="where data sets lie or are downloaded to (default: %(default)s)")
    add("--task", type=one_of(KINDS), metavar="KIND", help=f"{', '.join(KINDS)} (default: what the data are)")
    add("--target", metavar="COLUMN[,COLUMN]", help="of a .csv file: what is learnt (default: label, labels, value, or all; of a table the last)")  # fmt: skip
    add("--input", type=one_of((PICTURES, *READINGS)), metavar="KIND", help=f"what the network reads: {PICTURES}, {' or '.join(READINGS)} (default: what the data are)")  # fmt: skip
    add(
        "--size",
        type=number(int, 8, 1024),
        metavar="N",
        help="pixels of a side that the network sees, or bytes of a text",
    )
    add("--fit", type=one_of(config.FITS), metavar="HOW", help="pictures into squares: squash, pad or crop the middle "
        "(default: by their shapes)")  # fmt: skip
    add("--augment", nargs="?", const="light", type=one_of(augment.KINDS), metavar="KIND",
        help="none, colours, light (random crops and flips), strong (TrivialAugment, too) or auto (light until it overfits)")  # fmt: skip
    add("--val-split", type=number(float, 0, 0.9), metavar="SHARE", help="of the training pictures, kept apart to "
        f"choose the best epoch (default: {d['val_split']}; 0 for none)")  # fmt: skip
    add("--test-split", type=number(float, 0, 0.9), metavar="SHARE",
        help=f"of a folder without train/ and test/, kept for the test (default: {d['test_split']}; 0 for none)")  # fmt: skip
    add("--folds", type=number(int, 2, 100), metavar="K", help="train K networks, each tested on another part of the pictures, and tell how far they differ")  # fmt: skip
    add("--fold", type=fold, metavar="I/K", help="only the one that --folds K tests on its part I")
    add("--class-weights", action="store_true", default=None, help="let rare classes count as much as common ones")
    add(
        "--balanced",
        action="store_true",
        default=None,
        help="show pictures of rare classes as often as those of common ones",
    )
    add("--strict", action="store_true", help="stop when a picture is broken, empty, too large or there twice")
    add("--cache", type=one_of(cache.KINDS), default="auto", metavar="WHERE",
        help="where decoded pictures are kept: memory, disk, none (default: auto)")  # fmt: skip


def _network(add: Callable[..., Any]) -> None:
    add("--model", type=zoo.model_name, metavar="NAME", help=f"{', '.join(config.WIDE)}, for texts transformer, or any other of `rushlight models`")  # fmt: skip
    add("--width", type=width, metavar="N", help="times the channels; 0.25, 0.5 and 0.75 for ResNets")
    add("--weights", metavar="own|none|imagenet|hf:NAME|FILE", help="to start from: those inside this package (for folders), "
        "none, torchvision's for ImageNet, a model of the Hugging Face hub, a .pth or .safetensors file; the head is new")  # fmt: skip
    add("--freeze", action="store_true", default=None, help="with --weights: train the head only")


def _training(add: Callable[..., Any]) -> None:
    d = config.DEFAULTS
    add("--epochs", type=number(int, 1, 100000), metavar="N", help="times through the data; may be raised with --resume")  # fmt: skip
    add("--minutes", type=number(float, 0, 100000, above=True), metavar="M", help="instead of --epochs: as many as fit, by the "
        "pace of the first steps (default: by the number of pictures)")  # fmt: skip
    add("--batch-size", type=number(int, 1, 2**20), metavar="N", help="images a step")
    add("--accumulate", type=number(int, 1, 1024), metavar="N", help="batches whose gradients make one step (default: 1)")  # fmt: skip
    add("--optimizer", type=one_of(config.OPTIMIZERS), metavar="NAME", help=", ".join(config.OPTIMIZERS))
    add("--lr", type=number(float, 0, above=True), metavar="RATE", help="learning rate, the highest of the schedule")
    add("--head-lr", type=number(float, 0, above=True), metavar="RATE", help="of the last layer, which is new where weights are given")  # fmt: skip
    add("--momentum", type=number(float, 0, 1), metavar="M", help=f"of sgd and rmsprop (default: {d['momentum']})")
    add("--weight-decay", type=number(float, 0), metavar="W")
    add("--schedule", type=one_of(config.SCHEDULES), metavar="KIND", help="of the learning rate: cosine (one cycle), step, none "
        f"(default: {d['schedule']})")  # fmt: skip
    add("--warmup", type=number(float, 0, 0.9), metavar="SHARE", help=f"of the steps, in which the rate rises (default: {config.RISE} of one cycle, else 0)")  # fmt: skip
    add("--label-smoothing", type=number(float, 0, 0.9), metavar="S", help="0.1 keeps a network from being too sure")
    add("--mixup", type=number(float, 0, 10), metavar="A", help="mix pictures with each other; 0.2 is usual")
    add("--cutmix", type=number(float, 0, 10), metavar="A", help="put a part of each picture into another; 1 is usual (default: 0)")  # fmt: skip
    add("--erase", type=number(float, 0, 1), metavar="P", help="of so many training pictures a rectangle is erased; 0.25 is usual (default: 0)")  # fmt: skip
    add("--ema", type=number(float, 0, 0.9999), metavar="D", help="test a moving average of the weights that keeps D of itself a step (0 for none)")  # fmt: skip
    add("--views", type=number(int, 1, 2), metavar="N", help="2: answers are the average over a picture and its mirror image")  # fmt: skip
    add("--search", type=number(int, 2, 64), metavar="N", help="try N rates, sizes and kinds of variety in half of the time, the better ones for longer, and train the best")  # fmt: skip
    add("--patience", type=number(int, 0, 100000), metavar="N", help="stop when so many epochs were no better (default: never)")  # fmt: skip
    add("--seed", type=number(int, 0, 2**63 - 1), metavar="N", help=f"same seed, same numbers (default: {d['seed']})")


def _speed(add: Callable[..., Any]) -> None:
    add("--nproc", type=number(int, 1, 1024), default=1, metavar="N", help="processes that train together, through MPI; a batch "
        "size that is not given is split over them (default: %(default)s)")  # fmt: skip
    add("--max-restarts", type=number(int, 0, 1000), default=0, metavar="N", help="go on from the last checkpoint so often when one of them dies")  # fmt: skip
    add("--global-batch", type=number(int, 1, 2**30), metavar="N", help="images a step of all of them together")
    add("--workers", type=number(int, 0, 64), default=0, metavar="N", help="processes that load data (default: %(default)s)")  # fmt: skip
    add("--amp", type=one_of(config.PRECISIONS), metavar="KIND", help="bf16, or fp16 on a GPU: half the bytes where it is safe")  # fmt: skip
    add("--channels-last", action="store_true", default=None, help="lay pictures out as GPUs like them")
    add("--no-compile", dest="compile", action="store_false", help="run every step through Python")
    add("--lr-find", action="store_true", help="only try rates on a few steps and draw them: lr-find.svg")
    add("--profile", action="store_true", help="only time a few steps: a table, and trace.json for a browser")


def _files(add: Callable[..., Any]) -> None:
    add("--device", default="auto", help=DEVICE)
    add("--out", metavar="FOLDER", help=f"for the results (default: {PLACE})")
    add("--config", metavar="FILE", help="settings from a .toml file, or a run's args.json; options go over them")
    add("--resume", action="store_true", help="go on where the run in --out (or the newest) was interrupted")
    add("--log", type=one_of(loggers.KINDS), metavar="WHERE", help="wandb or mlflow, beside TensorBoard's events")
    add("--quiet", action="store_true", help="only the final result")


def _train(args: Namespace) -> int:
    from .callbacks import Session

    return Session().run(args).code


def arguments_of(settings: dict[str, Any]) -> list[str]:
    """Settings of a file as the options that mean the same."""
    parts: list[str] = []
    for name, value in settings.items():
        if name == "compile":
            parts += [] if value else ["--no-compile"]
        elif isinstance(value, bool):
            parts += [config.option(name)] if value else []
        elif value is not None:
            parts += [f"{config.option(name)}={value}"]
    return parts
