"""Finding and reading the data sets of the command line: by name, in folders, from a CSV file."""

from __future__ import annotations

import os
from typing import Any

from .. import config
from ..errors import UsageError
from ..suggest import did_you_mean
from ..tasks.classification import Classification
from . import augment
from .folders import from_listing
from .images import Images, Source
from .inputs import PICTURES
from .listing import list_pictures

# Mean and standard deviation of the training pixels.
_SCALES = {
    "fashion-mini": ((0.2860,), (0.3530,)),
    "fashion-mnist": ((0.2860,), (0.3530,)),
    "mnist": ((0.1307,), (0.3081,)),
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "cifar100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
}


def find_source(name: str, task: str | None = None, target: str | None = None, reads: str | None = None) -> Source:
    """The data set `name`, the folder or the CSV file of that name; `task`, `target` and `reads` are --task, --target and --input."""
    if name in config.DATA:
        if target is not None or reads not in (None, PICTURES) or task not in (None, Classification.kind):
            what = (
                f"--target {target}"
                if target is not None
                else f"--task {task}"
                if reads in (None, PICTURES)
                else f"--input {reads}"
            )
            raise UsageError(f"{what} is for a .csv file, and {name} is a data set of pictures in classes")
        return Source(name, None)
    if os.path.exists(name):
        return Source(os.path.abspath(name), list_pictures(name, task, target, reads))
    beside = os.path.dirname(name) or "."
    near = [os.path.join(os.path.dirname(name), n) for n in _inside(beside)]
    hint = did_you_mean(name, [*config.DATA, *near])
    raise UsageError(f"--data {name}: no such folder or .csv file, nor one of {', '.join(config.DATA)}{hint}")


def _inside(folder: str) -> list[str]:
    try:
        return [e.name for e in os.scandir(folder) if e.is_dir() or e.name.endswith(".csv")][:1000]
    except OSError:
        return []


def load_images(source: Source, settings: Any) -> Images:
    """Read a data set as the settings say: data_dir, size, augment, val_split, test_split, cache, ..."""
    if source.listing is not None:
        return from_listing(source.name, source.listing, settings)
    return _named(source.name, settings)


def _named(name: str, settings: Any) -> Images:
    from rushlight.vision import datasets

    mean, std = _SCALES[name]
    if settings.fold:
        raise UsageError(f"--folds draws the test parts itself, and {name} has one already")
    pixels = 28 if len(mean) == 1 else 32
    if settings.size not in (None, pixels):
        raise UsageError(f"--size {settings.size}: the images of {name} have {pixels} pixels: leave --size out")
    kinds: dict[str, Any] = {
        "fashion-mini": datasets.FashionMini, "fashion-mnist": datasets.FashionMNIST,
        "mnist": datasets.MNIST, "cifar10": datasets.CIFAR10, "cifar100": datasets.CIFAR100,
    }  # fmt: skip
    where = {} if name == "fashion-mini" else {"root": settings.data_dir, "download": True}
    varied, plain = augment.for_fixed_size(pixels, settings.augment, mean, std, settings.erase)
    try:
        train = kinds[name](train=True, transform=varied, **where)
        again = kinds[name](train=True, transform=plain, **where)
        test = kinds[name](train=False, transform=plain, **where)
    except (RuntimeError, OSError) as error:
        raise UsageError(f"--data {name}: {' '.join(str(error).split())}") from None
    classes = list(train.classes)
    task = Classification(classes)
    parts, targets = _validation(train, again, settings.val_split)
    return Images(name, parts[0], parts[1], test, task, len(mean), pixels, mean, std, task.counts(targets), targets)


def _validation(train: Any, again: Any, share: float) -> tuple[tuple, list[int]]:
    """The training part and the validation part, always the same, and the first one's targets; `again` is not augmented."""
    import numpy as np

    from rushlight.utils.data import Subset

    targets = np.asarray(train.targets)
    order = np.random.default_rng(0).permutation(len(targets))
    held = round(len(targets) * share)
    keep = np.sort(order[held:])
    kept = targets[keep].tolist()
    if not held:
        return (train, None), kept
    return (Subset(train, keep.tolist()), Subset(again, np.sort(order[:held]).tolist())), kept
