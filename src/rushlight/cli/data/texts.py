"""Texts: files in folders, or a column of a table; the network reads their words and pieces of those, or their bytes."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from html import escape
from itertools import islice, pairwise
from typing import Any
from zlib import crc32

import numpy as np

from ..config import OF_TEXTS
from ..errors import UsageError, printable
from ..words import counted
from .files import walk
from .inputs import Inputs, Item, is_missing

ENDINGS = (".txt", ".md", ".text")
SHORTEST, LONGEST = 32, 512  # bytes that the transformer reads, where --size does not say it
MOST_PIECES, NUMBERS = 1024, 2**20  # of a text; the numbers that stand for pieces
READ = 64 * 1024  # bytes of a file: nobody trains on more of them
MOST_WORDS = 60  # that the report asks for


class Texts(Inputs):
    """A text is read from its beginning: so many different pieces or bytes of it as `size` says."""

    kind, noun, asked = "text", "text", "'A TEXT'"
    networks = {
        OF_TEXTS[0]: {"batch_size": 32, "lr": 1e-3, "weight_decay": 0.05, "epochs": 12},
        OF_TEXTS[1]: {"batch_size": 32, "lr": 1e-3, "weight_decay": 0.05, "minutes": 3.0},
    }

    def __init__(self, size: int | None = None, column: str = "", model: str = OF_TEXTS[0]) -> None:
        self.size, self.model = size or 0, model
        self.column = column  # of the table that they come from
        self.input = "pieces" if model == OF_TEXTS[0] else "bytes"
        self.codes = pieces_of if model == OF_TEXTS[0] else bytes_of

    def learn(self, contents: Sequence[str]) -> None:
        """As long as nineteen of twenty texts are, in steps of 32."""
        if not self.size:
            most = sorted(len(self.codes(text)) for text in contents)[len(contents) * 19 // 20]
            longest = MOST_PIECES if self.codes is pieces_of else LONGEST
            self.size = min(longest, max(SHORTEST, -(-most // 32) * 32))
        self.size -= self.size % 4

    def encode(self, contents: Sequence[str]) -> np.ndarray:
        made = np.zeros((len(contents), self.size), np.int64)
        for row, text in zip(made, contents):
            some = self.codes(text)[: self.size]
            row[: len(some)] = some
        return made

    def network(self, classes: int, width: float) -> Any:
        from ..training.readers import OfBytes, OfPieces

        if self.codes is pieces_of:
            return OfPieces(classes)
        return OfBytes(self.size, classes, width)

    def as_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "size": self.size, "column": self.column, "model": self.model}

    @classmethod
    def from_dict(cls, found: dict[str, Any]) -> Texts:
        size, column, model = found["size"], found["column"], found["model"]
        if type(size) is not int or not 8 <= size <= 1024 or size % 4 or type(column) is not str:
            raise ValueError("the length is not what it should be")
        if model not in cls.networks:
            raise ValueError("there is no such network")
        return cls(size, column, model)

    def example(self) -> str:
        return ""

    def items(self, given: list[str]) -> Iterator[Item]:
        for word in given:
            if word == "-":
                yield from (Item(line.rstrip("\r\n"), line.rstrip("\r\n")) for line in sys.stdin if line.strip())
            elif os.path.isdir(word):
                yield from (_item(path) for path in walk(word) if path.lower().endswith(ENDINGS))
            elif os.path.isfile(word):
                yield from self._of_table(word) if word.lower().endswith((".csv", ".tsv")) else [_item(word)]
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
            raise UsageError(f"{path}: it has no column {self.column or 'text'}, which the network was trained with")
        for (number, _), text in zip(table.lines, table.column(at)):
            yield Item(f"{path}:{number}", text) if text else Item(f"{path}:{number}", None, "the text is empty")

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
        what = "different words and pieces of words" if self.codes is pieces_of else "bytes"
        return f"the first {self.size:,} {what}"

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

        words = content.split()[:MOST_WORDS]
        if len(words) < 2:
            return [(word, 0.0) for word in words]
        every = [" ".join(words), *(" ".join(words[:i] + words[i + 1 :]) for i in range(len(words)))]
        with rl.no_grad():
            out = net(rl.from_numpy(self.encode(every))).float()
        sure = task.likeliness(out).numpy()
        return [(word, float(sure[0] - sure[i])) for i, word in enumerate(words, 1)]

    def about(self) -> dict[str, str]:
        return {self.input: str(self.size), "encoding": f"0 pads; {self.codes.__doc__}"}


def bytes_of(text: str) -> list[int]:
    """b + 1 is the byte b of UTF-8."""
    return [b + 1 for b in text.encode(errors="surrogatepass")]


def pieces_of(text: str) -> list[int]:
    """Pieces of small letters, each once: words and signs; pairs of those with a space between; then, of every part between spaces with a space at both ends, all 2, 3, 4 and 5 characters behind a character 0. The number of a piece is the CRC-32 of its UTF-8 modulo 2**20, 1 for 0."""
    found = islice(dict.fromkeys(islice(_pieces(text.lower()), 8 * MOST_PIECES)), MOST_PIECES)
    return [crc32(piece.encode(errors="surrogatepass")) % NUMBERS or 1 for piece in found]


def _pieces(text: str) -> Iterator[str]:
    words = re.findall(r"\w+|[^\w\s]", text)
    yield from words
    yield from map(" ".join, pairwise(words))
    for part in map(" {} ".format, text.split()):
        yield from ("\0" + part[i : i + n] for n in range(2, 6) for i in range(len(part) - n + 1))


def read_text(path: str, name: str = "") -> str:
    """The beginning of a file as text; UsageError where it is none, which tells of `name`."""
    try:
        with open(path, "rb") as f:
            content = f.read(READ)
    except OSError as error:
        raise UsageError(f"{name or path} cannot be read: {error.strerror or error}") from None
    return decoded(content, name or path, whole=len(content) < READ)


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


def longer(contents: Sequence[str], inputs: Texts) -> str:
    """A line on texts of which the end is not read; "" where there are none."""
    many = sum(len(inputs.codes(text)) > inputs.size for text in contents)
    return f"{counted(many, 'text')} with more than {inputs.size} {inputs.input}: only the beginning is read (--size)." if many else ""  # fmt: skip
