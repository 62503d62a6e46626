"""Which picture belongs to which class: found in folders, in train/val/test folders, or in a CSV file."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator
from typing import NamedTuple, NoReturn

from ..errors import UsageError, printable
from .pictures import ENDINGS

# Names of the parts that people use for folders and in a CSV file's third column.
PARTS = {
    "train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val",
    "test": "test", "testing": "test",
}  # fmt: skip
_PATHS = (
    "path",
    "file",
    "filename",
    "image",
    "file_name",
    "filepath",
    "file_path",
    "image_path",
    "img_path",
    "img",
)
_LABELS = ("label", "class", "target", "labels", "class_name", "category")
_SPLITS = ("split", "part", "set")
_SEPARATORS = (",", ";", "\t")  # in many countries spreadsheets write semicolons


class Sample(NamedTuple):
    """A picture, its class, and the part it belongs to ("" where we split)."""

    path: str
    label: int
    part: str


class Listing(NamedTuple):
    """All pictures of a data set."""

    root: str
    samples: list[Sample]
    classes: list[str]
    layout: str  # what was found, in words
    others: int  # files that are no pictures
    notes: tuple[str, ...] = ()  # lines on what was left out already


def list_pictures(path: str) -> Listing:
    """The pictures under a folder, or those that a CSV file names."""
    if os.path.isfile(path):
        if path.lower().endswith((".csv", ".tsv")):
            return _from_csv(path)
        raise UsageError(
            f"--data {path}: a file, where a folder of images or a .csv file (path,label) is expected"
        )
    folders = _folders(path)
    parts = {name: PARTS[name.lower()] for name in folders if name.lower() in PARTS}
    if "train" in parts.values() or (parts and set(parts) == set(folders)):
        return _from_parts(path, parts)
    if not folders:
        raise UsageError(f"--data {path}: {_no_classes(path)}")
    samples, others = _of_classes(path, folders, "")
    _check(path, folders)
    return Listing(path, samples, folders, "a folder for each class", others)


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
            f"{found} pictures lie in it without a class; make a class folder for each kind "
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
        samples += [s._replace(label=classes.index(known[s.label])) for s in more]
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


def _from_csv(path: str) -> Listing:
    """`path,label[,split]`; paths are relative to the file's folder."""
    rows = _rows(path)
    if not rows:
        raise UsageError(f"--data {path}: there is no line after the first: path,label is expected")
    base = os.path.dirname(path)
    classes = sorted({label for _, label, _ in rows})
    number = {name: i for i, name in enumerate(classes)}
    samples = [Sample(_place(base, name), number[label], part) for name, label, part in rows]
    _check(path, classes)
    parts = {s.part for s in samples}
    if "" in parts and len(parts) > 1:
        raise UsageError(
            f"--data {path}: the split is given in some lines only: fill in all or none"
        )
    return Listing(path, samples, classes, "a CSV file", 0)


def _place(base: str, name: str) -> str:
    """The path of a file; backslashes, as Windows writes them, are understood on other systems, too."""
    place = os.path.join(base, name)
    if os.sep == "/" and "\\" in name and not os.path.exists(place):
        return os.path.join(base, name.replace("\\", "/"))
    return place


def _rows(path: str) -> list[tuple[str, str, str]]:
    try:
        text = _text(path)
        first = re.split(r"[\r\n]", text, maxsplit=1)[0]
        table = csv.reader(io.StringIO(text, ""), delimiter=max(_SEPARATORS, key=first.count))
        head = [re.sub(r"[\s-]+", "_", cell.strip().lower()) for cell in next(table, [])]
        return list(_cells(path, table, *_columns(path, head)))
    except (OSError, csv.Error) as error:
        raise UsageError(f"--data {path} cannot be read: {error}") from None


def _text(path: str) -> str:
    """The file as text: UTF-8, or UTF-16 where its first bytes say so."""
    with open(path, "rb") as f:
        content = f.read()
    coding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        return content.decode(coding)
    except UnicodeDecodeError:
        raise UsageError(
            f"--data {path} is not UTF-8 text: save it as UTF-8 (spreadsheets offer `CSV UTF-8`)"
        ) from None


def _columns(path: str, head: list[str]) -> tuple[int, int, int | None]:
    """Where the path, the label and perhaps the split are."""
    places = [next((head.index(n) for n in names if n in head), None)
              for names in (_PATHS, _LABELS, _SPLITS)]  # fmt: skip
    if places[0] is None or places[1] is None:
        found = ", ".join(printable(cell) for cell in head[:6]) or "nothing"
        raise UsageError(
            f"--data {path}: its first line must be path,label[,split], and it is {found}"
        )
    return places[0], places[1], places[2]


def _cells(
    path: str, table: Iterator[list[str]], at: int, label: int, split: int | None
) -> Iterator:
    for number, row in enumerate(table, 2):
        if not any(cell.strip() for cell in row):
            continue
        if len(row) <= max(at, label, split or 0) or not row[at].strip() or not row[label].strip():
            raise UsageError(f"--data {path}, line {number}: a path and a label are expected")
        part = row[split].strip().lower() if split is not None else ""
        if part and part not in PARTS:
            raise UsageError(
                f"--data {path}, line {number}: split {printable(part)!r}: train, val or test is expected"
            )
        yield row[at].strip(), row[label].strip(), PARTS.get(part, "")
