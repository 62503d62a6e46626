"""Texts: files in folders, or a column of a table; the network reads their bytes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any

import numpy as np

from ..config import OF_TEXTS
from ..errors import UsageError, printable
from ..words import counted
from .files import walk
from .inputs import Inputs, Item, is_missing

ENDINGS = (".txt", ".md", ".text")
SHORTEST, LONGEST = 32, 512  # bytes that the network reads, where --size does not say it
READ = 64 * 1024  # bytes of a file: nobody trains on more of them
MOST_WORDS = 60  # that the report asks for


class Texts(Inputs):
    """A text is read from its beginning, `size` bytes of it."""

    kind, noun, model, input = "text", "text", OF_TEXTS, "bytes"
    asked = "'A TEXT'"
    recipe = {"batch_size": 32, "lr": 1e-3, "weight_decay": 0.05, "minutes": 3.0}

    def __init__(self, size: int | None = None, column: str = "") -> None:
        self.size = size or 0
        self.column = column  # of the table that they come from

    def learn(self, contents: Sequence[str]) -> None:
        """As long as nineteen of twenty texts are, in steps of 32 bytes."""
        if not self.size:
            lengths = sorted(len(text.encode(errors="surrogatepass")) for text in contents)
            most = lengths[len(lengths) * 19 // 20] if lengths else SHORTEST
            self.size = min(LONGEST, max(SHORTEST, -(-most // 32) * 32))
        self.size -= self.size % 4

    def encode(self, contents: Sequence[str]) -> np.ndarray:
        made = np.zeros((len(contents), self.size), np.int64)
        for row, text in zip(made, contents):
            some = text.encode(errors="surrogatepass")[: self.size]
            row[: len(some)] = np.frombuffer(some, np.uint8).astype(np.int64) + 1
        return made

    def network(self, classes: int, width: float) -> Any:
        from ..training.readers import OfBytes

        return OfBytes(self.size, classes, width)

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "size": self.size, "column": self.column}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Texts:
        size, column = found["size"], found["column"]
        if type(size) is not int or not 8 <= size <= 1024 or size % 4 or type(column) is not str:
            raise ValueError("the length is not what it should be")
        return cls(size, column)

    def example(self) -> str:
        return ""

    def items(self, given: list[str]) -> Iterator[Item]:
        for word in given:
            if word == "-":
                yield from (Item(line.rstrip("\r\n"), line.rstrip("\r\n")) for line in sys.stdin if line.strip())  # fmt: skip
            elif os.path.isdir(word):
                yield from (_item(path) for path in walk(word) if path.lower().endswith(ENDINGS))
            elif os.path.isfile(word):
                yield from self._of_table(word) if word.lower().endswith((".csv", ".tsv")) else [_item(word)]  # fmt: skip
            elif word.lower().endswith((*ENDINGS, ".csv", ".tsv")) and " " not in word:
                yield Item(word, None, f"{word}: no such file")
            elif word.strip():
                yield Item(word, word)
            else:
                yield Item(word, None, "the text is empty")

    def _of_table(self, path: str) -> Iterator[Item]:
        from .table import Table

        table = Table(path)
        if self.column in table.titles:
            at = table.titles.index(self.column)
        elif len(table.titles) == 1:
            at = 0
        else:
            raise UsageError(f"{path}: it has no column {self.column or 'text'}, which the network was trained with")  # fmt: skip
        for (number, _), text in zip(table.lines, table.column(at)):
            yield Item(f"{path}:{number}", text) if text else Item(f"{path}:{number}", None, "the text is empty")  # fmt: skip

    def parsed(self, content: bytes) -> list[str]:
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise ValueError("send a text as UTF-8") from None
        if not text.strip():
            raise ValueError("the text is empty")
        return [text]

    def row(self, text: Any) -> str:
        """What a program hands over."""
        if not isinstance(text, str) or not text.strip():
            raise ValueError("a text is expected that is not empty")
        return text

    def baseline(self, images: Any) -> tuple[str, Any] | str:
        from ..training.baseline import of_words

        return of_words(images.task)

    # -- what people read

    def told(self) -> str:
        return f"the first {self.size} bytes"

    def page(self) -> dict[str, Any]:
        return {"kind": self.kind}

    def figure(self, content: str, caption: str, weights: Any = None) -> str:
        if weights is None:
            shown = escape(printable(content[:400]))
        else:
            most = max([abs(w) for _, w in weights] or [0]) or 1.0
            shown = " ".join(f"<mark style='color:inherit;background:rgba(255,110,0,{max(w, 0) / most * 0.6:.2f})'>{escape(printable(word))}</mark>" for word, w in weights)  # fmt: skip
        more = " ..." if len(content) > 400 else ""
        return f"<div class='card'>{caption}<p class='text'>{shown}{more}</p></div>"

    def weights(self, task: Any, net: Any, content: str) -> list[tuple[str, float]]:
        """Of each word, how much less sure the answer is without it."""
        import rushlight as rl

        words = content[: self.size].split()[:MOST_WORDS]
        if len(words) < 2:
            return [(word, 0.0) for word in words]
        every = [
            " ".join(words),
            *(" ".join(words[:i] + words[i + 1 :]) for i in range(len(words))),
        ]
        with rl.no_grad():
            out = net(rl.from_numpy(self.encode(every))).float()
        sure = task.likeliness(out).numpy()
        return [(word, float(sure[0] - sure[i])) for i, word in enumerate(words, 1)]

    def about(self) -> dict[str, str]:
        return {"bytes": str(self.size), "encoding": "0 pads, b + 1 is the byte b of UTF-8"}


def read_text(path: str) -> str:
    """The beginning of a file as text; UsageError where it is none."""
    try:
        with open(path, "rb") as f:
            content = f.read(READ)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from None
    return decoded(content, path, whole=len(content) < READ)


def decoded(content: bytes, path: str, whole: bool = True) -> str:
    """UTF-8, or UTF-16 where the first bytes say so; a character that the end cuts is left out."""
    coding = "utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = content.decode(coding, errors="strict" if whole else "ignore")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8 text: save it as UTF-8") from None
    if "\0" in text:
        raise UsageError(f"{path} is no text: it has bytes of the value 0")
    return text.strip()


def _item(path: str) -> Item:
    try:
        text = read_text(path)
    except UsageError as error:
        return Item(path, None, error.sentence())
    return Item(path, text, "" if text else "the text is empty")


def wordy(cells: Sequence[str]) -> float:
    """How many words these have on average, where nearly all of them differ; 0 where not."""
    there = [c for c in cells if not is_missing(c)]
    if not there or len(set(there)) < 0.5 * len(there):
        return 0.0
    return sum(len(c.split()) for c in there) / len(there)


def longer(contents: Sequence[str], size: int) -> str:
    """A line on texts of which the end is not read; "" where there are none."""
    many = sum(len(text.encode(errors="surrogatepass")) > size for text in contents)
    return f"{counted(many, 'text')} longer than {size} bytes: only the beginning is read (--size)." if many else ""  # fmt: skip
