"""Which picture has which target: found in folders, in train/val/test folders, or in a CSV file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..errors import UsageError
from ..tasks.classification import Classification
from ..tasks.masks import Mask, Masks
from ..words import counted
from .pictures import ENDINGS, read_mask
from .table import PARTS, Table, asked

TABLES = (".csv", ".tsv")
# What folders of pictures, and of their masks, are called; and what the names of masks end in besides.
_IMAGES = ("images", "image", "imgs", "img", "pictures", "photos", "jpegimages")
_MASKS = ("masks", "mask", "labels", "annotations", "segmentation", "segmentations", "segmentationclass", "trimaps", "gt")  # fmt: skip
_MORE = ("_mask", "-mask", "_label", "_segmentation", "_seg", "_gt")
MOST_VALUES = 64


class Sample(NamedTuple):
    """A picture, its target (what that is the task says), and the part it belongs to ("" where we split)."""

    path: str
    target: Any
    part: str


class Listing(NamedTuple):
    """All pictures of a data set."""

    root: str
    samples: list[Sample]
    classes: list[str]  # the names of the task
    layout: str  # what was found, in words
    others: int  # files that are no pictures
    notes: tuple[str, ...] = ()  # lines on what was left out already
    task: str = Classification.kind


def list_pictures(path: str, task: str | None = None, target: str | None = None) -> Listing:
    """The pictures under a folder, or those that a CSV file names; `task` and `target` are those options."""
    if os.path.isfile(path):
        if path.lower().endswith(TABLES):
            return _from_csv(path, task, target)
        raise UsageError(
            f"--data {path}: a file, where a folder of images or a .csv file (path,label) is expected"
        )
    folders = _folders(path)
    pairs = _pairs(path, folders)
    if pairs and task in (None, Masks.kind):
        return _with_masks(path, pairs)
    table = _table_beside(path, folders)
    if table is not None and task != Masks.kind:
        return _from_csv(table, task, target)
    if task == Masks.kind:
        raise UsageError(f"--task masks needs a folder images and a folder masks with files of the same names, and --data {path} has none")  # fmt: skip
    if task not in (None, Classification.kind):
        raise UsageError(
            f"--task {task} needs a .csv file that names the pictures, and --data {path} is a folder without one"
        )
    parts = {name: PARTS[name.lower()] for name in folders if name.lower() in PARTS}
    if "train" in parts.values() or (parts and set(parts) == set(folders)):
        return _from_parts(path, parts)
    if not folders:
        raise UsageError(f"--data {path}: {_no_classes(path)}")
    samples, others = _of_classes(path, folders, "")
    _check(path, folders)
    return Listing(path, samples, folders, "a folder for each class", others)


def _table_beside(path: str, folders: list[str]) -> str | None:
    """The one table of a folder whose pictures lie in it, or in one folder beside the table."""
    found = [name for name in sorted(os.listdir(path)) if name.lower().endswith(TABLES)]
    if len(found) != 1 or len(folders) > 1:
        return None
    table = os.path.join(path, found[0])
    return table if Table(table).names_pictures() else None


def _folders(path: str) -> list[str]:
    """The names of the folders inside, without hidden ones."""
    try:
        return sorted(e.name for e in os.scandir(path) if e.is_dir() and not _hidden(e.name))
    except OSError as error:
        raise UsageError(f"--data {path} cannot be read: {error.strerror or error}") from None


def _hidden(name: str) -> bool:
    return name.startswith(".") or name in ("__MACOSX", "__pycache__")


def _no_classes(path: str) -> str:
    found = sum(name.lower().endswith(ENDINGS) for name in os.listdir(path))
    if found:
        return (
            f"in it, without a class: {counted(found, 'picture')}; make a class folder for each kind "
            f"({path}/cats/1.jpg), or a .csv file with the columns path,label"
        )
    return "there is neither a class folder nor a picture in it; it needs a folder of pictures per class"


def _of_classes(root: str, classes: list[str], part: str) -> tuple[list[Sample], int]:
    samples, others = [], 0
    for label, name in enumerate(classes):
        for path in walk(os.path.join(root, name)):
            if path.lower().endswith(ENDINGS):
                samples.append(Sample(path, label, part))
            else:
                others += 1
    return samples, others


def _unreadable(error: OSError) -> NoReturn:
    """An error for a folder that cannot be read: its pictures must not be left out in silence."""
    raise UsageError(f"{error.filename} cannot be read: {error.strerror or error}") from None


def walk(folder: str) -> Iterator[str]:
    """All files under a folder, in a fixed order, through links but never twice through the same folder, nor upwards."""
    seen = set(_above(folder))
    for root, inner, files in os.walk(folder, onerror=_unreadable, followlinks=True):
        status = os.stat(root)
        if (status.st_dev, status.st_ino) in seen:
            inner.clear()
            continue
        seen.add((status.st_dev, status.st_ino))
        inner[:] = sorted(name for name in inner if not _hidden(name))
        yield from (os.path.join(root, name) for name in sorted(files) if not _hidden(name))


def _above(folder: str) -> Iterator[tuple[int, int]]:
    """The folders that hold a folder: a link back to one of them would lead to all the other classes."""
    here = os.path.realpath(folder)
    while here != (here := os.path.dirname(here)):
        status = os.stat(here)
        yield status.st_dev, status.st_ino


def _from_parts(path: str, parts: dict[str, str]) -> Listing:
    """FOLDER/train, FOLDER/val and FOLDER/test; the last two may be missing."""
    if "train" not in parts.values():
        raise UsageError(f"--data {path}: there is {', '.join(parts)} but no train folder in it")
    classes: list[str] = []
    samples: list[Sample] = []
    odd: list[str] = []
    others = 0
    for name, part in sorted(parts.items(), key=lambda item: item[1] != "train"):
        inside = os.path.join(path, name)
        found = _folders(inside)
        if part == "train":
            classes = found
            if not classes:
                raise UsageError(f"--data {path}: {_no_classes(inside)}")
        odd += [f"class folder {c!r} of {name} is not in train" for c in found if c not in classes]
        known = [c for c in classes if c in found]
        more, left = _of_classes(inside, known, part)
        samples += [s._replace(target=classes.index(known[s.target])) for s in more]
        others += left
    if odd:
        raise UsageError(f"--data {path}: {'; '.join(odd)}: rename or add what is missing")
    _check(path, classes)
    said = ", ".join(sorted(parts, key=lambda n: ("train", "val", "test").index(parts[n])))
    return Listing(path, samples, classes, f"folders {said}", others)


def _check(path: str, classes: list[str]) -> None:
    """There are two classes or more; that each has pictures is seen once they are looked at."""
    if len(classes) == 1:
        inner = _folders(os.path.join(path, classes[0])) if os.path.isdir(path) else []
        hint = f"did you mean --data {os.path.join(path, classes[0])}?" if len(inner) > 1 else (
            "a classifier needs two or more; add a folder of other pictures")  # fmt: skip
        raise UsageError(f"--data {path}: only one class, {classes[0]!r}: {hint}")


# -- masks ---------------------------------------------------------------------------------------


def _pairs(path: str, folders: list[str]) -> list[tuple[str, str, str]]:
    """Folders of pictures, of their masks, and their part: of the data set itself, or of train, val and test."""
    found = []
    for inner in ("", *(name for name in folders if name.lower() in PARTS)):
        here = os.path.join(path, inner)
        names = folders if not inner else _folders(here)
        mine = [[n for n in names if n.lower() in kinds] for kinds in (_IMAGES, _MASKS)]
        if all(len(one) == 1 for one in mine) and (inner or len(names) == 2):
            found.append(
                (*(os.path.join(here, one[0]) for one in mine), PARTS.get(inner.lower(), ""))
            )
    return found  # type: ignore[return-value]


def _key(path: str, root: str) -> str:
    """What a picture and its mask share: the name without its ending and without what masks are called besides."""
    inside = os.path.splitext(os.path.relpath(path, root))[0]
    return next((inside.removesuffix(more) for more in _MORE if inside.endswith(more)), inside)


def _with_masks(path: str, pairs: list[tuple[str, str, str]]) -> Listing:
    """Pictures and their masks, by name; what values mean is in classes.txt, a name a line, or is the values."""
    found, alone, others = [], 0, 0
    for images, masks, part in pairs:
        of = {_key(p, masks): p for p in walk(masks) if p.lower().endswith(ENDINGS)}
        for picture in walk(images):
            if not picture.lower().endswith(ENDINGS):
                others += 1
            elif (key := _key(picture, images)) in of:
                first = os.path.relpath(picture, images).partition(os.sep)[0].lower()
                found.append((picture, of[key], part or PARTS.get(first, "")))
            else:
                alone += 1
    if not found:
        raise UsageError(f"--data {path}: no picture has a mask of the same name")
    with ThreadPoolExecutor() as pool:
        read = list(pool.map(_values, [mask for _, mask, _ in found]))
    values = sorted({v for seen, _ in read for v in seen})
    notes = [f"{counted(alone, 'picture')} without a mask of the same name: left out."] if alone else []  # fmt: skip
    if len(values) > 2 and 255 in values:
        values.remove(255)
        notes.append("Pixels of the value 255 are not asked for: by custom they are borders.")
    if len(values) > MOST_VALUES:
        raise UsageError(f"--data {path}: the masks have {len(values)} values, and {MOST_VALUES} are the most: save them "
                         "without loss (PNG), a number for each class")  # fmt: skip
    if len(values) < 2:
        raise UsageError(f"--data {path}: the masks have one value only: there is nothing to learn")
    classes = {value: i for i, value in enumerate(values)}
    samples = [Sample(picture, Mask(mask, seen, classes, why), part)
               for (picture, mask, part), (seen, why) in zip(found, read)]  # fmt: skip
    return Listing(path, samples, _names(path, values), "folders of pictures and masks", others, tuple(notes), Masks.kind)  # fmt: skip


def _values(path: str) -> tuple[tuple[int, ...], str]:
    """The values of a mask, or why it cannot be read."""
    try:
        return tuple(np.unique(read_mask(path)).tolist()), ""
    except UsageError as error:
        return (), error.sentence()


def _names(path: str, values: list[int]) -> list[str]:
    try:
        with open(os.path.join(path, "classes.txt"), encoding="utf-8-sig") as f:
            names = [line.strip() for line in f]
    except (OSError, UnicodeDecodeError):
        return (
            ["background", "object"] if values in ([0, 1], [0, 255]) else [str(v) for v in values]
        )
    if len(names) <= values[-1] or not all(names[v] for v in values) or len({names[v] for v in values}) < len(values):  # fmt: skip
        raise UsageError(f"--data {path}: classes.txt needs a name of its own for every value up to {values[-1]}, a line each")  # fmt: skip
    return [names[v] for v in values]


# -- CSV -----------------------------------------------------------------------------------------


def _from_csv(path: str, task: str | None, target: str | None) -> Listing:
    """`path,...[,split]`: what the other columns mean is found in them."""
    table = Table(path)
    found = asked(table, task, target)
    base = os.path.dirname(path)
    folder = _folder_of_pictures(base, table.paths())
    samples = [Sample(_place(folder, name), target, part)
               for name, target, part in zip(table.paths(), found.targets, table.parts())]  # fmt: skip
    if found.task == Classification.kind:
        _check(path, found.names)
    parts = {s.part for s in samples}
    if "" in parts and len(parts) > 1:
        raise UsageError(
            f"--data {path}: the split is given in some lines only: fill in all or none"
        )
    notes = (found.note,) if found.note else ()
    return Listing(path, samples, found.names, "a CSV file", 0, notes, found.task)


def _folder_of_pictures(base: str, names: list[str]) -> str:
    """The table's folder, or the only folder in it where the first picture lies there instead."""
    if os.path.exists(_place(base, names[0])):
        return base
    inner = [os.path.join(base, name) for name in _folders(base or ".")]
    return inner[0] if len(inner) == 1 and os.path.exists(_place(inner[0], names[0])) else base


def _place(base: str, name: str) -> str:
    """The path of a file; backslashes, as Windows writes them, are understood on other systems, too."""
    place = os.path.join(base, name)
    if os.sep == "/" and "\\" in name and not os.path.exists(place):
        return os.path.join(base, name.replace("\\", "/"))
    return place
