"""The settings of a training run: the choices, the defaults, and which must stay when it is resumed."""

from __future__ import annotations

from typing import Any

from .errors import UsageError

DATA = ("fashion-mini", "fashion-mnist", "mnist", "cifar10", "cifar100")
# Networks that `--width` makes wider.
WIDE = ("lenet", "mlp", "resnet18", "resnet34", "resnet50")
MODELS = (*WIDE, "vgg11", "vgg13", "vgg16", "vgg19", "mobilenet_v2")
OPTIMIZERS = ("sgd", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "nadam", "radam")
SCHEDULES = ("cosine", "step", "none")

WIDTHS = {"lenet": 2}
FOLDER_SIZE = 32
RATES = {"sgd": 0.05, "adadelta": 1.0, "adagrad": 0.01}

# What makes the numbers of a run; None where another setting decides.
DEFAULTS: dict[str, Any] = {
    "data": "fashion-mini", "size": None, "augment": False, "model": "lenet", "width": None,
    "epochs": 6, "batch_size": 64, "optimizer": "sgd", "lr": None, "momentum": 0.9,
    "weight_decay": 5e-4, "schedule": "cosine", "seed": 0,
}  # fmt: skip


def settle(args: Any, saved: dict[str, Any] | None, path: str) -> None:
    """Fill in what the command line leaves open: from the run that is resumed, or the defaults."""
    for name, default in DEFAULTS.items():
        given = getattr(args, name)
        if saved is None:
            setattr(args, name, default if given is None else given)
        elif given is None or given == saved[name]:
            setattr(args, name, saved[name])
        else:
            raise UsageError(
                f"{path} was trained with {option(name)} {saved[name]}, not {given}: "
                f"leave it out to resume, or choose another --out for a new run"
            )
    if args.lr is None:
        args.lr = RATES.get(args.optimizer, 1e-3)
    if args.width is None:
        args.width = WIDTHS.get(args.model, 1)
    elif args.width != 1 and args.model not in WIDE:
        raise UsageError(f"--width is for {', '.join(WIDE)}, not for {args.model}")


def option(name: str) -> str:
    """The option of a setting."""
    return "--" + name.replace("_", "-")


def arguments(args: Any) -> list[str]:
    """The options that make these settings again, without those that a resumed run remembers."""
    parts = ["--out", args.out]
    for name, default in (("data_dir", "data"), ("device", "auto"), ("workers", 0)):
        if getattr(args, name) != default:
            parts += [option(name), str(getattr(args, name))]
    return parts
