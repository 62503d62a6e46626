"""What a task is: what a target means, which loss teaches it, how good answers are, and how they are shown."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..data import augment
from ..errors import UsageError
from ..words import counted

if TYPE_CHECKING:
    from argparse import Namespace

    from ...nn.modules.module import Module

Z = 1.959964  # of 95 %
SHOWN = 12  # pictures of a kind in a report


class Picture(NamedTuple):
    """A picture of the test to show, and what to write under it."""

    number: int
    kind: str  # "right" or "wrong"
    said: str  # the answer
    sure: str
    true: str = ""  # what it is, where that is not the answer


class Card(NamedTuple):
    """A number at the head of a report."""

    value: str
    name: str
    more: str = ""


class Task:
    """One kind of question about a picture, a row or a text. Whatever differs between the kinds is asked of it.

    `names` are what the network's outputs stand for; `scale` is the mean and the spread of each, where they
    are quantities.
    """

    kind: ClassVar[str]  # the word of --task
    score: ClassVar[str]  # the key of its score in files: higher is better, 1 is the best
    score_name: ClassVar[str]
    span: ClassVar[tuple[float, float] | None] = (0.0, 1.0)  # of the score, where it has one
    one: ClassVar[str]  # what an output stands for, and several of them
    many: ClassVar[str]
    least: ClassVar[int] = 1  # so many of them there must be
    output: ClassVar[str] = "scores"  # the name of an exported network's output
    meaning: ClassVar[str]  # what whoever uses an exported network does with it
    recipe: ClassVar[dict[str, Any]] = {}  # settings that suit this task better than those of pictures in classes
    scaled: ClassVar[bool] = False  # whether `scale` is needed
    # The network of `vision.models` that answers for places of a picture, on the one that is chosen.
    over: ClassVar[str] = ""
    in_steps: ClassVar[bool] = True  # whether steps tell the score: it is that of single pictures
    writes: ClassVar[bool] = False  # whether `predict --out` can draw an answer
    # What stands under pictures of the test.
    beside_told: ClassVar[str] = "The lower picture shows in orange which places the answer comes from (Grad-CAM)."
    not_for: ClassVar[tuple[str, ...]] = ()  # settings that mean nothing here

    def __init__(self, names: Sequence[str], scale: Any = None, noun: str = "picture") -> None:
        self.names, self.scale = list(names), scale
        self.noun = noun  # what is asked about: picture, row, text

    # -- data

    def counted(self) -> str:
        """3 classes, 1 number."""
        return counted(len(self.names), self.one, self.many)

    def groups(self, targets: Sequence[Any]) -> list[Hashable]:
        """Which group each target belongs to: of every group some are kept for the test."""
        raise NotImplementedError

    def members(self, target: Any) -> tuple[int, ...]:
        """The names that a target needs pictures of: one without any to train on is left out."""
        raise NotImplementedError

    def renumbered(self, target: Any, number: dict[int, int]) -> Any:
        """A target where some names were left out; `number` has the new place of the others."""
        raise NotImplementedError

    def tensor(self, target: Any) -> Any:
        """A target as a loader stacks it."""
        raise NotImplementedError

    def transforms(self, *settings: Any) -> Any:
        """For training and for the test; `settings` are those of `augment.for_photos`."""
        return augment.for_photos(*settings)

    def sample(self, picture: Any, target: Any, transform: Any, side: int) -> tuple[Any, Any]:
        """A PIL picture, of which `side` is the shorter side that is kept, and its target as tensors."""
        return transform(picture), self.tensor(target)

    def misfit(self, target: Any, wide: int, high: int, side: int) -> str:
        """Why a target does not go with a picture of that size; usually nothing."""
        return ""

    def in_words(self, target: Any) -> str:
        """A target, for people."""
        raise NotImplementedError

    def learn(self, targets: Sequence[Any]) -> None:
        """What the training pictures tell: the scale of quantities."""

    def counts(self, targets: Sequence[Any]) -> list[int]:
        """Of each name, how many of these pictures."""
        found = [0] * len(self.names)
        for target in targets:
            for i in self.members(target):
                found[i] += 1
        return found

    def summary(self, targets: Sequence[Any]) -> str:
        """The training pictures in a line."""
        shown = [f"{name} ({n:,})" for name, n in zip(self.names, self.counts(targets))]
        more = f" ... and {len(shown) - 12} more {self.many}" if len(shown) > 12 else ""
        return f"{self.many.capitalize()}: {', '.join(shown[:12])}{more}"

    def chart(self, counts: list[int], targets: Sequence[Any]) -> tuple[str, str]:
        """A title and a chart of the training pictures, for the report."""
        from ..errors import printable
        from ..report import svg

        most = max(counts, default=1) or 1
        pairs = sorted(zip(self.names, counts), key=lambda p: -p[1])
        rows = [(printable(c), [("one", n / most, f"{n:,}")]) for c, n in pairs]
        return f"{self.noun}s to train on, by {self.one}", svg.bars(rows)

    # -- training

    def check(self, args: Namespace) -> None:
        """UsageError for settings that mean nothing here."""
        for name in self.not_for:
            if getattr(args, name):
                option = "--" + name.replace("_", "-")
                raise UsageError(f"{option} means nothing for --task {self.kind}: leave it out")
        if self.over and args.fit == "crop":
            raise UsageError(f"--fit crop cuts away what {self.kind} tell of: take squash or pad")
        if self.over and not args.model.startswith(("resnet", "resnext", "wide_resnet")):
            raise UsageError(f"--task {self.kind} stands on a ResNet, not on {args.model}: leave --model out, or take resnet18")  # fmt: skip

    def check_head(self, model: str, layer: Module) -> None:
        """UsageError where the layer that answers cannot give such answers."""

    def criterion(self, args: Namespace, counts: list[int], total: int, device: str) -> Callable[[Any, Any], Any]:
        """The loss of scores and targets; `counts` are of each name, of `total` pictures."""
        raise NotImplementedError

    def good(self, out: Any, y: Any) -> Any:
        """The sum over the pictures of a batch of how good each answer is."""
        raise NotImplementedError

    def shown(self, score: float) -> str:
        """A score for people."""
        return f"{score:.3f}"

    # -- tests

    def both(self, one: Any, other: Any) -> Any:
        """Scores of a picture and of its mirror image as one."""
        raise NotImplementedError

    def rows(self, out: Any, y: Any) -> tuple[Any, ...]:
        """What a test keeps of a batch: tensors with a row for each picture, the losses last."""
        raise NotImplementedError

    def result(self, columns: Sequence[np.ndarray] | None) -> Result:
        """What those rows come to; None where there was no picture."""
        raise NotImplementedError

    def likeliness(self, out: Any) -> Any:
        """Of each row of scores, how much it speaks for the answer to the first."""
        return out.softmax(1)[:, int(out[0].argmax())]

    def compared(self, truth: np.ndarray, answers: np.ndarray) -> tuple[float, tuple[float, float] | None]:
        """The score of another model's answers, as targets, and its interval where it has one."""
        raise NotImplementedError

    # -- pictures of the report

    def drawn(self, pixels: np.ndarray, y: Any) -> list[np.ndarray]:
        """A training picture with its target drawn over it, where that can be drawn."""
        return []

    def beside(self, net: Module, x: Any, y: Any, pixels: np.ndarray, one: Picture) -> list[np.ndarray]:
        """What stands under a picture of the test: of mistakes, which places they come from."""
        from ..report import saliency

        heat = saliency.places(self, net, x) if one.kind == "wrong" else None
        return [] if heat is None else [saliency.marked(pixels, heat)]

    # -- answers

    def strongest(self, out: Any) -> Any:
        """Of each picture's scores the one that the answer is about."""
        return out.max(1)[0]

    def answers(self, out: Any, top: int) -> list[Any]:
        """An answer for each picture of a batch of scores."""
        raise NotImplementedError

    def inside(self, answer: Any, fit: str, size: tuple[int, int], side: int) -> Any:
        """An answer to a picture of that width and height, seen as a square, without what padding added."""
        return answer

    def picture_of(self, answer: Any, path: str, size: tuple[int, int]) -> Any:
        """An answer as a PIL picture; only where `writes` is set."""
        raise NotImplementedError

    def said(self, answer: Any) -> str:
        """An answer on the screen."""
        raise NotImplementedError

    def heads(self, top: int) -> list[str]:
        """The columns of answers in a CSV file."""
        raise NotImplementedError

    def cells(self, answer: Any) -> list[str]:
        """An answer in those columns."""
        raise NotImplementedError

    def as_json(self, answer: Any) -> dict[str, Any]:
        """An answer for programs."""
        raise NotImplementedError

    # -- files

    def exported(self, net: Module, head: str) -> None:
        """Let the network's own outputs be what `meaning` says."""

    def shape(self, size: int) -> str:
        """Of an exported network's output for one picture."""
        return str(len(self.names))

    def about(self) -> dict[str, str]:
        """What an exported file tells of its outputs."""
        return {"task": self.kind, "classes": json.dumps(self.names), "meaning": self.meaning}


class Result:
    """What a test found, picture by picture (row by row, text by text) in the order of the data set."""

    losses: np.ndarray
    noun: str = "picture"

    @property
    def loss(self) -> float:
        return float(self.losses.mean()) if len(self.losses) else 0.0

    @property
    def score(self) -> float:
        """The task's score of all pictures."""
        raise NotImplementedError

    def as_dict(self) -> dict[str, Any]:
        """test.json."""
        raise NotImplementedError

    def table(self, by_class: bool = False) -> str:
        """For a terminal."""
        raise NotImplementedError

    def warning(self) -> str | None:
        """What to try when the network knows nothing; None when it does."""
        raise NotImplementedError

    def cards(self, tested: str) -> list[Card]:
        """The numbers at the head of the report, the main one first; `tested` is whose they are."""
        raise NotImplementedError

    def sections(self) -> str:
        """The part of the report that shows where it is right, as HTML."""
        raise NotImplementedError

    def pictures(self) -> list[tuple[str, str, list[Picture]]]:
        """Groups of pictures for the report: title, explanation, pictures."""
        raise NotImplementedError

    def charts(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """What of the report is also a file of its own: names, and charts with their titles."""
        return []


def interval(values: np.ndarray) -> tuple[float, float]:
    """Where the mean of such values lies at 95 %, by their spread."""
    if len(values) < 2:
        return -math.inf, math.inf
    half = Z * float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()) - half, float(values.mean()) + half


def key_of(noun: str) -> str:
    """What test.json calls the number of tested pictures, rows or texts."""
    return "images" if noun == "picture" else noun + "s"


def tested(count: int, noun: str = "picture") -> str:
    """1 test image, 3000 test rows: without a comma, for who reads the line by a program."""
    return f"{count} test {'image' if noun == 'picture' else noun}{'' if count == 1 else 's'}"


def wilson(right: float, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share (Wilson 1927): never outside 0 and 1, also for few pictures."""
    if not count:
        return 0.0, 1.0
    share, z2 = right / count, Z * Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = Z * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return max(0.0, middle - half), min(1.0, middle + half)


TRY = ("Try more --minutes, --lr-find for another rate, a larger --size, or --weights imagenet to start "
       "from; look at the pictures in the report to see that {what} are right.")  # fmt: skip
TRY_ELSE = (
    "Try more --minutes, or --lr-find for another rate; look at the {noun}s in the report to see that {what} are right."
)


def to_try(what: str, noun: str = "picture") -> str:
    """What helps where a network has learnt nothing."""
    return TRY.format(what=what) if noun == "picture" else TRY_ELSE.format(what=what, noun=noun)


def scores_of(task: Task, net: Module, x: Any, views: int = 1) -> Any:
    """A network's scores of some pictures; with two views, those of the mean with their mirror images."""
    out = net(x).float()
    return out if views == 1 else task.both(out, net(x.flip(3)).float())


def measure(task: Task, net: Module, loader: Iterable[Any], device: str, prepare: Any = None, views: int = 1) -> Any:
    """Test a network on every image of a loader; `prepare` brings a batch into the network's format."""
    import rushlight as rl

    rows: list[tuple[np.ndarray, ...]] = []
    net.eval()
    with rl.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            out = scores_of(task, net, x if prepare is None else prepare(x), views)
            rows.append(tuple(t.cpu().numpy() for t in task.rows(out, y)))
    return task.result([np.concatenate(column) for column in zip(*rows)] if rows else None)


def write_json(folder: str, found: dict[str, Any]) -> None:
    """test.json: the test in numbers."""
    from rushlight.io import atomic_write

    with atomic_write(os.path.join(folder, "test.json"), "w") as f:
        json.dump(found, f, indent=1)
