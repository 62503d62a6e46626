"""The settings of a training run: the choices, the defaults, a TOML file of them, and which must stay when resumed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from .errors import UsageError
from .suggest import did_you_mean

if TYPE_CHECKING:
    from argparse import Namespace

DATA = ("fashion-mini", "fashion-mnist", "mnist", "cifar10", "cifar100")
# Networks that `--width` makes wider.
WIDE = ("lenet", "mlp", "resnet18", "resnet34", "resnet50")
OF_TEXTS = ("pieces", "transformer")  # the networks that read words and their pieces, and bytes
OPTIMIZERS = ("sgd", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "nadam", "radam")
SCHEDULES = ("cosine", "step", "none")
PRECISIONS = ("bf16", "fp16")
FITS = ("squash", "pad", "crop")
# `--weights`: those inside the package, and the word for none at all.
OWN, NONE = "own", "none"

RISE = 0.15  # of one cycle, the share of steps in which the rate rises
WIDTHS: dict[str, float] = {"lenet": 2}
RATES = {"sgd": 0.05, "adadelta": 1.0, "adagrad": 0.01}

# What makes the numbers of a run; None where the recipe (recipe.py) or another setting decides.
DEFAULTS: dict[str, Any] = {
    "data": "fashion-mini", "task": None, "target": None, "input": None, "size": None, "fit": None, "augment": None, "val_split": 0.1, "test_split": 0.2, "fold": None,
    "class_weights": False, "balanced": False, "model": None, "width": None, "weights": None, "freeze": False,
    "epochs": None, "minutes": None, "batch_size": None, "accumulate": 1, "optimizer": None, "lr": None, "momentum": 0.9,
    "head_lr": None, "weight_decay": None, "schedule": "cosine", "label_smoothing": None, "mixup": None, "cutmix": 0.0, "erase": 0.0, "patience": 0,
    "warmup": None,
    "ema": None, "views": None,
    "amp": None, "channels_last": False, "seed": 0,
}  # fmt: skip
# Settings that a resumed run may have changed: more epochs, another patience.
MAY_CHANGE = ("epochs", "patience")
# What does not change the numbers, but can stand in a file, too.
OTHERS = (
    "data_dir",
    "device",
    "workers",
    "cache",
    "strict",
    "out",
    "compile",
    "quiet",
    "log",
    "nproc",
    "max_restarts",
    "global_batch",
    "folds",
    "search",
)


def settle(args: Namespace, saved: dict[str, Any] | None, path: str) -> None:
    """Fill in what the command line leaves open: from the run that is resumed, or the defaults."""
    if args.epochs is not None and args.minutes is not None:
        raise UsageError("--epochs and --minutes both say how long: give one of them")
    for name, default in DEFAULTS.items():
        given = getattr(args, name)
        if saved is None:
            setattr(args, name, default if given is None else given)
        elif given is None or given == saved[name]:
            setattr(args, name, saved[name])
        elif name not in MAY_CHANGE:
            raise UsageError(
                f"{path} was trained with {option(name)} {saved[name]}, not {given}: "
                f"leave it out to resume, or choose another --out for a new run"
            )
        elif name == "epochs" and given < saved[name]:
            raise UsageError(f"--epochs {given}: {path} has {saved[name]}, and --resume can only raise them")


def finish(args: Namespace) -> None:
    """What follows from other settings, and what does not go together."""
    if args.lr is None:
        args.lr = RATES.get(args.optimizer, 1e-3)
    if args.warmup is None:
        args.warmup = RISE if args.schedule == "cosine" else 0.0
    if args.balanced and args.class_weights:
        raise UsageError("--balanced and --class-weights both make classes count the same: give one of them")
    if args.width is None:
        args.width = WIDTHS.get(args.model, 1)
    elif args.width != 1 and args.model not in WIDE:
        raise UsageError(f"--width is for {', '.join(WIDE)}, not for {args.model}: leave it out")
    if args.width != int(args.width) and not args.model.startswith("resnet"):
        raise UsageError(f"--width {args.width}: only ResNets have widths between whole numbers")
    if args.freeze and args.weights == NONE:
        raise UsageError("--freeze keeps weights as they are, and there are none: give --weights FILE, imagenet or hf:NAME")  # fmt: skip
    if args.patience and not args.val_split:
        raise UsageError("--patience needs a validation part to look at: leave out --val-split 0")


def option(name: str) -> str:
    """The option of a setting."""
    return "--" + name.replace("_", "-")


def arguments(args: Namespace) -> list[str]:
    """The options that make these settings again, without those that a resumed run remembers."""
    parts = ["--out", args.out]
    for name, default in (("data_dir", "data"), ("device", "auto"), ("workers", 0), ("cache", "auto")):
        if getattr(args, name) != default:
            parts += [option(name), str(getattr(args, name))]
    return parts


def _from_there(name: str, value: Any, folder: Any) -> Any:
    """A setting of a run; its paths are read from the folder in which that run was started, not from this one."""
    if (
        name not in ("data", "weights")
        or value in (OWN, NONE)
        or not (isinstance(value, str) and isinstance(folder, str))
    ):
        return value
    place = os.path.join(folder, value)
    if not os.path.exists(place) or (os.path.exists(value) and os.path.samefile(value, place)):
        return value
    return place


def read_file(path: str) -> dict[str, Any]:
    """The settings of a TOML file, by the names of the options, with or without a [train] table; or a run's args.json."""
    import json
    import tomllib

    try:
        with open(path, "rb") as f:
            content = json.load(f) if path.endswith(".json") else tomllib.load(f)
    except FileNotFoundError:
        raise UsageError(f"--config {path}: no such file") from None
    except (OSError, ValueError) as error:  # also what is not UTF-8, TOML or JSON
        raise UsageError(f"--config {path} cannot be read: {' '.join(str(error).split())}") from None
    if path.endswith(".json"):
        inner = content.get("settings") if isinstance(content, dict) else None
        if not isinstance(inner, dict):
            raise UsageError(f"--config {path} is not the args.json of a run")
        timed = inner.get("epochs") is not None  # which say it once the run has ended
        kept = {
            name: inner[name] for name in DEFAULTS if inner.get(name) is not None and not (timed and name == "minutes")
        }
        return {name: _from_there(name, value, content.get("folder")) for name, value in kept.items()}
    inner = content.get("train")
    found = inner if isinstance(inner, dict) and len(content) == 1 else content
    names = (*DEFAULTS, *OTHERS)
    settings = {}
    for key, value in found.items():
        name = key.replace("-", "_")
        if name not in names:
            hint = did_you_mean(name, names).replace("_", "-")
            raise UsageError(f"--config {path}: there is no setting {key!r}{hint or ', see `rushlight train --help`'}")
        if isinstance(value, (dict, list)):
            raise UsageError(f"--config {path}: {key} must be a single value")
        settings[name] = value
    return settings
