"""Boxes around things: average precision with its interval, answers drawn over pictures."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..data import augment
from ..data.pictures import middle, open_picture
from ..errors import UsageError, printable, short
from ..report import svg
from ..words import counted
from .masks import MANY, colour, keys
from .multilabel import by_rarest
from .task import SHOWN, TRY, Card, Picture, Result, Task, tested, wilson

if TYPE_CHECKING:
    from argparse import Namespace

    from ...core.tensor import Tensor
    from ...nn.modules.module import Module

LEAST, SURE = 0.05, 0.4  # scores: of what is looked at, and of what is answered
MOST, LOOKED_AT = 100, 300  # answers of a picture, and places that they are chosen from
DOUBLE = 0.5  # the overlap with a better answer of its class from which on one is dropped
OVERLAP = 0.5  # with the true box, of an answer that counts as right
STRICTER = np.linspace(0.5, 0.95, 10)  # COCO's
DRAWS = 300  # of the bootstrap
DRAWN = 256  # pixels of the shorter side of what boxes are drawn on


class Box(NamedTuple):
    """The number of a class, and a box as parts of the picture's width and height."""

    number: int
    x1: float
    y1: float
    x2: float
    y2: float


class Outlines(NamedTuple):
    """The boxes of a picture; `room` is how many the fullest picture has, `why` that they cannot be used."""

    boxes: tuple[Box, ...]
    size: tuple[int, int]  # of the picture they were drawn on
    room: int
    why: str = ""


class Found(NamedTuple):
    """An answer: a class, how sure, and a box."""

    name: str
    share: float
    box: tuple[float, float, float, float]


def drawn_over(picture: Any, boxes: Sequence[tuple[int, tuple[float, ...], str]]) -> Any:
    """A PIL picture with boxes (number of a class, corners in pixels, words) drawn over it."""
    from PIL import ImageDraw

    picture = picture.convert("RGB")
    pen, wide = ImageDraw.Draw(picture), max(2, min(picture.size) // 160)
    for number, corners, said in boxes:
        x1, y1, x2, y2 = (round(v) for v in corners)
        pen.rectangle((x1, y1, max(x1, x2), max(y1, y2)), outline=colour(number), width=wide)
        if said:
            pen.text((x1 + wide + 1, y1 + wide), said, fill=colour(number), stroke_width=2, stroke_fill=(0, 0, 0))
    return picture


class Boxes(Task):
    """A target is the boxes of a picture, none perhaps."""

    kind, score, score_name = "boxes", "map50", "mAP at an overlap of one half"
    one, many = "class", "classes"
    over, writes, in_steps = "detection.places", True, False
    output = "boxes"
    meaning = ("for every place x1, y1, x2, y2 in pixels of the square and the probability of each class; of answers that overlap, "
               "who uses them keeps the best (non-maximum suppression)")  # fmt: skip
    recipe = {"label_smoothing": 0.0, "mixup": 0.0, "views": 1, "augment": "strong", "size": 128, "batch_size": 16}
    not_for = ("label_smoothing", "mixup", "cutmix", "erase", "class_weights")
    beside_told = "Below the picture the boxes that were given, then the answer."

    def check(self, args: Namespace) -> None:
        super().check(args)
        if args.views > 1 or args.augment == "auto":
            option = "--views 2" if args.views > 1 else "--augment auto"
            raise UsageError(f"{option} means nothing for --task boxes: leave it out")

    # -- data

    def transforms(self, *settings: Any) -> Any:
        return augment.for_both(*settings)

    def sample(self, picture: Any, target: Outlines, transform: Any, side: int) -> tuple[Any, Any]:
        w, h = target.size if min(target.size) else picture.size
        left, top, right, bottom = middle(w, h)
        rows = np.array(target.boxes, np.float64).reshape(-1, 5)
        places = (rows[:, 1:] * [w, h, w, h] - [left, top, left, top]) / ([right - left, bottom - top] * 2)
        over = augment.BoxesOver(np.concatenate([rows[:, :1], places], 1), picture.size)
        x, over = transform(picture, over.cut((0, 0, *picture.size), picture.size))
        made = np.full((target.room, 5), -1.0, np.float32)
        made[: len(over.rows)] = over.rows
        return x, made

    def misfit(self, target: Outlines, wide: int, high: int, side: int) -> str:
        if target.why or not min(target.size):
            return target.why
        left, top, right, bottom = middle(*target.size)
        w, h = right - left, bottom - top
        apart = abs(w * high - h * wide) / max(w * high, h * wide)
        room = 1 / min(wide, high) + 0.01
        return f"its boxes were drawn on a picture of {w}x{h} pixels, which has another shape" if apart > room else ""

    def groups(self, targets: Sequence[Outlines]) -> list[Hashable]:
        return by_rarest([self.members(target) for target in targets])

    def members(self, target: Outlines) -> tuple[int, ...]:
        return tuple(sorted({box.number for box in target.boxes}))

    def renumbered(self, target: Outlines, number: dict[int, int]) -> Outlines:
        return target._replace(boxes=tuple(b._replace(number=number[b.number]) for b in target.boxes if b.number in number))  # fmt: skip

    def _told(self, numbers: Sequence[int]) -> str:
        """2 cats, in a way that fits every name: cat 2, dog."""
        often = [(self.names[i], list(numbers).count(i)) for i in sorted(set(numbers))]
        return ", ".join(name if n == 1 else f"{name} {n}" for name, n in often) or "nothing"

    def in_words(self, target: Outlines) -> str:
        return self._told([box.number for box in target.boxes])

    def summary(self, targets: Sequence[Outlines]) -> str:
        boxes = sum(len(target.boxes) for target in targets)
        return f"{super().summary(targets).replace(': ', ', by pictures: ', 1)}; {counted(boxes, 'box', 'boxes')}"

    # -- training

    def criterion(self, args: Namespace, counts: list[int], total: int, device: str) -> Callable[[Any, Any], Any]:
        from ...vision.models.detection.places import losses

        def loss(out: Any, y: Any) -> Any:
            apart, boxes = losses(out, y)
            return apart.sum() / boxes.sum().clamp(1)

        return loss

    def good(self, out: Any, y: Any) -> Any:
        return out.new_zeros(())

    # -- tests and answers

    def rows(self, out: Any, y: Any) -> tuple[Any, ...]:
        import rushlight as rl

        from ...vision.models.detection.places import losses

        apart, boxes = losses(out, y)
        found = np.full((len(out), MOST, 6), -1.0, np.float32)
        for one, best in zip(found, self._best(out)):
            one[: len(best)] = best
        return rl.from_numpy(found), y, apart / boxes.clamp(1)

    def _best(self, out: Any) -> list[np.ndarray]:
        """Of each picture the answers, best first: number of the class, score, box."""
        from ...vision import ops

        k, found = len(self.names), []
        scores = (out[..., :k].sigmoid() * out[..., k : k + 1].sigmoid()).sqrt()
        for score, boxes in zip(scores, out[..., k + 1 : k + 5].clamp(0, 1)):
            flat = score.flatten()
            value, at = flat.topk(min(LOOKED_AT, len(flat)))
            value, at = value[value > LEAST], at[value > LEAST]
            number, box = at % k, boxes[at.div(k, rounding_mode="floor")]
            keep = ops.batched_nms(box, value, number, DOUBLE)[:MOST]
            parts = (number[keep, None], value[keep, None], box[keep])
            found.append(np.concatenate([p.cpu().numpy().astype(np.float32) for p in parts], 1))
        return found

    def result(self, columns: Sequence[np.ndarray] | None) -> BoxesResult:
        none = (np.zeros((0, MOST, 6)), np.zeros((0, 1, 5)), np.zeros(0))
        found, truth, losses = columns or none
        return BoxesResult(self.names, [f[f[:, 0] >= 0] for f in found], [t[t[:, 0] >= 0] for t in truth], losses)

    def answers(self, out: Any, top: int) -> list[list[Found]]:
        """What it is sure enough of, in parts of the square."""
        return [[Found(self.names[int(row[0])], float(row[1]), tuple(row[2:].tolist())) for row in best if row[1] >= SURE]
                for best in self._best(out)]  # fmt: skip

    def inside(self, answer: list[Found], fit: str, size: tuple[int, int], side: int) -> list[Found]:
        """In pixels of the picture."""
        x, y, right, bottom = augment.inside(side, fit, size)
        kept = middle(*size)
        corner, kept_size = np.array(kept[:2]), np.array([kept[2] - kept[0], kept[3] - kept[1]])

        def whole(box: tuple[float, ...]) -> Any:
            part = (np.reshape(box, (2, 2)) * side - [x, y]) / [right - x, bottom - y]
            return tuple((part.clip(0, 1) * kept_size + corner).ravel().tolist())

        return [one._replace(box=whole(one.box)) for one in answer]

    def said(self, answer: list[Found]) -> str:
        return "   ".join(f"{printable(name)} {share:.0%} at {_corners(box)}" for name, share, box in answer) or "nothing"  # fmt: skip

    def heads(self, top: int) -> list[str]:
        return ["found", "boxes"]

    def cells(self, answer: list[Found]) -> list[str]:
        return [str(len(answer)), "|".join(f"{printable(n)} {p:.4f} {_corners(box)}" for n, p, box in answer)]

    def as_json(self, answer: list[Found]) -> dict[str, Any]:
        return {"boxes": [{"class": printable(n), "probability": round(p, 6), "box": [round(v, 2) for v in box]}
                          for n, p, box in answer]}  # fmt: skip

    # -- pictures

    def picture_of(self, answer: list[Found], path: str, size: tuple[int, int]) -> Any:
        shown = [(self.names.index(n), box, f"{n} {p:.0%}") for n, p, box in answer]
        return drawn_over(open_picture(path), shown)

    def _over(self, pixels: np.ndarray, rows: np.ndarray, scores: Sequence[float] = ()) -> np.ndarray:
        from PIL import Image

        picture = Image.fromarray(pixels)
        times = max(1, -(-DRAWN // min(picture.size)))
        picture = picture.resize((picture.width * times, picture.height * times))
        said = [f"{p:.0%}" for p in scores] or [""] * len(rows)
        shown = [(int(row[0]), tuple((row[1:] * picture.width).tolist()), told) for row, told in zip(rows, said)]
        return np.asarray(drawn_over(picture, shown))

    def drawn(self, pixels: np.ndarray, y: Any) -> list[np.ndarray]:
        rows = np.asarray(y)
        return [self._over(pixels, rows[rows[:, 0] >= 0])]

    def beside(self, net: Module, x: Tensor, y: Any, pixels: np.ndarray, one: Picture) -> list[np.ndarray]:
        import rushlight as rl

        with rl.no_grad():
            best = self._best(net(x[None]))[0]
        best = best[best[:, 1] >= SURE]
        return [*self.drawn(pixels, y), self._over(pixels, best[:, [0, 2, 3, 4, 5]], best[:, 1].tolist())]

    # -- files

    def exported(self, net: Any, head: str) -> None:
        net.final = True

    def shape(self, size: int) -> str:
        return f"places x {4 + len(self.names)}"


def _corners(box: Sequence[float]) -> str:
    return " ".join(f"{v:.0f}" for v in box)


def overlaps(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The overlap (intersection over union) of every box of one with every box of another."""
    low = np.maximum(one[:, None, :2], other[None, :, :2])
    high = np.minimum(one[:, None, 2:], other[None, :, 2:])
    shared = (high - low).clip(0).prod(2)
    area, another = ((b[:, 2:] - b[:, :2]).prod(1) for b in (one, other))
    return shared / np.maximum(area[:, None] + another[None] - shared, 1e-12)


def matched(found: np.ndarray, truth: np.ndarray, least: float, classes: bool = True) -> np.ndarray:
    """For every answer (best first) the true box that it is the first to overlap so much, or -1."""
    shared = overlaps(found[:, 2:], truth[:, 1:])
    if classes:
        shared = shared * (found[:, :1] == truth[None, :, 0])
    mine = np.full(len(found), -1)
    for i in range(len(found) if len(truth) else 0):
        best = int(shared[i].argmax())
        if shared[i, best] >= least:
            mine[i] = best
            shared[:, best] = 0
    return mine


def area_under(hits: np.ndarray, weights: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Average precision of answers, best first: the area under the curve of precision over recall, which never rises.

    `weights` has a row for each way to count the answers, `wanted` how many boxes there are then.
    """
    right, seen = np.cumsum(weights * hits, 1), np.cumsum(weights, 1)
    precision = right / np.maximum(seen, 1e-12)
    best = np.maximum.accumulate(precision[:, ::-1], 1)[:, ::-1]
    recall = right / np.maximum(wanted[:, None], 1e-12)
    return (np.diff(recall, prepend=0.0, axis=1) * best).sum(1)


@dataclass(frozen=True)
class BoxesResult(Result):
    """Of every picture of a test the answers (class, score, box) and the true boxes (class, box), in parts of the square."""

    classes: list[str]
    found: list[np.ndarray]
    truth: list[np.ndarray]
    losses: np.ndarray

    def precisions(self, least: float, weights: np.ndarray | None = None) -> np.ndarray:
        """Average precision of each class (nan where it has no box) for each weighting of the pictures."""
        weights = np.ones((1, len(self.found))) if weights is None else weights
        of = np.repeat(np.arange(len(self.found)), [len(f) for f in self.found])
        every = np.concatenate([np.zeros((0, 6)), *self.found])
        right = [matched(f, t, least) >= 0 for f, t in zip(self.found, self.truth)]
        hits = np.concatenate([np.zeros(0, bool), *right])
        areas = np.full((len(weights), len(self.classes)), np.nan)
        for k in range(len(self.classes)):
            boxes = weights @ np.array([(t[:, 0] == k).sum() for t in self.truth], float)
            mine = np.flatnonzero(every[:, 0] == k)
            mine = mine[np.argsort(-every[mine, 1], kind="stable")]
            areas[:, k] = np.where(boxes > 0, area_under(hits[mine], weights[:, of[mine]], boxes), np.nan)
        return areas

    @cached_property
    def score(self) -> float:  # type: ignore[override]
        return float(_mean(self.precisions(OVERLAP))[0]) if self.found else 0.0

    @cached_property
    def within(self) -> tuple[float, float]:
        """Where it lies on other pictures of this kind, at 95 %: by drawing pictures of the test anew.

        It is no narrower than that of a share of so many boxes: where all were found, every draw says so.
        """
        count = len(self.found)
        if count < 2:
            return 0.0, 1.0
        draw = np.random.default_rng(0)
        weights = draw.multinomial(count, np.full(count, 1 / count), DRAWS).astype(float)
        low, high = np.quantile(_mean(self.precisions(OVERLAP, weights)), [0.025, 0.975])
        boxes = sum(len(t) for t in self.truth)
        least, most = wilson(self.score * boxes, boxes)
        return min(float(low), least), max(float(high), most)

    @cached_property
    def strict(self) -> np.ndarray:
        """Of each class the mean over the overlaps of COCO."""
        return np.mean([self.precisions(least)[0] for least in STRICTER], axis=0)

    def sure(self) -> list[np.ndarray]:
        """The answers that are given."""
        return [f[f[:, 1] >= SURE] for f in self.found]

    @cached_property
    def matrix(self) -> np.ndarray:
        """`[truth, answer]`: how many boxes; the last of each is nothing."""
        n = len(self.classes)
        counts = np.zeros((n + 1, n + 1), np.int64)
        for found, truth in zip(self.sure(), self.truth):
            mine = matched(found, truth, OVERLAP, classes=False)
            for row, at in zip(found, mine):
                counts[int(truth[at, 0]) if at >= 0 else n, int(row[0])] += 1
            for at in set(range(len(truth))) - set(mine.tolist()):
                counts[int(truth[at, 0]), n] += 1
        return counts

    def by_class(self) -> dict[str, np.ndarray]:
        """Boxes, average precision, and recall and precision of what is answered, of every class."""
        n = len(self.classes)
        hits, there = np.zeros(n), self.matrix[:n].sum(1)
        answered = np.zeros(n)
        for found, truth in zip(self.sure(), self.truth):
            right = matched(found, truth, OVERLAP) >= 0
            np.add.at(hits, found[right, 0].astype(int), 1)
            np.add.at(answered, found[:, 0].astype(int), 1)
        return {"boxes": there, "ap50": self.precisions(OVERLAP)[0], "ap": self.strict, "recall": hits / np.maximum(there, 1),
                "precision": hits / np.maximum(answered, 1)}  # fmt: skip

    def as_dict(self) -> dict[str, Any]:
        by = self.by_class()
        return {
            "map50": round(self.score, 6), "interval_95": [round(v, 6) for v in self.within], "map": round(float(_mean(self.strict[None])[0]), 6),
            "loss": round(self.loss, 6), "images": len(self.found), "boxes": int(by["boxes"].sum()),
            "classes": {c: {k: None if np.isnan(v[i]) else round(float(v[i]), 6) for k, v in by.items()} for i, c in enumerate(self.classes)},
            "confusion": self.matrix.tolist(),
        }  # fmt: skip

    def table(self, by_class: bool = False) -> str:
        by, (low, high) = self.by_class(), self.within
        wide = max(len("class"), *(len(short(name)) for name in self.classes))
        lines = [f"{'class':<{wide}}  boxes   AP at .5     AP  recall  precision"]
        order = np.arange(len(self.classes))
        if not by_class and len(order) > MANY:
            order = np.argsort(np.nan_to_num(by["ap50"]), kind="stable")[:10]
        for i in order:
            lines.append(f"{short(self.classes[i]):<{wide}}  {int(by['boxes'][i]):>5}   {_or_dash(by['ap50'][i]):>8}  {_or_dash(by['ap'][i]):>5}  "
                         f"{by['recall'][i]:6.1%}  {by['precision'][i]:9.1%}")  # fmt: skip
        if len(order) < len(self.classes):
            lines.append(f"(the ten worst of {counted(len(self.classes), 'class', 'classes')}; test.json has all)")
        return "\n".join([
            f"mAP of the network on the {tested(len(self.found))}, at an overlap of one half: {self.score:.3f}",
            f"Between {low:.3f} and {high:.3f} at 95 % confidence, by pictures; mean over overlaps from 0.5 to 0.95 (COCO's) "
            f"{_mean(self.strict[None])[0]:.3f}. Recall and precision are of answers from {SURE:.0%} on.", "", *lines,
        ])  # fmt: skip

    def warning(self) -> str | None:
        if self.within[0] > 0.02 or not self.found:
            return None
        return f"Warning: a mAP of {self.score:.3f}: next to nothing is found. {TRY.format(what='the boxes')}"

    def cards(self, tested: str) -> list[Card]:
        low, high = self.within
        return [
            Card(f"{self.score:.3f}", f"mAP at an overlap of one half on {tested}", f"95 % interval {low:.3f} to {high:.3f}"),
            Card(f"{_mean(self.strict[None])[0]:.3f}", "mAP over overlaps from 0.5 to 0.95"),
            Card(f"{sum(len(t) for t in self.truth):,}", "boxes in the test"),
        ]  # fmt: skip

    def charts(self) -> list[tuple[str, list[tuple[str, str]]]]:
        if len(self.classes) > MANY:
            return []
        names = [*map(printable, self.classes), "nothing"]
        title = f"boxes of each class by what was answered there (from {SURE:.0%} on)"
        return [("confusion.svg", [(title, svg.matrix(names, self.matrix.tolist()))])]

    def sections(self) -> str:
        by = self.by_class()
        names = [printable(name) for name in self.classes]
        shown = {key: np.nan_to_num(values) for key, values in by.items()}
        order = np.argsort(shown["ap50"], kind="stable")
        rows = [(names[i], [("one", float(shown["ap50"][i]), f"AP {shown['ap50'][i]:.3f}"), ("two", float(by["recall"][i]), f"recall {by['recall'][i]:.1%}"),
                            ("three", float(by["precision"][i]), f"precision {by['precision'][i]:.1%}")]) for i in order]  # fmt: skip
        drawn = "".join(f"<div class='card'><h3>{title}</h3>{chart}</div>" for _, found in self.charts() for title, chart in found)  # fmt: skip
        return (
            "<h2>Where it is right</h2><p class='faint'>Each row of the matrix is the class of a true box, each column an answer that overlaps it "
            "by one half; the last row are answers where nothing is, the last column boxes that were not found.</p>"
            f"<div class='grid-2'>{drawn}<div class='card'><h3>classes, the hardest first</h3>{svg.bars(rows)}"
            f"{svg.legend('average precision', 'recall', 'precision')}</div></div>"
            "<div class='card' style='margin-top:16px'><h3>what the numbers mean</h3><p>Recall: of the true boxes, how many were found. Precision: of the "
            "answers, how many were right. Average precision is high where sure answers are right and none is missing, wherever the line between "
            "sure and unsure is drawn; mAP is its mean over the classes. The interval is where it lies on other pictures of the same kind, 19 times "
            f"in 20.</p><h3>colours of the boxes below</h3>{keys(names)}</div>"
        )

    def pictures(self) -> list[tuple[str, str, list[Picture]]]:
        wrong, shown = [], []
        task = Boxes(self.classes)
        for i, (found, truth) in enumerate(zip(self.sure(), self.truth)):
            right = int((matched(found, truth, OVERLAP) >= 0).sum())
            wrong.append(len(found) + len(truth) - 2 * right)
            said = task._told(found[:, 0].astype(int).tolist())
            true = task._told(truth[:, 0].astype(int).tolist())
            shown.append(Picture(i, "wrong" if wrong[-1] else "right", said, "", true if said != true else ""))
        order = np.argsort(-np.array(wrong, int), kind="stable").tolist()
        worst = [shown[i] for i in order if wrong[i]][:SHOWN]
        best = [shown[i] for i in reversed(order) if not wrong[i] and len(self.truth[i])][:SHOWN]
        return [("The worst mistakes", "Boxes that are missing, too many or in another place: look here for wrong boxes first.", worst),
                ("All right", "Every box found, and none that is not there.", best)]  # fmt: skip


def _or_dash(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def _mean(areas: np.ndarray) -> np.ndarray:
    """The mean over the classes that have boxes, for each row."""
    there = ~np.isnan(areas)
    return np.where(there, areas, 0).sum(1) / np.maximum(there.sum(1), 1)
