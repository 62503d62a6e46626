"""Rows of a table: which columns are numbers, dates and categories, and how a row becomes a vector."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from html import escape
from typing import Any, NamedTuple

import numpy as np

from ..errors import UsageError, printable, short
from ..words import counted
from .inputs import Inputs, Item, has_commas, is_missing, numbers_of

NUMBER, DATE, CATEGORY = "number", "date", "category"
MOSTLY = 0.95  # of the cells that are there: so many numbers make a column of numbers
MOST_VALUES = 50  # of a category; rarer ones are one value together
KNOTS = 33  # of the curve that spreads the values of a column evenly
FARTHEST = 5.0  # spreads: values beyond count as these
_DATES = ("%d.%m.%Y", "%d.%m.%Y %H:%M", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d")
SHUFFLES, MOST_MIXED = 5, 200  # of a column, to see how much the answers need it; columns of which that is seen
Row = tuple[str, ...]


class Column(NamedTuple):
    """A column that the network is given; numbers less their mean over their spread, dates in days."""

    name: str
    kind: str
    missing: bool = False  # whether cells are missing in training
    mean: float = 0.0
    spread: float = 1.0
    knots: tuple[float, ...] = ()  # values with as many rows between each two
    values: tuple[str, ...] = ()  # of a category
    format: str = ""  # of a date
    comma: bool = False  # whether numbers have a comma where others have a point

    @property
    def numbers(self) -> int:
        """How many numbers of the network's input it is."""
        return {NUMBER: 2, DATE: 5, CATEGORY: 0}[self.kind] + self.missing * (self.kind != CATEGORY)


def days_of(cell: str, form: str) -> float:
    """A date as days since 1970; nan where it is none."""
    try:
        found = datetime.fromisoformat(cell) if form == "iso" else datetime.strptime(cell, form)
        return (found.replace(tzinfo=None) - datetime(1970, 1, 1)).total_seconds() / 86400
    except (ValueError, OverflowError):
        return math.nan


def date_format(cells: Sequence[str]) -> str:
    """How dates are written; "" where these are none."""
    some = cells[:50]
    forms = ["iso", *_DATES] if some and re.search(r"\d[-./]\d", some[0]) else []
    for form in forms:
        if all(not math.isnan(days_of(c, form)) for c in some) and _mostly(days_of(c, form) for c in cells):
            return form
    return ""


def _mostly(values: Any) -> bool:
    known = [not math.isnan(v) for v in values]
    return sum(known) >= MOSTLY * len(known)


class Rows(Inputs):
    """A row is the cells of the columns that are used, as text."""

    kind, noun, model, input = "table", "row", "mlp", "row"
    asked = "ROWS.csv"
    networks = {"mlp": {"batch_size": 64, "lr": 2e-3, "weight_decay": 0.05, "minutes": 1.0}}

    def __init__(self, columns: Sequence[Column]) -> None:
        self._take(columns)

    def _take(self, columns: Sequence[Column]) -> None:
        self.columns = list(columns)
        self.size = sum(c.numbers for c in columns) + sum(c.kind == CATEGORY for c in columns)

    # -- learning the columns

    def learn(self, contents: Sequence[Row]) -> None:
        self._take([_learnt(c, [row[i] for row in contents]) for i, c in enumerate(self.columns)])

    def encode(self, contents: Sequence[Row]) -> np.ndarray:
        numbers: list[np.ndarray] = []
        codes: list[np.ndarray] = []
        for i, column in enumerate(self.columns):
            cells = [row[i].strip() for row in contents]
            if column.kind == CATEGORY:
                at = {value: n for n, value in enumerate(column.values, 1)}
                codes.append(np.array([at.get(c, 0) for c in cells], np.float64))
            else:
                numbers += _spread(column, _values(column, cells))
        made = np.stack([*numbers, *codes], 1) if numbers or codes else np.zeros((len(contents), 0))
        return made.astype(np.float32)

    def places(self) -> list[list[int]]:
        """Of each column, where in the network's input it is."""
        found, at, code = [], 0, sum(c.numbers for c in self.columns)
        for column in self.columns:
            if column.kind == CATEGORY:
                found.append([code])
                code += 1
            else:
                found.append(list(range(at, at + column.numbers)))
                at += column.numbers
        return found

    def network(self, classes: int, width: float) -> Any:
        from ..training.readers import OfRows

        sizes = [len(c.values) + 1 for c in self.columns if c.kind == CATEGORY]
        return OfRows(sum(c.numbers for c in self.columns), sizes, classes, width)

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "columns": [{**c._asdict(), "knots": list(c.knots), "values": list(c.values)} for c in self.columns]}  # fmt: skip

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Rows:
        columns = []
        for one in found["columns"]:
            c = Column(**{**one, "knots": tuple(map(float, one["knots"])), "values": tuple(one["values"])})
            texts = (c.name, c.format, *c.values)
            if c.kind not in (NUMBER, DATE, CATEGORY) or not all(type(v) is str for v in texts) or not c.spread > 0 or not math.isfinite(c.mean):  # fmt: skip
                raise ValueError("a column is not what it should be")
            columns.append(c)
        if not columns:
            raise ValueError("there are no columns")
        return cls(columns)

    def example(self) -> Row:
        return ("",) * len(self.columns)

    # -- what is asked

    def items(self, given: list[str]) -> Iterator[Item]:
        for word in given:
            if word == "-":
                yield from self._of_lines("standard input", list(csv.reader(sys.stdin)))
            elif os.path.isfile(word):
                from .table import Table

                table = Table(word)
                yield from self._of_lines(word, [table.titles, *(row for _, row in table.lines)])
            elif "=" in word:
                pairs = [cell.partition("=") for cell in next(csv.reader([word]))]
                try:
                    yield Item(word, self.row({name.strip(): cell.strip() for name, _, cell in pairs}))
                except ValueError as error:
                    yield Item(word, None, str(error))
            else:
                yield Item(word, None, f"{word}: no such file; a row is written as {self._sample()}")

    def _of_lines(self, name: str, lines: list[list[str]]) -> Iterator[Item]:
        titles = [cell.strip() for cell in lines[0]] if lines else []
        lost = [c.name for c in self.columns if c.name not in titles]
        if lost:
            raise UsageError(f"{name}: its first line has no column {', '.join(map(printable, lost[:8]))}, which the network was trained with")  # fmt: skip
        at = [titles.index(c.name) for c in self.columns]
        for number, row in enumerate(lines[1:], 2):
            if any(cell.strip() for cell in row):
                yield Item(f"{name}:{number}", tuple(row[i] if i < len(row) else "" for i in at))

    def _sample(self) -> str:
        """A row as the command line has it."""
        shown = [f"{printable(c.name)}={c.values[0] if c.values else f'{c.mean:.3g}'}" for c in self.columns[:3]]
        return ",".join(shown) + (",..." if len(self.columns) > 3 else "")

    def row(self, found: dict[str, Any]) -> Row:
        """Cells by their columns; what is not said is missing. ValueError for what the network does not know."""
        names = [c.name for c in self.columns]
        odd = [str(name) for name in found if name not in names]
        if len(odd) == len(found):
            raise ValueError(f"none of its columns is known; they are {', '.join(map(printable, names[:20]))}")
        cells = []
        for c in self.columns:
            value = found.get(c.name, "")
            if isinstance(value, (dict, list)):
                raise ValueError(f"{printable(c.name)} must be a number or a text")
            cell = "" if value is None else str(value).strip()
            if c.kind != CATEGORY and not is_missing(cell) and math.isnan(_values(c, [cell])[0]):
                raise ValueError(f"{printable(c.name)}: {short(cell)!r} is no {c.kind}")
            cells.append(cell)
        return tuple(cells)

    def parsed(self, content: bytes) -> list[Row]:
        try:
            found = json.loads(content)
        except ValueError:
            raise ValueError('send a row as JSON: {"column": value, ...}, or a list of those') from None
        several = found if isinstance(found, list) else [found]
        if not several or len(several) > 1000 or not all(isinstance(one, dict) for one in several):
            raise ValueError("send an object for each row, by the names of the columns; 1,000 at most")
        return [self.row(one) for one in several]

    def baseline(self, images: Any) -> tuple[str, Any] | str:
        from ..training.baseline import boosting

        codes = sum(c.numbers for c in self.columns)
        return boosting(images.task, list(range(codes, self.size)))

    # -- what people read

    def told(self) -> str:
        often = Counter(c.kind for c in self.columns)
        many = {NUMBER: "numbers", DATE: "dates", CATEGORY: "categories"}
        said = [counted(often[k], k, many[k]) for k in many if often[k]]
        return f"{counted(len(self.columns), 'column')} ({', '.join(said)})"

    def page(self) -> dict[str, Any]:
        fields = [{"name": c.name, "kind": c.kind, "values": list(c.values), "example": "" if c.kind != NUMBER else f"{c.mean:.4g}"} for c in self.columns]  # fmt: skip
        return {"kind": self.kind, "columns": fields}

    def figure(self, content: Row, caption: str, weights: Any = None) -> str:
        cells = "".join(f"<tr><td>{escape(short(c.name))}</td><td class='n'>{escape(short(cell)) or '–'}</td></tr>" for c, cell in list(zip(self.columns, content))[:12])  # fmt: skip
        more = f"<tr><td class='faint'>and {len(self.columns) - 12} more</td><td></td></tr>" if len(self.columns) > 12 else ""  # fmt: skip
        return f"<div class='card scroll'>{caption}<table>{cells}{more}</table></div>"

    def sections(self, images: Any, extra: dict[str, Any]) -> str:
        from ..report import svg

        needed = extra.get("importance", {})
        most = max([*needed.values(), 1e-9])
        order = sorted(needed.items(), key=lambda p: -p[1])
        drawn = svg.bars([(short(name), [("one", max(v, 0) / most, f"{max(v, 0):.3f}")]) for name, v in order])
        few = f" Of {len(self.columns):,} columns it is shown for the {len(order)} that move single answers most." if len(order) < len(self.columns) else ""  # fmt: skip
        lines = []
        for i, c in enumerate(self.columns):
            cells = [row[i].strip() for row in images.train.contents]
            lost = sum(map(is_missing, cells))
            lines.append(f"<tr><td>{escape(short(c.name))}</td><td>{c.kind}</td><td class='n'>{lost / max(len(cells), 1):.0%}</td><td>{escape(_shown(c))}</td></tr>")  # fmt: skip
        return (
            "<h2>The columns</h2><div class='grid-2'><div class='card'><h3>what the answers need</h3>"
            f"{drawn}<p class='faint'>How much the {escape(images.task.score_name)} of the test falls where the cells of a column are mixed among the rows "
            f"(mean of {SHUFFLES} times).{few} Columns that say the same share what they are worth.</p></div>"
            "<div class='card scroll'><h3>what the network is given</h3><table><thead><tr><th>column</th><th>kind</th><th class='n'>missing</th>"
            f"<th>values</th></tr></thead><tbody>{''.join(lines)}</tbody></table></div></div>"
        )

    def extra(self, images: Any, net: Any) -> dict[str, Any]:
        """How much the test's score falls where a column is mixed."""
        import rushlight as rl

        from ..tasks.task import measure

        test, draw = images.test, np.random.default_rng(0)
        if len(test) < 2:
            return {}
        y = np.stack([np.asarray(images.task.tensor(t)) for t in test.targets])

        def score(x: np.ndarray) -> float:
            batches = [(rl.from_numpy(x[i : i + 4096]), rl.from_numpy(y[i : i + 4096])) for i in range(0, len(x), 4096)]
            return measure(images.task, net, batches, "cpu").score

        whole, falls = score(test.x), {}
        for i, places in self._heard(test.x, net, draw):
            scores = []
            for _ in range(SHUFFLES):
                mixed = test.x.copy()
                mixed[:, places] = mixed[draw.permutation(len(mixed))][:, places]
                scores.append(score(mixed))
            falls[self.columns[i].name] = round(whole - float(np.mean(scores)), 6)
        return {"importance": falls}

    def _heard(self, x: np.ndarray, net: Any, draw: np.random.Generator) -> list[tuple[int, list[int]]]:
        """The numbers and places of the columns that move answers most, where they alone are another row's."""
        import rushlight as rl

        places, moved = list(enumerate(self.places())), np.zeros(len(self.columns))
        if len(places) <= MOST_MIXED:
            return places
        with rl.no_grad():
            for _ in range(SHUFFLES):
                of, other = draw.integers(0, len(x), (2, len(places)))
                mixed = x[of]
                for i, at in places:
                    mixed[i, at] = x[other[i], at]
                moved += (net(rl.from_numpy(mixed)) - net(rl.from_numpy(x))[of]).float().abs().sum(1).numpy()
        return [places[i] for i in np.sort(moved.argsort()[-MOST_MIXED:])]

    def about(self) -> dict[str, str]:
        return {"columns": json.dumps(self.as_dict()["columns"]), "places": json.dumps(self.places())}


def _shown(c: Column) -> str:
    """What a column holds, in few words."""
    if c.kind == CATEGORY:
        more = f" and {len(c.values) - 6} more" if len(c.values) > 6 else ""
        return ", ".join(short(v, 20) for v in c.values[:6]) + more
    if c.kind == DATE and c.knots:
        return " to ".join(str(np.datetime64(int(day), "D")) for day in (c.knots[0], c.knots[-1]))
    return f"{c.knots[0]:.4g} to {c.knots[-1]:.4g}, mean {c.mean:.4g}" if c.knots else ""


def _values(column: Column, cells: Sequence[str]) -> np.ndarray:
    """Numbers or days; nan where there are none."""
    if column.kind == DATE:
        return np.array([days_of(c, column.format) for c in cells], np.float64)
    most = float(np.finfo(np.float32).max)  # whose square float64 holds
    return numbers_of(cells, column.comma).clip(-most, most)


def _spread(column: Column, values: np.ndarray) -> list[np.ndarray]:
    """A column of numbers for the network: in spreads, evenly from -1 to 1, dates also by the year and the week; whether it is missing."""
    lost = np.isnan(values)
    values = np.where(lost, column.mean, values)
    made = [((values - column.mean) / column.spread).clip(-FARTHEST, FARTHEST)]
    ranks = np.linspace(-1, 1, len(column.knots)) if len(column.knots) > 1 else np.zeros(1)
    made.append(np.interp(values, column.knots or (0.0,), ranks) * ~lost)
    if column.kind == DATE:
        turn = 2 * np.pi * values / 365.2425
        made += [np.sin(turn), np.cos(turn), np.floor(values + 3) % 7 / 3 - 1]
    return [*made, lost.astype(np.float64)] if column.missing else made


def _learnt(column: Column, cells: list[str]) -> Column:
    """A column with what its cells in training tell."""
    cells = [c.strip() for c in cells]
    missing = any(map(is_missing, cells))
    if column.kind == CATEGORY:
        often = Counter(c for c in cells if not is_missing(c))
        kept = sorted(v for v, n in often.most_common(MOST_VALUES) if n > 1 or len(cells) < 20)
        return column._replace(missing=missing, values=tuple(kept))
    values = _values(column, cells)
    missing, values = bool(np.isnan(values).any()), values[~np.isnan(values)]
    if not len(values):
        return column._replace(missing=True)
    knots = np.unique(np.quantile(values, np.linspace(0, 1, KNOTS)))
    spread = float(values.std()) or 1.0
    return column._replace(missing=missing, mean=float(values.mean()), spread=spread, knots=tuple(knots.tolist()))


# -- looking at a table --------------------------------------------------------------------------


def columns_of(titles: Sequence[str], rows: Sequence[Row], comma: bool) -> tuple[list[Column | None], list[str]]:
    """What each column is, None where it is left out; and lines that tell of it."""
    found: list[Column | None] = []
    notes: list[str] = []
    for i, title in enumerate(titles):
        cells = [row[i].strip() for row in rows]
        there = [c for c in cells if not is_missing(c)]
        column, note = _column(title, there, comma)
        found.append(column)
        if column is not None and (lost := len(cells) - len(there)):
            note += f"{printable(title)}: {counted(lost, 'cell')} of {len(cells):,} missing. "
        if note:
            notes.append(note.strip())
    return found, notes


def _column(title: str, there: list[str], comma: bool) -> tuple[Column | None, str]:
    name = printable(title)
    different = len(set(there))
    if different < 2:
        return None, f"Left out column {name}: {'it has one value only' if there else 'it is empty'}."
    comma = comma and has_commas(there)
    values = numbers_of(there, comma)
    odd = [c for c, v in zip(there, values) if math.isnan(v)]
    word = len(set(odd)) == 1 and 2 * len(odd) < len(there) and different > MOST_VALUES  # that says that nobody knows
    if len(odd) <= (1 - MOSTLY) * len(there) or word:
        note = f"{name}: {counted(len(odd), 'cell')} no finite number, the first is {short(odd[0])!r}: taken for missing. " if odd else ""  # fmt: skip
        if not odd and different == len(there) and _counts(title, values):
            return None, f"Left out column {name}: every row has its own number, in order, as names of rows have."
        return Column(title, NUMBER, comma=comma), note
    if form := date_format(there):
        note = f"{name}: dates are read as {'day/month/year' if form == '%d/%m/%Y' else 'month/day/year'}. " if "/" in form and form != "%Y/%m/%d" else ""  # fmt: skip
        return Column(title, DATE, format=form), note
    if different > max(MOST_VALUES, 0.5 * len(there)) or (different > 0.9 * len(there) > 18):
        words = sum(map(len, map(str.split, there))) / len(there)
        what = "texts, which a table's network does not read (--input text does)" if words >= 3 else "nearly every row has its own value, as names of rows have"  # fmt: skip
        return None, f"Left out column {name}: {what}."
    return Column(title, CATEGORY), ""


def _counts(title: str, values: np.ndarray) -> bool:
    """Whether these number the rows."""
    steps = np.diff(values)
    named = re.search(r"(^|_|\b)(id|index|no|nr|key|row)$", re.sub(r"[\s-]+", "_", title.lower()))
    whole = bool((values == np.floor(values)).all())
    return whole and (named is not None or (len(values) > 20 and bool((steps == 1).all())))


def leaks(columns: Sequence[Column], rows: Sequence[Row], targets: Sequence[Any]) -> list[str]:
    """Columns that alone tell the answer: it may be known only afterwards."""
    if len(rows) < 20:
        return []
    kinds = {t if not isinstance(t, tuple) else t[:1] for t in targets}
    first = [t[0] if isinstance(t, tuple) and len(t) == 1 else t for t in targets]
    if isinstance(first[0], tuple) or len(kinds) < 2:
        return []
    numeric = isinstance(first[0], float)
    found = []
    for i, column in enumerate(columns):
        cells = [row[i].strip() for row in rows]
        if column.kind == CATEGORY:
            pairs = {(c, t) for c, t in zip(cells, first)}
            tells = not numeric and len(pairs) == len(set(cells)) and 4 * len(set(cells)) < len(rows)
        else:
            values = _values(column, cells)
            known = ~np.isnan(values)
            if known.sum() < 20:
                continue
            told = np.asarray(first, np.float64)[known]
            tells = _tells(values[known], told, numeric)
        if tells:
            found.append(f"{printable(column.name)} alone tells the answer: where it is known only afterwards, take the column out of the file.")  # fmt: skip
    return found


def _tells(values: np.ndarray, told: np.ndarray, numeric: bool) -> bool:
    """Whether one column of numbers is enough to know the answer of every row."""
    if numeric:
        spread = values.std() * told.std()
        return spread > 0 and abs(np.mean((values - values.mean()) * (told - told.mean())) / spread) > 0.99999
    order = np.argsort(values, kind="stable")
    v, t = values[order], told[order]
    changes = np.flatnonzero(np.diff(t))
    return len(changes) == len(np.unique(t)) - 1 and bool((v[changes] < v[changes + 1]).all())
