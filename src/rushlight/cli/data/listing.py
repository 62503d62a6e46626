"""Which picture has which target: found in folders, in train/val/test folders, or in a CSV file."""

from __future__ import annotations

import os

from ..errors import UsageError
from ..tasks.boxes import Boxes
from ..tasks.classification import Classification
from ..tasks.masks import Masks
from ..words import counted
from .files import Listing, Sample, folders_in, walk
from .outlines import coco_files, with_coco, with_yolo, yolo_pairs
from .paired import pairs, with_masks
from .pictures import ENDINGS
from .table import PARTS, Table, asked

TABLES = (".csv", ".tsv")
# What else a folder can be, beside one with class folders or a table: the task, what it is found by, and in words.
NEEDED = {
    Boxes.kind: "boxes in a COCO .json file, or folders images and labels with a .txt file for each picture",
    Masks.kind: "a folder images and a folder masks with files of the same names",
}


def list_pictures(path: str, task: str | None = None, target: str | None = None) -> Listing:
    """The pictures under a folder, or those that a CSV file names; `task` and `target` are those options."""
    if os.path.isfile(path):
        if path.lower().endswith(TABLES):
            return _from_csv(path, task, target)
        if path.lower().endswith(".json"):
            return with_coco(os.path.dirname(path) or ".", {path: ""})
        raise UsageError(
            f"--data {path}: a file, where a folder of images or a .csv file (path,label) is expected"
        )
    folders = folders_in(path)
    if task in (None, Boxes.kind):
        if found := yolo_pairs(path, folders):
            return with_yolo(path, found)
        if files := coco_files(path, folders):
            return with_coco(path, files)
    if task in (None, Masks.kind) and (found := pairs(path, folders)):
        return with_masks(path, found)
    if task in NEEDED:
        raise UsageError(f"--task {task} needs {NEEDED[task]}, and --data {path} has none")
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
        found = folders_in(inside)
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
        inner = folders_in(os.path.join(path, classes[0])) if os.path.isdir(path) else []
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
    inner = [os.path.join(base, name) for name in folders_in(base or ".")]
    return inner[0] if len(inner) == 1 and os.path.exists(_place(inner[0], names[0])) else base


def _place(base: str, name: str) -> str:
    """The path of a file; backslashes, as Windows writes them, are understood on other systems, too."""
    place = os.path.join(base, name)
    if os.sep == "/" and "\\" in name and not os.path.exists(place):
        return os.path.join(base, name.replace("\\", "/"))
    return place
