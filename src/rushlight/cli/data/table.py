"""A CSV file that names pictures: which columns it has, and which task they ask for."""

from __future__ import annotations

import csv
import io
import math
import re
from typing import Any, NamedTuple

from ..errors import UsageError, printable
from ..suggest import did_you_mean
from ..tasks.classification import Classification
from ..tasks.multilabel import Multilabel
from ..tasks.regression import Regression
from ..words import counted
from .inputs import has_commas, is_missing, number_of, numbers_of
from .pictures import ENDINGS

# Names of the parts that people use for folders and in the column of the split.
PARTS = {
    "train": "train", "training": "train", "val": "val", "valid": "val", "validation": "val", "dev": "val",
    "test": "test", "testing": "test",
}  # fmt: skip
_PATHS = ("path", "file", "filename", "image", "file_name", "filepath", "file_path", "image_path", "img_path", "img",
          "image_name")  # fmt: skip
_SPLITS = ("split", "part", "set")
# A column of one of these names is the target, whatever other columns there are.
_LABELS = ("label", "class", "target", "class_name", "category")
_SEVERAL = ("labels", "tags", "classes", "categories")
_VALUES = ("value", "values")
RARE = 5  # lines of each number under "target", at least, where those are names of classes
MOST_CLASSES = 0.5  # of the lines: with more different answers it is no class
_SEPARATORS = (",", ";", "\t")  # in many countries spreadsheets write semicolons
_WORDS = ("none", "-")  # they may be classes, where others are words
_YES, _NO = ("1", "1.0", "true", "yes"), ("0", "0.0", "false", "no", "")
EXPECTED = "path,label[,split], path,value[,split] or path and a column of 0 and 1 for each label"


class Table:
    """The lines of a file by their columns."""

    def __init__(self, path: str) -> None:
        self.path = path
        try:
            text = _text(path)
            first = re.split(r"[\r\n]", text, maxsplit=1)[0]
            self.separator = max(_SEPARATORS, key=first.count)
            rows = list(csv.reader(io.StringIO(text, ""), delimiter=self.separator))
        except (OSError, csv.Error) as error:
            raise UsageError(f"--data {path} cannot be read: {error}") from None
        self.titles = [cell.strip() for cell in (rows[0] if rows else [])]
        self.head = [re.sub(r"[\s-]+", "_", title.lower()) for title in self.titles]
        # With the number that an editor shows.
        self.lines = [(i, row) for i, row in enumerate(rows[1:], 2) if any(cell.strip() for cell in row)]
        self.path_column, self.split_column = self.find(_PATHS), self.find(_SPLITS)
        if self.path_column is None:  # in another language
            self.path_column = next((i for i in range(len(self.head)) if self._has_pictures(i)), None)

    def _has_pictures(self, at: int) -> bool:
        return bool(self.lines) and all(cell.lower().endswith(ENDINGS) for cell in self.column(at))

    def find(self, names: tuple[str, ...]) -> int | None:
        """The column of one of these names."""
        return next((self.head.index(n) for n in names if n in self.head), None)

    def wrong(self, number: int, why: str) -> UsageError:
        return UsageError(f"--data {self.path}, line {number}: {why}")

    def column(self, at: int, needed: str = "") -> list[str]:
        """The cells of a column; where `needed`, none of them may be empty."""
        cells = [row[at].strip() if at < len(row) else "" for _, row in self.lines]
        if needed and "" in cells:
            raise self.wrong(self.lines[cells.index("")][0], f"{needed} expected")
        return cells

    def paths(self) -> list[str]:
        """Of the pictures, as they are written."""
        assert self.path_column is not None
        return self.column(self.path_column, "a path and a label are")

    def parts(self) -> list[str]:
        """train, val or test of each line; "" where there is no such column."""
        if self.split_column is None:
            return [""] * len(self.lines)
        found = [cell.lower() for cell in self.column(self.split_column)]
        for (number, _), part in zip(self.lines, found):
            if part and part not in PARTS:
                raise self.wrong(number, f"split {printable(part)!r}: train, val or test is expected")
        return [PARTS.get(part, "") for part in found]

    def values(self, cells: list[str]) -> list[float]:
        """Cells of a column as numbers, nan where they are none; the comma of many countries is understood where it separates no cells."""
        return numbers_of(cells, self.separator != "," and has_commas(cells)).tolist()

    def numbers(self, at: int) -> list[float]:
        """A column as numbers."""
        cells = self.column(at)
        found = self.values(cells)
        for (number, _), cell, value in zip(self.lines, cells, found):
            if math.isnan(value):
                raise self.wrong(number, f"a number is expected under {self.titles[at]}, not {printable(cell)!r}")
        return found

    def without_answer(self, columns: list[int]) -> list[bool]:
        """Of each line, whether a column has no value: among words `none` and `-` are some, among numbers nothing but numbers is."""
        lost = [False] * len(self.lines)
        for at in columns:
            cells = self.column(at)
            numeric = not any(map(math.isnan, self.values([c for c in cells if not is_missing(c)])))
            lost = [was or (is_missing(c) and (numeric or c.lower() not in _WORDS)) for was, c in zip(lost, cells)]
        return lost

    def leave_out(self, columns: list[int]) -> list[str]:
        """Without the lines that have no answer; a line to tell of them."""
        lost = self.without_answer(columns)
        what = ", ".join(printable(self.titles[i]) for i in columns)
        if all(lost):
            raise UsageError(f"--data {self.path}: no line has a value under {what}: there is nothing to learn")
        self.lines = [line for line, gone in zip(self.lines, lost) if not gone]
        return [f"{counted(sum(lost), 'line')} without a value under {what}: left out."] if any(lost) else []


class Asked(NamedTuple):
    """What a table asks for: the task, its names, a target for each line, and a line to tell."""

    task: str
    names: list[str]
    targets: list[Any]
    notes: list[str]


def asked(table: Table, forced: str | None, wanted: str | None) -> Asked:
    """The task that the columns ask for, or the one that --task forces; `wanted` is the column of --target."""
    others = [i for i, title in enumerate(table.head) if title and i not in (table.path_column, table.split_column)]
    if table.path_column is None or not others:
        found = ", ".join(printable(cell) for cell in table.head[:6]) or "nothing"
        raise UsageError(f"--data {table.path}: its first line must be {EXPECTED}, and it is {found}")
    if not table.lines:
        raise UsageError(f"--data {table.path}: there is no line after the first: path,label is expected")
    if table.titles[table.path_column].lower().endswith(ENDINGS):
        raise UsageError(f"--data {table.path}: its first line names a picture, where {EXPECTED} is expected")
    if wanted is not None:
        columns = _wanted(table, wanted.split(","))
    else:
        named = table.find((*_LABELS, *_SEVERAL, *_VALUES))
        columns = [named] if named is not None else others
    kind = forced or _kind(table, columns)
    notes = table.leave_out(columns) if kind in (Classification.kind, Regression.kind) and len(columns) == 1 else []
    return _of(table, columns, kind, forced, notes)


def asked_of_rows(table: Table, forced: str | None, wanted: str | None) -> tuple[Asked, list[int], list[str]]:
    """The same of a table of values: also the columns that are learnt, and lines to tell.

    Lines without an answer leave the table.
    """
    _check_titles(table)
    notes = []
    if wanted is not None:
        columns = _wanted(table, wanted.split(","))
    else:
        named = table.find((*_LABELS, *_SEVERAL, *_VALUES))
        last = max(i for i in range(len(table.titles)) if i != table.split_column)
        columns = [last if named is None else named]
        if named is None:
            notes.append(
                f"What is learnt is the last column, {printable(table.titles[last])}; --target COLUMN names another."
            )
    notes += table.leave_out(columns)
    what = ", ".join(printable(table.titles[i]) for i in columns)
    for at in columns:
        if table.titles[at] in table.column(at):
            raise UsageError(
                f"--data {table.path}: {printable(table.titles[at])!r} stands in its first line and below it, too: the names of the columns are expected in the first line"
            )
    different = len(set(table.column(columns[0])))
    kind = forced or (Classification.kind if len(columns) == 1 and different == 2 else _kind(table, columns))
    if kind not in (Classification.kind, Regression.kind, Multilabel.kind):
        raise UsageError(f"--task {kind} is for pictures, and --data {table.path} has no column of them")
    if kind == Classification.kind and different > max(2, MOST_CLASSES * len(table.lines)):
        raise UsageError(
            f"--data {table.path}: nearly every line has its own value under {what} ({different:,} of {len(table.lines):,}): --target COLUMN names what is to be learnt"
        )
    found = _of(table, columns, kind, forced, notes)
    return found, columns, found.notes


def _check_titles(table: Table) -> None:
    """UsageError for a table whose first line does not name its columns, or whose lines have more cells."""
    titles = table.titles
    if len(titles) < 2:
        raise UsageError(
            f"--data {table.path}: it has {'one column' if titles else 'no line'}, where {EXPECTED}, or columns of values are expected"
        )
    if not any(math.isnan(number_of(title, table.separator != ",")) for title in titles if title):
        raise UsageError(
            f"--data {table.path}: its first line has numbers, where the names of the columns are expected"
        )
    twice = next((title for i, title in enumerate(titles) if title in titles[:i]), None)
    if twice is not None:
        raise UsageError(f"--data {table.path}: two columns are called {printable(twice)!r}")
    if not table.lines:
        raise UsageError(f"--data {table.path}: there is no line after the first")
    for number, row in table.lines:
        if len(row) > len(titles) and any(cell.strip() for cell in row[len(titles) :]):
            raise table.wrong(number, f"it has {len(row)} cells, and the first line {len(titles)}")


def _of(table: Table, columns: list[int], kind: str, forced: str | None, notes: list[str]) -> Asked:
    """The targets of these columns; `notes` and, where two tasks were possible, which was taken."""
    if kind == Regression.kind:
        rows = list(zip(*(table.numbers(i) for i in columns)))
        if forced is None and len(columns) == 1 and not any(v[0] % 1 for v in rows):
            note = f"The whole numbers under {printable(table.titles[columns[0]])} are taken for values; --task classification takes them for names of classes."
            notes = [*notes, note]
        return Asked(kind, [table.titles[i] for i in columns], rows, notes)
    if kind == Multilabel.kind:
        of = _of_columns(table, columns) if len(columns) > 1 else _of_cells(table, columns[0])
        return of._replace(notes=notes)
    if len(columns) > 1:
        raise UsageError(f"--data {table.path}: {len(columns)} columns beside the path, and none is called label: "
                         f"its first line must be {EXPECTED}")  # fmt: skip
    cells = table.column(columns[0], "a path and a label are")
    names = sorted(set(cells))
    if forced is None and len(names) > 2 and not any(map(math.isnan, table.values(names))):
        note = f"The {len(names)} numbers under {printable(table.titles[columns[0]])} are taken for names of classes; --task regression takes them for values."
        notes = [*notes, note]
    number = {name: i for i, name in enumerate(names)}
    return Asked(kind, names, [number[cell] for cell in cells], notes)


def _wanted(table: Table, names: list[str]) -> list[int]:
    """The columns that --target names."""
    found = []
    for name in names:
        if name.strip() not in table.titles:
            there = ", ".join(printable(title) for title in table.titles)
            raise UsageError(f"--target {name}: {table.path} has the columns {there}{did_you_mean(name, table.titles)}")
        found.append(table.titles.index(name.strip()))
    return found


def _kind(table: Table, columns: list[int]) -> str:
    """The task that these columns ask for."""
    if len(columns) > 1:
        every = [table.column(i) for i in columns]
        if all(cell.lower() in (*_YES, *_NO) for cells in every for cell in cells):
            return Multilabel.kind
        numeric = not any(math.isnan(v) for cells in every for v in table.values(cells))
        return Regression.kind if numeric else Classification.kind
    at = columns[0]
    if _mark(table, at) or (table.head[at] in _SEVERAL and "" in table.column(at)):
        return Multilabel.kind
    values = table.values([cell for cell in table.column(at) if not is_missing(cell)])
    if not values or any(map(math.isnan, values)):
        return Classification.kind
    parts = any(v % 1 for v in values)
    parts = parts or (table.head[at] == "target" and len(set(values)) * RARE > len(values))
    return Regression.kind if parts or table.head[at] not in (*_LABELS, *_SEVERAL) else Classification.kind


def _mark(table: Table, at: int) -> str:
    """What stands between several labels in the cells of a column; "" where none has several."""
    text = "\n".join(table.column(at))
    marks: tuple[str, ...] = ("|",)
    if table.head[at] in _SEVERAL:
        marks = ("|", ";", ",", " ") if table.head[at] == "tags" else ("|", ";", ",")
    return next((mark for mark in marks if mark in text), "")


def _of_cells(table: Table, at: int) -> Asked:
    """Labels that stand together in one cell; an empty cell is a picture without any."""
    mark = _mark(table, at) or "|"
    rows = [sorted({name.strip() for name in cell.split(mark)} - {""}) for cell in table.column(at)]
    names = sorted({name for row in rows for name in row})
    if not names:
        raise UsageError(f"--data {table.path}: no picture has a label")
    number = {name: i for i, name in enumerate(names)}
    return Asked(Multilabel.kind, names, [tuple(number[name] for name in row) for row in rows], [])


def _of_columns(table: Table, columns: list[int]) -> Asked:
    """A column of 0 and 1 for each label."""
    every = []
    for at in columns:
        cells = [cell.lower() for cell in table.column(at)]
        for (number, _), cell in zip(table.lines, cells):
            if cell not in (*_YES, *_NO):
                raise table.wrong(number, f"0 or 1 is expected under {printable(table.titles[at])}, not {printable(cell)!r}")  # fmt: skip
        every.append([cell in _YES for cell in cells])
    rows = [tuple(i for i, yes in enumerate(row) if yes) for row in zip(*every)]
    return Asked(Multilabel.kind, [table.titles[i] for i in columns], rows, [])


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
