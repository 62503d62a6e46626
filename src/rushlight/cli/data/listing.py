"""Which picture has which target: found in folders, in train/val/test folders, or in a CSV file."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import Any

from ..errors import UsageError, printable
from ..tasks.boxes import Boxes
from ..tasks.classification import Classification
from ..tasks.masks import Masks
from ..words import counted
from . import texts
from .files import Listing, Sample, folders_in, walk
from .inputs import PICTURES, Inputs
from .outlines import coco_files, with_coco, with_yolo, yolo_pairs
from .paired import pairs, with_masks
from .pictures import ENDINGS
from .rows import Rows, columns_of
from .table import PARTS, Table, asked, asked_of_rows
from .texts import Texts

TABLES = (".csv", ".tsv")
WORDS = 2.0  # on average in a cell: a column of texts
HOLDS = "a folder of pictures or texts for each class; or pictures and a .csv file of their labels or numbers; or the folders images and masks; or pictures and boxes around things in them"
# What else a folder can be, beside one with class folders or a table: the task, what it is found by, and in words.
NEEDED = {
    Boxes.kind: "boxes in a COCO .json file, or folders images and labels with a .txt file for each picture",
    Masks.kind: "a folder images and a folder masks with files of the same names",
}


def list_pictures(path: str, task: str | None = None, target: str | None = None, reads: str | None = None) -> Listing:
    """What lies under a folder, or what a CSV file names or holds; `task`, `target` and `reads` are --task, --target, --input."""
    if os.path.isfile(path):
        if path.lower().endswith(TABLES):
            return _from_csv(path, task, target, reads)
        if path.lower().endswith(".json"):
            return with_coco(os.path.dirname(path) or ".", {path: ""})
        more = "unpack it first" if _packed(path) else f"in such a folder there is {HOLDS}"
        raise UsageError(f"--data {path}: a file, where a folder or a .csv file is expected: {more}")
    folders = folders_in(path)
    notes: tuple[str, ...] = ()
    if reads in (None, PICTURES):
        found, notes = _outlined(path, folders, task)
        if found:
            return found
    table = _table_beside(path, folders, reads)
    if table is not None:
        return _from_csv(table, task, target, reads)
    if task not in (None, Classification.kind):
        raise UsageError(
            f"--task {task} needs a .csv file that tells the answers, and --data {path} is a folder without one"
        )
    if target is not None or reads == Rows.kind:
        what = f"--input {reads}" if target is None else f"--target {target}"
        raise UsageError(f"{what} is for a .csv file, and --data {path} is a folder without one")
    inputs = Texts() if reads == Texts.kind or (reads is None and _has_texts(path)) else None
    parts = {name: PARTS[name.lower()] for name in folders if name.lower() in PARTS}
    if "train" in parts.values() or (parts and set(parts) == set(folders)):
        return _from_parts(path, parts, inputs)
    if not folders:
        raise UsageError(f"--data {path}: {_no_classes(path, inputs)}")
    samples, others = _of_classes(path, folders, "", inputs)
    _check(path, folders)
    return Listing(path, samples, folders, "a folder for each class", others, notes, inputs=inputs)


def _has_texts(path: str) -> bool:
    """Whether there are texts under a folder, and no picture."""
    found = False
    for name in walk(path):
        if name.lower().endswith(ENDINGS):
            return False
        found = found or name.lower().endswith(texts.ENDINGS)
    return found


def _outlined(path: str, folders: list[str], task: str | None) -> tuple[Listing | None, tuple[str, ...]]:
    """Pictures with boxes or masks; or lines on files that look as if they told of boxes, and do not."""
    odd: list[str] = []
    if task in (None, Boxes.kind):
        if found := yolo_pairs(path, folders):
            return with_yolo(path, found), ()
        files, odd = coco_files(path, folders)
        if files:
            return with_coco(path, files), ()
    if task in (None, Masks.kind) and (found := pairs(path, folders)):
        return with_masks(path, found), ()
    if odd and (task == Boxes.kind or len(folders) < 2):  # no classes either: the boxes are what was meant
        raise UsageError(f"--data {odd[0]}")
    if task in NEEDED:
        raise UsageError(f"--task {task} needs {NEEDED[task]}, and --data {path} has none")
    return None, tuple(f"No boxes were found: {why}." for why in odd)


def _packed(name: str) -> bool:
    """Whether a file is an archive, by its name."""
    return name.lower().endswith((".7z", ".rar", *(end for one in shutil.get_unpack_formats() for end in one[1])))


def _table_beside(path: str, folders: list[str], reads: str | None) -> str | None:
    """The one table of a folder whose pictures lie in it, or in one folder beside the table, or which needs no picture."""
    found = [name for name in sorted(os.listdir(path)) if name.lower().endswith(TABLES)]
    if len(found) != 1 or len(folders) > 1:
        return None
    table = os.path.join(path, found[0])
    return table if not folders or Table(table).path_column is not None else None


def _no_classes(path: str, inputs: Inputs | None = None) -> str:
    if inputs is not None:
        return f"its texts have no class; make a class folder for each kind ({path}/good/1.txt), or a .csv file with the columns text,label"
    names = os.listdir(path)
    found = sum(name.lower().endswith(ENDINGS) for name in names)
    if os.sep == "/" and any("\\" in name for name in names):
        return "names in it have a \\ where folders were meant: unpack the archive again, with unzip or 7z"
    if found:
        return (
            f"in it, without a class: {counted(found, 'picture')}; make a class folder for each kind "
            f"({path}/cats/1.jpg), or a .csv file with the columns path,label"
        )
    packed = next((f"unpack {name} first" for name in sorted(names) if _packed(name)), f"it needs {HOLDS}")  # fmt: skip
    return f"there is neither a class folder nor a picture in it; {packed}"


def _of_classes(root: str, classes: list[str], part: str, inputs: Inputs | None) -> tuple[list[Sample], list[str]]:
    samples, others = [], []
    endings = ENDINGS if inputs is None else texts.ENDINGS
    for label, name in enumerate(classes):
        for path in walk(os.path.join(root, name)):
            if path.lower().endswith(endings):
                samples.append(Sample(path, label, part))
            else:
                others.append(path)
    return samples, others


def _from_parts(path: str, parts: dict[str, str], inputs: Inputs | None) -> Listing:
    """FOLDER/train, FOLDER/val and FOLDER/test; the last two may be missing."""
    if "train" not in parts.values():
        raise UsageError(f"--data {path}: there is {', '.join(parts)} but no train folder in it")
    classes: list[str] = []
    samples: list[Sample] = []
    odd: list[str] = []
    others: list[str] = []
    for name, part in sorted(parts.items(), key=lambda item: item[1] != "train"):
        inside = os.path.join(path, name)
        found = folders_in(inside)
        if part == "train":
            classes = found
            if not classes:
                raise UsageError(f"--data {path}: {_no_classes(inside, inputs)}")
        odd += [f"class folder {c!r} of {name} is not in train" for c in found if c not in classes]
        known = [c for c in classes if c in found]
        more, left = _of_classes(inside, known, part, inputs)
        samples += [s._replace(target=classes.index(known[s.target])) for s in more]
        others += left
    if odd:
        raise UsageError(f"--data {path}: {'; '.join(odd)}: rename or add what is missing")
    _check(path, classes)
    said = ", ".join(sorted(parts, key=lambda n: ("train", "val", "test").index(parts[n])))
    return Listing(path, samples, classes, f"folders {said}", others, inputs=inputs)


def _check(path: str, classes: list[str], notes: list[str] | None = None) -> None:
    """There are two classes or more; that each has pictures is seen once they are looked at."""
    if len(classes) == 1:
        inner = folders_in(os.path.join(path, classes[0])) if os.path.isdir(path) else []
        more = "a folder of other pictures or texts" if os.path.isdir(path) else "lines of another"
        hint = f"did you mean --data {shlex.quote(os.path.join(path, classes[0]))}?" if len(inner) > 1 else (
            f"a classifier needs two or more; add {more}")  # fmt: skip
        raise UsageError(
            f"--data {path}: only one class, {classes[0]!r}: {' '.join([hint, *map('({})'.format, notes or [])])}"
        )


# -- CSV -----------------------------------------------------------------------------------------


def _from_csv(path: str, task: str | None, target: str | None, reads: str | None) -> Listing:
    """`path,...[,split]`: what the other columns mean is found in them; without a path a table, or texts."""
    table = Table(path)
    if reads in (Rows.kind, Texts.kind) or (reads is None and table.path_column is None):
        return _of_values(table, task, target, reads)
    found = asked(table, task, target)
    base = os.path.dirname(path)
    folder = _folder_of_pictures(base, table.paths())
    samples = [Sample(_place(folder, name), target, part)
               for name, target, part in zip(table.paths(), found.targets, table.parts())]  # fmt: skip
    if found.task == Classification.kind:
        _check(path, found.names, found.notes)
    _check_parts(path, samples)
    return Listing(path, samples, found.names, "a CSV file", [], tuple(found.notes), found.task)


def _check_parts(path: str, samples: list[Sample]) -> None:
    parts = {s.part for s in samples}
    if "" in parts and len(parts) > 1:
        raise UsageError(f"--data {path}: the split is given in some lines only: fill in all or none")


def _of_values(table: Table, task: str | None, target: str | None, reads: str | None) -> Listing:
    """Rows of values, or the texts of one column, and what is learnt of them."""
    found, columns, notes = asked_of_rows(table, task, target)
    if found.task == Classification.kind:
        _check(table.path, found.names, notes)
    given = [i for i in range(len(table.titles)) if i not in columns and i != table.split_column]
    if not given:
        raise UsageError(
            f"--data {table.path}: beside {', '.join(found.names if found.task != Classification.kind else [table.titles[i] for i in columns])} there is no column to learn from"
        )
    cells = [tuple(row[i].strip() if i < len(row) else "" for i in given) for _, row in table.lines]
    made, told = columns_of([table.titles[i] for i in given], cells, table.separator != ",")
    words = [texts.wordy([row[k] for row in cells]) for k in range(len(given))]
    best = max(range(len(given)), key=lambda k: words[k])
    text = reads == Texts.kind or (
        reads is None and words[best] >= WORDS and not any(c for k, c in enumerate(made) if k != best)
    )
    contents: list[Any]
    if text:
        title = table.titles[given[best]]
        inputs: Inputs = Texts(column=title)
        contents = [row[best] for row in cells]
        if len(given) > 1:
            notes.append(
                f"The texts of column {printable(title)} are read, the other columns are not; --input table takes the columns for values."
            )
    else:
        kept = [k for k, c in enumerate(made) if c is not None]
        if not kept:
            raise UsageError(f"--data {table.path}: no column can be learnt from: {' '.join(told)}")
        inputs = Rows([c for c in made if c is not None])
        contents = [tuple(row[k] for k in kept) for row in cells]
        notes += told
    samples = [Sample(f"line {number}", target, part, content)
               for (number, _), target, part, content in zip(table.lines, found.targets, table.parts(), contents)]  # fmt: skip
    _check_parts(table.path, samples)
    return Listing(table.path, samples, found.names, "a CSV file", [], tuple(notes), found.task, inputs)


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
