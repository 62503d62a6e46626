"""What a network reads where that is no picture: rows of a table, or texts; how a sample becomes a tensor is asked here."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

PICTURES = "pictures"
MISSING = frozenset("na n/a nan null none ? - nat #n/a inf -inf +inf infinity".split() + [""])


def is_missing(cell: str) -> bool:
    """Whether a cell of a table has no value."""
    return cell.strip().lower() in MISSING


# What stands around a number, and numbers with marks between their thousands: `$1,234.50`, with a comma `1.234,50 €`.
_AROUND = re.compile(r"([-+]?)\s*[$€£¥]\s*|\s*[$€£¥%]$")
_THOUSANDS = {False: re.compile(r"[-+]?[1-9]\d{0,2}([,' \u00a0\u202f]\d{3})+(\.\d*)?"),
              True: re.compile(r"[-+]?[1-9]\d{0,2}(([' \u00a0\u202f]\d{3})+(,\d*)?|(\.\d{3})+(,\d*|\.\d{3}))")}  # fmt: skip  # `1.234` alone may have a point


def number_of(cell: str, comma: bool = False) -> float:
    """A cell as a number, with a `comma` for its point; nan where it is none, or none that is finite."""
    try:
        return _finite(cell if not comma else _with_point(cell, comma))
    except ValueError:
        pass
    try:
        return _finite(_with_point(_AROUND.sub(r"\1", cell.strip()), comma))
    except ValueError:
        return math.nan


def _finite(cell: str) -> float:
    value = float(cell)
    return value if math.isfinite(value) and "_" not in cell else math.nan


def _with_point(cell: str, comma: bool) -> str:
    if _THOUSANDS[comma].fullmatch(cell):
        cell = re.sub(r"[.' \u00a0\u202f]" if comma else r"[,' \u00a0\u202f]", "", cell)
    return cell.replace(",", ".") if comma else cell


def has_commas(cells: Sequence[str]) -> bool:
    """Whether the numbers of a column have commas for points, where commas separate no cells."""
    marked = [c for c in cells if "," in c]
    return bool(marked) and not any(c.rfind(".") > c.rfind(",") for c in marked)


def numbers_of(cells: Sequence[str], comma: bool = False) -> np.ndarray:
    """The numbers of a column; nan where there is none."""
    try:  # nearly every column: all at once
        values = np.array(list(map(float, cells)) if not comma else [], np.float64)
        if len(values) == len(cells) and "_" not in "".join(cells):
            return np.where(np.isfinite(values), values, np.nan)
    except ValueError:
        pass
    return np.array([number_of(c, comma) for c in cells], np.float64)


class Item(NamedTuple):
    """Something to be answered: how it is called, its content, or why it has none."""

    name: str
    content: Any = None
    why: str = ""


class Inputs:
    """One kind of what a network reads. A `content` is a sample as its file has it; `encode` makes tensors of several."""

    kind: ClassVar[str]  # the word of --input
    noun: ClassVar[str]  # one of them
    networks: ClassVar[
        dict[str, dict[str, Any]]
    ]  # by the words of --model, the usual one first: settings beside those of every data set without pictures
    model: str  # the one that is taken
    asked: ClassVar[str]  # what `rushlight predict` may be given
    input: str  # the name of an exported network's input
    not_for: ClassVar[tuple[str, ...]] = ("mixup", "cutmix", "erase", "freeze", "channels_last")
    size: int = 0  # what a network's input has of whatever it has several of

    def learn(self, contents: Sequence[Any]) -> None:
        """What the training part tells: means, spreads, the words of categories."""
        raise NotImplementedError

    def encode(self, contents: Sequence[Any]) -> np.ndarray:
        """Contents as the network's input, a row for each."""
        raise NotImplementedError

    def network(self, classes: int, width: float) -> Any:
        """A network for so many outputs."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """For a checkpoint; `from_dict` reads it."""
        raise NotImplementedError

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Inputs:
        """The inputs of a checkpoint; LookupError, TypeError or ValueError where it is damaged."""
        raise NotImplementedError

    def zeros(self, count: int) -> Any:
        """An input of the network's shape and dtype."""
        import rushlight as rl

        x = self.encode([self.example()] * count)
        return rl.from_numpy(np.zeros_like(x))

    def example(self) -> Any:
        """A content without anything in it."""
        raise NotImplementedError

    def items(self, given: list[str]) -> Iterator[Item]:
        """What the words of a command line, or a mapping of a program, name."""
        raise NotImplementedError

    def parsed(self, content: bytes) -> list[Any]:
        """Contents out of what was sent over HTTP; ValueError with a sentence."""
        raise NotImplementedError

    def baseline(self, images: Any) -> tuple[str, Any] | str:
        """A model of scikit-learn for the same task, by its name; or why there is none."""
        raise NotImplementedError

    # -- what people read

    def told(self) -> str:
        """What the network is given, in words."""
        raise NotImplementedError

    def page(self) -> dict[str, Any]:
        """For the page of `serve`: what is filled in."""
        raise NotImplementedError

    def figure(self, content: Any, caption: str, weights: Any = None) -> str:
        """A sample and what was answered, as HTML."""
        raise NotImplementedError

    def sections(self, images: Any, extra: dict[str, Any]) -> str:
        """What of the data a report shows."""
        return ""

    def extra(self, images: Any, net: Any) -> dict[str, Any]:
        """What test.json says beside the numbers of the task."""
        return {}

    def weights(self, task: Any, net: Any, content: Any) -> Any:
        """How much each part of a content counts for the answer; None where that is not asked."""
        return None

    def about(self) -> dict[str, str]:
        """What an exported file tells of its input."""
        raise NotImplementedError


class Contents:
    """Contents in memory, as a store of samples: what `cache.py` has for pictures."""

    label = "everything is in memory"

    def __init__(self) -> None:
        self.kept: list[Any] = []

    def known(self, path: str) -> None:
        return None

    def add(self, path: str, entry: Any, content: Any) -> None:
        self.kept.append(content)

    def close(self) -> None:
        """Nothing to end."""

    def __getitem__(self, i: int) -> Any:
        return self.kept[i]


class Encoded:
    """Some contents as a map-style data set of (input, target)."""

    def __init__(self, x: np.ndarray, contents: list[Any], targets: list[Any], task: Any) -> None:
        self.x, self.contents, self.targets, self.task = x, contents, targets, task

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, i: int) -> tuple[Any, Any]:
        return self.x[i], self.task.tensor(self.targets[i])


def digest(content: Any) -> str:
    """The same for the same content, on every machine."""
    return hashlib.sha1(repr(content).encode(errors="surrogatepass")).hexdigest()
