"""The data sets of the command line: their classes, their size, how their pixels are scaled."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from . import config
from .errors import UsageError
from .pictures import open_picture


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


# Mean and standard deviation of the training pixels.
_SCALES = {
    "fashion-mini": ((0.2860,), (0.3530,)),
    "fashion-mnist": ((0.2860,), (0.3530,)),
    "mnist": ((0.1307,), (0.3081,)),
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)),
    "cifar100": ((0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)),
}
# Of a folder split by us, one in so many images is kept for the test.
_HELD_OUT = 5


def load_images(name: str, folder: str, augment: bool = False, size: int | None = None) -> Images:
    """The data set `name`, or the folder of images of that name."""
    if name in config.DATA:
        return _named(name, folder, augment, size)
    if os.path.isdir(name):
        return _from_folder(name, augment, size or config.FOLDER_SIZE)
    if os.path.exists(name):
        raise UsageError(f"--data {name}: a file, where a folder of images is expected")
    raise UsageError(f"--data {name}: no such folder, nor one of {', '.join(config.DATA)}")


def _named(name: str, folder: str, augment: bool, size: int | None) -> Images:
    from rushlight.vision import datasets

    mean, std = _SCALES[name]
    pixels = 28 if len(mean) == 1 else 32
    if size not in (None, pixels):
        raise UsageError(f"--size {size}: the images of {name} have {pixels} pixels")
    kinds = {
        "fashion-mini": datasets.FashionMini, "fashion-mnist": datasets.FashionMNIST,
        "mnist": datasets.MNIST, "cifar10": datasets.CIFAR10, "cifar100": datasets.CIFAR100,
    }  # fmt: skip
    where = {} if name == "fashion-mini" else {"root": folder, "download": True}
    both: list[Any] = []
    try:
        for train, transform in zip((True, False), _transforms(mean, std, pixels, augment)):
            both.append(kinds[name](train=train, transform=transform, **where))  # type: ignore[abstract]
    except (RuntimeError, OSError) as error:
        raise UsageError(f"--data {name}: {' '.join(str(error).split())}") from None
    train_set, test_set = both
    return Images(name, train_set, test_set, list(train_set.classes), len(mean), pixels, mean, std)


def _transforms(mean: tuple, std: tuple, pixels: int, augment: bool) -> tuple[Any, Any]:
    """For training and for the test."""
    from rushlight.vision import transforms as t

    last: list[Any] = [t.ToTensor(), t.Normalize(mean, std)]
    first: list[Any] = (
        [t.RandomCrop(pixels, padding=pixels // 8), t.RandomHorizontalFlip()] if augment else []
    )
    return t.Compose([*first, *last]), t.Compose(last)


def _from_folder(folder: str, augment: bool, size: int) -> Images:
    """FOLDER/train and FOLDER/test, or FOLDER/<class>/* of which every fifth image is for the test."""
    from rushlight.vision import transforms as t

    mean = std = (0.5, 0.5, 0.5)
    shape = [t.Resize(size), t.CenterCrop(size)]
    train_t, test_t = (t.Compose([*shape, x]) for x in _transforms(mean, std, size, augment))
    inner = [os.path.join(folder, part) for part in ("train", "test")]
    if os.path.isdir(inner[0]):
        train, test = _class_folders(inner[0], train_t), _class_folders(inner[1], test_t)
        classes = train.classes
        odd = sorted(set(classes) ^ set(test.classes))
        if odd:
            raise UsageError(f"{folder}: class folder {odd[0]!r} is not in both train and test")
    else:
        train, test, classes = _split(folder, train_t, test_t)
    return Images(os.path.abspath(folder), train, test, list(classes), 3, size, mean, std)


def _class_folders(folder: str, transform: Any) -> Any:
    from rushlight.vision.datasets import ImageFolder

    try:
        return ImageFolder(folder, transform=transform, loader=open_picture)
    except OSError as error:
        raise UsageError(f"{folder}: {error}") from None


def _split(folder: str, train_t: Any, test_t: Any) -> tuple[Any, Any, list[str]]:
    """Every fifth image of each class for the test, the others to train."""
    from rushlight.utils.data import Subset

    whole = _class_folders(folder, train_t)
    counts = [0] * len(whole.classes)
    held: list[bool] = []
    for label in whole.targets:
        counts[label] += 1
        held.append(counts[label] % _HELD_OUT == 0)
    few = [c for c, n in zip(whole.classes, counts) if n < _HELD_OUT]
    if few:
        raise UsageError(
            f"{folder}: class folder {few[0]!r} has fewer than {_HELD_OUT} images, too few to keep "
            f"some for the test; add images, or make folders train and test"
        )
    train = Subset(whole, [i for i, h in enumerate(held) if not h])
    test = Subset(_class_folders(folder, test_t), [i for i, h in enumerate(held) if h])
    return train, test, whole.classes
