"""Which picture has which target: found in folders, in train/val/test folders, or in a CSV file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, NamedTuple, NoReturn

from ..errors import UsageError
from ..tasks.classification import Classification
from ..words import counted
from .pictures import ENDINGS
from .table import PARTS, Table, asked

TABLES = (".csv", ".tsv")


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
    table = _table_beside(path, folders)
    if table is not None:
        return _from_csv(table, task, target)
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
