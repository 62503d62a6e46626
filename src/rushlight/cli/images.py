"""The data sets of the command line: their classes, their size, how their pixels are scaled."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from .errors import UsageError

NAMES = ("fashion-mini", "fashion-mnist", "mnist", "cifar10", "cifar100")


@dataclass(frozen=True)
class Images:
    """A training set, a test set and what the network must know of them."""

    name: str
    train: Any
    test: Any
    classes: list[str]
    channels: int
    size: int
    mean: tuple[float, ...]
    std: tuple[float, ...]


_SCALES = {
    "fashion-mini": ((0.2860,), (0.3530,)),
    "fashion-mnist": ((0.2860,), (0.3530,)),
    "mnist": ((0.1307,), (0.3081,)),
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "cifar100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
}


def load_images(name: str, folder: str, augment: bool = False, size: int | None = None) -> Images:
    """The data set `name`, or the folder of images of that name."""
    from rushlight.vision import datasets

    if os.path.isdir(name) and name not in NAMES:
        return _from_folder(name, augment, size or 32)
    if name not in NAMES:
        raise UsageError(f"--data {name}: neither a folder nor one of {', '.join(NAMES)}")
    mean, std = _SCALES[name]
    pixels = 28 if len(mean) == 1 else 32
    train_t, test_t = _transforms(mean, std, pixels, augment)
    kinds = {
        "fashion-mnist": datasets.FashionMNIST, "mnist": datasets.MNIST,
        "cifar10": datasets.CIFAR10, "cifar100": datasets.CIFAR100,
    }  # fmt: skip
    try:
        if name == "fashion-mini":
            train = datasets.FashionMini(train=True, transform=train_t)
            test = datasets.FashionMini(train=False, transform=test_t)
        else:
            train = kinds[name](folder, train=True, download=True, transform=train_t)
            test = kinds[name](folder, train=False, download=True, transform=test_t)
    except (RuntimeError, OSError) as error:
        raise UsageError(f"--data {name}: {error}") from None
    return Images(name, train, test, list(train.classes), len(mean), pixels, mean, std)


def _transforms(mean: tuple, std: tuple, pixels: int, augment: bool) -> tuple[Any, Any]:
    from rushlight.vision import transforms as t

    last = [t.ToTensor(), t.Normalize(mean, std)]
    first = [t.RandomCrop(pixels, padding=pixels // 8), t.RandomHorizontalFlip()] if augment else []
    return t.Compose([*first, *last]), t.Compose(last)


def _from_folder(folder: str, augment: bool, size: int) -> Images:
    """FOLDER/train and FOLDER/test, or FOLDER/<class>/* of which every fifth image is for the test."""
    from rushlight.data import Subset
    from rushlight.vision import datasets
    from rushlight.vision import transforms as t

    mean = std = (0.5, 0.5, 0.5)
    shape = [t.Resize(size), t.CenterCrop(size)]
    train_t, test_t = (t.Compose([*shape, x]) for x in _transforms(mean, std, size, augment))
    inner = os.path.join(folder, "train")
    try:
        if os.path.isdir(inner):
            train: Any = datasets.ImageFolder(inner, transform=train_t)
            test: Any = datasets.ImageFolder(os.path.join(folder, "test"), transform=test_t)
            if train.classes != test.classes:
                odd = sorted(set(train.classes) ^ set(test.classes))
                raise UsageError(f"{folder}: class folder {odd[0]!r} is not in both train and test")
            classes = train.classes
        else:
            whole = datasets.ImageFolder(folder, transform=train_t)
            plain = datasets.ImageFolder(folder, transform=test_t)
            classes = whole.classes
            held = [i for i in range(len(whole)) if i % 5 == 4]
            train = Subset(whole, [i for i in range(len(whole)) if i % 5 != 4])
            test = Subset(plain, held)
    except FileNotFoundError as error:
        raise UsageError(f"{folder}: {error}") from None
    if not len(train) or not len(test):
        raise UsageError(f"{folder}: too few images to train and to test")
    return Images(os.path.abspath(folder), train, test, list(classes), 3, size, mean, std)
