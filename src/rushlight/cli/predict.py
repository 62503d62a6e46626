"""`rushlight predict`: what a saved network answers to pictures, rows or texts, folders of them or a list."""

from __future__ import annotations

import csv
import json
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .config import DATA
from .data.augment import plain
from .data.files import walk
from .data.inputs import Item
from .data.pictures import ENDINGS, kept_side, open_picture, shrink
from .data.readings import of_saved
from .errors import UsageError, printable, short
from .evaluate import network_of
from .pick_device import pick_device
from .tasks.kinds import task_of
from .tasks.task import scores_of
from .training import checkpoint

if TYPE_CHECKING:
    from argparse import Namespace

    from ..core.tensor import Tensor
    from ..vision._pillow import PILImage


def predict(args: Namespace) -> int:
    """Print the answer to each picture; 1 when some could not be read."""
    saved = checkpoint.read(args.model)
    device, _ = pick_device(args.device)
    reader = Reader(saved, device, args.top)
    items = list(reader.items(args.images))
    if not items:
        place = "standard input" if args.images[0] == "-" else args.images[0]
        raise UsageError(f"{place}: there are no {reader.task.noun}s in it")
    if reader.inputs is not None and args.invert:
        raise UsageError("--invert is for pictures: leave it out")
    paths = [item.name for item in items]
    if args.out is not None and not reader.task.writes:
        raise UsageError(f"--out is for --task boxes and masks, and {args.model} is of a {reader.task.kind}: leave it out")  # fmt: skip
    show = _CsvLines(reader) if args.csv else _JsonLines(reader) if args.json else _Lines(reader, paths)
    bad = done = 0
    for some in _chunks(items, args.batch_size):
        found = [(item.name, *_input(reader, item, args.invert)) for item in some]
        answers = iter(reader.answers([x for _, x, _ in found if x is not None]))
        for path, x, why in found:  # in the order they were named
            if x is None:
                bad += 1
                show.failed(path, why)
            else:
                answer = next(answers)
                show.answer(path, answer)
                if args.out is not None:
                    _write(args.out, path, reader.task.picture_of(answer, path, x.size))
                done += 1
    if bad and not done:
        return 2
    return 1 if bad else 0


def _write(folder: str, path: str, picture: PILImage) -> None:
    place = os.path.join(folder, os.path.splitext(os.path.basename(path))[0] + ".png")
    try:
        os.makedirs(folder, exist_ok=True)
        picture.save(place)
    except OSError as error:
        raise UsageError(f"--out {place} cannot be written: {error.strerror or error}") from None


def _input(reader: Reader, item: Item, invert: bool) -> tuple[Any, str]:
    """What was named as the network's input, or None and why not, which is told."""
    try:
        if item.why:
            raise UsageError(item.why)
        return reader.input(item.name if reader.inputs is None else item.content, invert), ""
    except UsageError as error:
        print(f"rushlight: {error.sentence()}", file=sys.stderr)
        return None, error.sentence()


class Input(NamedTuple):
    """A picture as a network's input, and how wide and high it was."""

    x: Tensor
    size: tuple[int, int]


class Reader:
    """A saved network that answers pictures, rows or texts."""

    def __init__(self, saved: dict[str, Any], device: str, top: int) -> None:
        self.saved, self.device = saved, device
        self.net = network_of(saved).to(device)
        self.task, self.top, self.inputs = task_of(saved), top, of_saved(saved)

    def items(self, given: list[str]) -> Iterator[Item]:
        """What words of a command line name."""
        if self.inputs is not None:
            return self.inputs.items(given)
        return (Item(path) for path in _paths(given))

    def input(self, path: Any, invert: bool = False) -> Input:
        """An image file as the network's input: its colours, its size, its scale; or a row, or a text."""
        if self.inputs is not None:
            import rushlight as rl

            return Input(rl.from_numpy(self.inputs.encode([path])[0]), (0, 0))
        picture = open_picture(path, self.mode)
        return self.prepared(picture, invert, path)

    @property
    def mode(self) -> str:
        return "L" if self.saved["channels"] == 1 else "RGB"

    def prepared(self, picture: PILImage, invert: bool = False, name: str = "the picture") -> Input:
        """A PIL picture as the network's input, exactly as the test prepared it."""
        from rushlight.vision import transforms as t

        size, whole = self.saved["size"], picture.size
        named = self.saved["data"] in DATA  # its pictures have one size
        fit = [t.Resize(size), t.CenterCrop(size)] if named else plain(size, self.saved["config"]["fit"])
        picture = shrink(picture, kept_side(size))
        x = t.Compose([*fit, t.ToTensor()])(picture)
        if invert:
            x = 1 - x
        if _light_background(x) and max(self.saved["mean"]) < 0.35:
            print(f"rushlight: {printable(name)} has a light background and the network learnt dark ones: "
                  f"try {'without ' if invert else ''}--invert", file=sys.stderr)  # fmt: skip
        return Input(t.Normalize(self.saved["mean"], self.saved["std"])(x), whole)

    def answers(self, inputs: list[Input]) -> list[Any]:
        """The task's answer to each input."""
        import rushlight as rl

        if not inputs:
            return []
        with rl.no_grad():
            x, config = rl.stack([one.x for one in inputs]).to(self.device), self.saved["config"]
            out = scores_of(self.task, self.net, x, config["views"]).cpu()
            found = self.task.answers(out, self.top)
            return [self.task.inside(a, config["fit"], one.size, self.saved["size"]) for a, one in zip(found, inputs)]


def _paths(given: list[str]) -> Iterator[str]:
    """Files as they are, folders as the pictures in them, - as the lines of standard input."""
    for name in given:
        if name == "-":
            yield from (line.rstrip("\r\n") for line in sys.stdin if line.strip())
        elif os.path.isdir(name):
            yield from (path for path in walk(name) if path.lower().endswith(ENDINGS))
        else:
            yield name


def _chunks(paths: list[Item], size: int) -> Iterator[list[Item]]:
    for at in range(0, len(paths), size):
        yield paths[at : at + size]


class _Lines:
    """For people: path and answer."""

    def __init__(self, reader: Reader, paths: list[str]) -> None:
        self.task = reader.task
        self.wide = min(max(len(printable(path)) for path in paths), 80 if reader.inputs is None else 60)

    def answer(self, path: str, answer: Any) -> None:
        name = path if self.task.noun == "picture" else short(path, 60)
        print(f"{printable(name):<{self.wide}}  {self.task.said(answer)}")

    def failed(self, path: str, why: str) -> None:
        """It was said on stderr."""


class _CsvLines:
    """For spreadsheets: path, then the task's columns, then the error."""

    def __init__(self, reader: Reader) -> None:
        self.task = reader.task
        self.out = csv.writer(sys.stdout, lineterminator="\n")
        self.heads = self.task.heads(reader.top)
        self.out.writerow(["path", *self.heads, "error"])

    def answer(self, path: str, answer: Any) -> None:
        self.out.writerow([path, *self.task.cells(answer), ""])

    def failed(self, path: str, why: str) -> None:
        self.out.writerow([path, *[""] * len(self.heads), why])


class _JsonLines:
    """For programs: one object a line."""

    def __init__(self, reader: Reader) -> None:
        self.task = reader.task

    def answer(self, path: str, answer: Any) -> None:
        print(json.dumps({"path": path, **self.task.as_json(answer)}))

    def failed(self, path: str, why: str) -> None:
        print(json.dumps({"path": path, "error": why}))


def _light_background(x: Tensor) -> bool:
    """Whether the rim of an image is mostly light."""
    rim = (x[:, 0].mean() + x[:, -1].mean() + x[:, :, 0].mean() + x[:, :, -1].mean()) / 4
    return float(rim) > 0.6
