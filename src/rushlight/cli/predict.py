"""`rushlight predict`: classes of pictures, of folders of them or of a list, by a saved network."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from .config import DATA
from .data.augment import plain
from .data.listing import walk
from .data.pictures import ENDINGS, kept_side, open_picture, shrink
from .errors import UsageError, printable
from .evaluate import network_of
from .pick_device import pick_device
from .report.scores import scores_of
from .training import checkpoint

if TYPE_CHECKING:
    from argparse import Namespace

    from ..core.tensor import Tensor
    from ..vision._pillow import PILImage


def predict(args: Namespace) -> int:
    """Print the most likely classes of each picture; 1 when some could not be read."""
    saved = checkpoint.read(args.model)
    device, _ = pick_device(args.device)
    paths = list(_paths(args.images))
    if not paths:
        place = "standard input" if args.images[0] == "-" else args.images[0]
        raise UsageError(f"{place}: there are no pictures in it")
    reader = Reader(saved, device, args.top)
    show = _CsvLines(reader) if args.csv else _JsonLines() if args.json else _Lines(paths)
    bad = done = 0
    for some in _chunks(paths, args.batch_size):
        found = [(path, *_input(reader, path, args.invert)) for path in some]
        answers = iter(reader.answers([x for _, x, _ in found if x is not None]))
        for path, x, why in found:  # in the order they were named
            if x is None:
                bad += 1
                show.failed(path, why)
            else:
                show.answer(path, next(answers))
                done += 1
    if bad and not done:
        return 2
    return 1 if bad else 0


def _input(reader: Reader, path: str, invert: bool) -> tuple[Any, str]:
    """A file as the network's input, or None and why not, which is told."""
    try:
        return reader.input(path, invert), ""
    except UsageError as error:
        print(f"rushlight: {error.sentence()}", file=sys.stderr)
        return None, error.sentence()


class Reader:
    """A saved network that answers pictures."""

    def __init__(self, saved: dict[str, Any], device: str, top: int) -> None:
        self.saved, self.device = saved, device
        self.net = network_of(saved).to(device)
        self.classes = [printable(name) for name in saved["classes"]]
        self.top = min(top, len(self.classes))

    def input(self, path: str, invert: bool = False) -> Any:
        """An image file as the network's input: its colours, its size, its scale."""
        picture = open_picture(path, self.mode)
        return self.prepared(picture, invert, path)

    @property
    def mode(self) -> str:
        return "L" if self.saved["channels"] == 1 else "RGB"

    def prepared(self, picture: PILImage, invert: bool = False, name: str = "the picture") -> Any:
        """A PIL picture as the network's input, exactly as the test prepared it."""
        from rushlight.vision import transforms as t

        size = self.saved["size"]
        named = self.saved["data"] in DATA  # its pictures have one size
        fit = [t.Resize(size), t.CenterCrop(size)] if named else plain(size, self.saved["config"]["fit"])  # fmt: skip
        picture = shrink(picture, kept_side(size))
        x = t.Compose([*fit, t.ToTensor()])(picture)
        if invert:
            x = 1 - x
        if _light_background(x) and max(self.saved["mean"]) < 0.35:
            print(f"rushlight: {printable(name)} has a light background and the network learnt dark ones: "
                  f"try {'without ' if invert else ''}--invert", file=sys.stderr)  # fmt: skip
        return t.Normalize(self.saved["mean"], self.saved["std"])(x)

    def answers(self, inputs: list[Any]) -> list[list[tuple[str, float]]]:
        """The likeliest classes of each input, with their probabilities."""
        import rushlight as rl

        if not inputs:
            return []
        with rl.no_grad():
            x, views = rl.stack(inputs).to(self.device), self.saved["config"]["views"]
            shares = scores_of(self.net, x, views).softmax(1).cpu()
        values, at = shares.topk(self.top, 1)
        return [
            [(self.classes[int(i)], float(v)) for v, i in zip(*row)]
            for row in zip(values.numpy(), at.numpy())
        ]


def _paths(given: list[str]) -> Iterator[str]:
    """Files as they are, folders as the pictures in them, - as the lines of standard input."""
    for name in given:
        if name == "-":
            yield from (line.rstrip("\r\n") for line in sys.stdin if line.strip())
        elif os.path.isdir(name):
            yield from (path for path in walk(name) if path.lower().endswith(ENDINGS))
        else:
            yield name


def _chunks(paths: list[str], size: int) -> Iterator[list[str]]:
    for at in range(0, len(paths), size):
        yield paths[at : at + size]


class _Lines:
    """For people: path, class and percentage."""

    def __init__(self, paths: list[str]) -> None:
        self.wide = min(max(len(printable(path)) for path in paths), 80)

    def answer(self, path: str, answer: list[tuple[str, float]]) -> None:
        best = "   ".join(f"{name} {share:.1%}" for name, share in answer)
        print(f"{printable(path):<{self.wide}}  {best}")

    def failed(self, path: str, why: str) -> None:
        """It was said on stderr."""


class _CsvLines:
    """For spreadsheets: path, then class and probability of each place, then the error."""

    def __init__(self, reader: Reader) -> None:
        self.top = reader.top
        self.out = csv.writer(sys.stdout, lineterminator="\n")
        heads = [f"{what}_{i}" for i in range(1, self.top + 1) for what in ("class", "probability")]
        self.out.writerow(["path", *heads, "error"])

    def answer(self, path: str, answer: list[tuple[str, float]]) -> None:
        cells = [v for name, share in answer for v in (name, f"{share:.6f}")]
        self.out.writerow([path, *cells, ""])

    def failed(self, path: str, why: str) -> None:
        self.out.writerow([path, *[""] * (2 * self.top), why])


class _JsonLines:
    """For programs: one object a line."""

    def answer(self, path: str, answer: list[tuple[str, float]]) -> None:
        found = [{"class": name, "probability": round(share, 6)} for name, share in answer]
        print(json.dumps({"path": path, "answers": found}))

    def failed(self, path: str, why: str) -> None:
        print(json.dumps({"path": path, "error": why}))


def _light_background(x: Tensor) -> bool:
    """Whether the rim of an image is mostly light."""
    rim = (x[:, 0].mean() + x[:, -1].mean() + x[:, :, 0].mean() + x[:, :, -1].mean()) / 4
    return float(rim) > 0.6
