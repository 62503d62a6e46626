"""A class for every pixel: cross entropy over pixels, the overlap of answer and truth (IoU), answers drawn over pictures."""

from __future__ import annotations

import colorsys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ...base.png import address
from ..data import augment
from ..data.pictures import middle, read_mask, shrink
from ..errors import printable, short
from ..report import svg
from .multilabel import by_rarest
from .task import SHOWN, TRY, Card, Picture, Result, Task, interval, tested

if TYPE_CHECKING:
    from argparse import Namespace

    from ...core.tensor import Tensor
    from ...nn.modules.module import Module

NOTHING = augment.NOTHING  # the number of a pixel that nobody asks for
MANY = 20  # with more classes the matrix does not fit


@dataclass
class Mask:
    """The file that has a number for each pixel of a picture, and which class a number is."""

    path: str
    values: tuple[int, ...]  # that occur in it
    classes: dict[int, int]  # of values; pixels of others are not asked for
    why: str = ""  # it cannot be used

    def __eq__(self, other: object) -> bool:
        """Whether it says the same: of two files with the same picture."""
        if not isinstance(other, Mask) or self.classes != other.classes:
            return False
        with open(self.path, "rb") as one, open(other.path, "rb") as two:
            return one.read() == two.read()

    @property
    def there(self) -> tuple[int, ...]:
        """The classes that occur."""
        return tuple(sorted({self.classes[v] for v in self.values if v in self.classes}))

    def numbers(self, side: int, size: tuple[int, int] | None = None) -> Any:
        """A PIL picture of the classes' numbers, as small as the cache keeps the picture; of `size` where the mask has another, but the same shape."""
        from PIL import Image

        table = np.full(256, NOTHING, np.uint8)
        for value, number in self.classes.items():
            table[value] = number
        made = shrink(Image.fromarray(table[read_mask(self.path)]), side, Image.Resampling.NEAREST)
        return made if size in (None, made.size) else made.resize(size, Image.Resampling.NEAREST)


def colour(number: int) -> tuple[int, int, int]:
    """Of a class; neighbours in the list are far apart on the wheel."""
    r, g, b = colorsys.hsv_to_rgb((0.02 + 0.618034 * number) % 1, 0.75, 0.95)
    return round(r * 255), round(g * 255), round(b * 255)


def keys(names: Sequence[str], first: int = 0) -> str:
    """Which colour is whose, as HTML."""
    shown = "".join(f"<span><i class='key' style='background:rgb{colour(i)}'></i>{escape(printable(name))}</span>"
                    for i, name in enumerate(names) if i >= first)  # fmt: skip
    return f"<div class='legend'>{shown}</div>"


def over(pixels: np.ndarray, numbers: np.ndarray) -> np.ndarray:
    """A picture, greyed, under the colours of its classes; the first class, usually the background, has none."""
    table = np.array([colour(i) for i in range(256)], np.float64)
    grey = (pixels if pixels.ndim == 2 else pixels.mean(2))[:, :, None]
    seen = ((numbers > 0) & (numbers != NOTHING))[:, :, None]
    return np.where(seen, 0.45 * grey + 0.55 * table[numbers], grey + 0 * table[0]).astype(np.uint8)


class Masks(Task):
    """A target is a file with the class of every pixel."""

    kind, score, score_name = "masks", "iou", "IoU"
    one, many, least = "class", "classes", 2
    over, writes = "segmentation.pyramid", True
    meaning = "the largest of the scores of a pixel is its class"
    recipe = {"label_smoothing": 0.0, "mixup": 0.0, "size": 128, "batch_size": 16}
    not_for = ("label_smoothing", "mixup", "cutmix", "erase")
    beside_told = "Below the picture the mask that was given, then the answer."

    def transforms(self, *settings: Any) -> Any:
        return augment.for_both(*settings)

    def sample(self, picture: Any, target: Mask, transform: Any, side: int) -> tuple[Any, Any]:
        x, over = transform(picture, augment.MaskOver(target.numbers(side, picture.size)))
        return x, over.tensor()

    def misfit(self, target: Mask, wide: int, high: int, side: int) -> str:
        if target.why:
            return f"its mask {target.why}"
        w, h = target.numbers(side).size
        return (
            "" if abs(w * high - h * wide) <= max(w, h, wide, high) / 2 else f"its mask {target.path} has another shape"
        )

    def groups(self, targets: Sequence[Mask]) -> list[Hashable]:
        return by_rarest([target.there for target in targets])

    def members(self, target: Mask) -> tuple[int, ...]:
        return target.there

    def renumbered(self, target: Mask, number: dict[int, int]) -> Mask:
        return replace(target, classes={v: number[i] for v, i in target.classes.items() if i in number})

    def in_words(self, target: Mask) -> str:
        return ", ".join(self.names[i] for i in target.there) or "nothing"

    def criterion(self, args: Namespace, counts: list[int], total: int, device: str) -> Callable[[Any, Any], Any]:
        import rushlight as rl

        weight = None
        if args.class_weights:  # by the pictures that have a class
            weight = rl.tensor([total / max(n, 1) for n in counts]).to(device)
        return rl.nn.CrossEntropyLoss(weight=weight, ignore_index=NOTHING)

    def _overlaps(self, out: Any, y: Any) -> Any:
        """Of each picture, how many pixels of each true class got each answer: N x K x K."""
        import rushlight as rl

        every = rl.arange(len(self.names), device=y.device)[None, :, None]
        truth = (y.flatten(1)[:, None] == every).float()
        answer = (out.argmax(1).flatten(1)[:, None] == every).float()
        return truth @ answer.transpose(1, 2)

    def good(self, out: Any, y: Any) -> Any:
        """IoU of each picture, the mean of the classes that it has or that are answered."""
        matrix = self._overlaps(out, y)
        hits = matrix.diagonal(0, 1, 2)
        union = matrix.sum(1) + matrix.sum(2) - hits
        there = (union > 0).float()
        return ((hits / union.clamp(1)).sum(1) / there.sum(1).clamp(1)).sum()

    def both(self, one: Any, other: Any) -> Any:
        return (one.softmax(1) + other.flip(3).softmax(1)).clamp(1e-30).log()

    def rows(self, out: Any, y: Any) -> tuple[Any, ...]:
        import rushlight.nn.functional as F

        losses = F.cross_entropy(out, y, reduction="none", ignore_index=NOTHING).flatten(1).sum(1)
        return self._overlaps(out, y), losses / (y != NOTHING).flatten(1).sum(1).clamp(1)

    def result(self, columns: Sequence[np.ndarray] | None) -> MasksResult:
        n = len(self.names)
        return MasksResult(self.names, *(columns or (np.zeros((0, n, n)), np.zeros(0))))

    def answers(self, out: Any, top: int) -> list[np.ndarray]:
        """The class of every pixel of what the network saw."""
        return list(out.argmax(1).numpy().astype(np.uint8))

    def inside(self, answer: np.ndarray, fit: str, size: tuple[int, int], side: int) -> np.ndarray:
        left, top, right, bottom = augment.inside(side, fit, size)
        return answer[top:bottom, left:right]

    def _areas(self, answer: np.ndarray) -> list[tuple[str, float]]:
        shares = np.bincount(answer.ravel(), minlength=len(self.names)) / answer.size
        return list(zip(self.names, shares.tolist()))

    def said(self, answer: np.ndarray) -> str:
        found = sorted(self._areas(answer), key=lambda pair: -pair[1])
        return "   ".join(f"{printable(name)} {share:.1%}" for name, share in found if share)

    def heads(self, top: int) -> list[str]:
        return [f"area_of_{printable(name)}" for name in self.names]

    def cells(self, answer: np.ndarray) -> list[str]:
        return [f"{share:.6f}" for _, share in self._areas(answer)]

    def as_json(self, answer: np.ndarray) -> dict[str, Any]:
        """The shares of the picture, and its classes as a grey PNG of their numbers."""
        return {"areas": {printable(n): round(v, 6) for n, v in self._areas(answer)}, "mask": address(answer)}

    def picture_of(self, answer: np.ndarray, path: str, size: tuple[int, int]) -> Any:
        """Numbers of classes, with a palette to look at."""
        from PIL import Image

        left, top, right, bottom = middle(*size)
        whole = Image.new("L", size, NOTHING)
        shape = (right - left, bottom - top)
        whole.paste(Image.fromarray(answer).resize(shape, Image.Resampling.NEAREST), (left, top))
        whole.putpalette([0, 0, 0, *(v for i in range(1, 256) for v in colour(i))])
        return whole

    def shape(self, size: int) -> str:
        return f"{len(self.names)} x {size} x {size}"

    def drawn(self, pixels: np.ndarray, y: Tensor) -> list[np.ndarray]:
        return [over(pixels, y.numpy())]

    def beside(self, net: Module, x: Tensor, y: Tensor, pixels: np.ndarray, one: Picture) -> list[np.ndarray]:
        import rushlight as rl

        with rl.no_grad():
            answer = self.answers(net(x[None]), 1)[0]
        asked = y.numpy() != NOTHING
        return [*self.drawn(pixels, y), over(pixels, np.where(asked, answer, NOTHING))]


@dataclass(frozen=True)
class MasksResult(Result):
    """Of every picture of a test, how many pixels of each true class got each answer."""

    classes: list[str]
    matrices: np.ndarray  # pictures x true class x answer
    losses: np.ndarray

    def overlaps(self) -> np.ndarray:
        """IoU of each picture, the mean of the classes that it has or that are answered."""
        hits = self.matrices.diagonal(0, 1, 2)
        union = self.matrices.sum(1) + self.matrices.sum(2) - hits
        return (hits / np.maximum(union, 1)).sum(1) / np.maximum((union > 0).sum(1), 1)

    @property
    def score(self) -> float:
        return float(self.overlaps().mean()) if len(self.matrices) else 0.0

    def pixels(self) -> np.ndarray:
        """`[truth, answer]`: pixels of all pictures."""
        return self.matrices.sum(0)

    def accuracy(self) -> float:
        whole = self.pixels()
        return float(np.diag(whole).sum() / max(whole.sum(), 1))

    def by_class(self) -> dict[str, np.ndarray]:
        """Over the pixels of all pictures: IoU, recall and precision of every class, and its share of the pixels."""
        whole = self.pixels()
        hits, there, answered = np.diag(whole), whole.sum(1), whole.sum(0)
        return {
            "iou": hits / np.maximum(there + answered - hits, 1), "recall": hits / np.maximum(there, 1),
            "precision": hits / np.maximum(answered, 1), "share": there / max(whole.sum(), 1),
        }  # fmt: skip

    def constant(self) -> np.ndarray:
        """IoU of each picture, had the commonest class been answered everywhere."""
        there = self.matrices.sum(2)
        common = int(there.sum(0).argmax())
        kinds = (there > 0).sum(1) + (there[:, common] == 0)
        return there[:, common] / np.maximum(there.sum(1), 1) / np.maximum(kinds, 1)

    def _within(self) -> tuple[float, float]:
        low, high = interval(self.overlaps())
        return max(low, 0.0), min(high, 1.0)

    def as_dict(self) -> dict[str, Any]:
        by = self.by_class()
        return {
            "iou": round(self.score, 6), "interval_95": [round(v, 6) for v in self._within()], "loss": round(self.loss, 6),
            "pixel_accuracy": round(self.accuracy(), 6), "mean_class_iou": round(float(by["iou"].mean()), 6),
            "images": len(self.matrices),
            "classes": {c: {key: round(float(v[i]), 6) for key, v in by.items()} for i, c in enumerate(self.classes)},
            "confusion": self.pixels().astype(int).tolist(),
        }  # fmt: skip

    def table(self, by_class: bool = False) -> str:
        low, high = self._within()
        by = self.by_class()
        wide = max(len("class"), *(len(short(name)) for name in self.classes))
        lines = [f"{'class':<{wide}}  of the pixels    IoU  recall  precision"]
        for i, name in enumerate(self.classes):
            lines.append(f"{short(name):<{wide}}  {by['share'][i]:13.1%}  {by['iou'][i]:5.3f}  {by['recall'][i]:6.1%}  {by['precision'][i]:9.1%}")  # fmt: skip
        return "\n".join([
            f"IoU of the network on the {tested(len(self.matrices))}: {self.score:.3f}",
            f"Between {low:.3f} and {high:.3f} at 95 % confidence, by pictures; mean of the classes over all pixels "
            f"{by['iou'].mean():.3f}; {self.accuracy():.1%} of the pixels right.", "", *lines,
        ])  # fmt: skip

    def warning(self) -> str | None:
        same = self.constant()
        if not len(same) or interval(self.overlaps() - same)[0] > 0:
            return None
        told = "may be chance" if self.score > same.mean() else "is no better than chance"
        return (f"Warning: an IoU of {self.score:.3f} {told}: the commonest class everywhere gets {same.mean():.3f}. "
                f"{TRY.format(what='the masks')}")  # fmt: skip

    def cards(self, tested: str) -> list[Card]:
        low, high = self._within()
        return [
            Card(f"{self.score:.3f}", f"IoU on {tested}", f"95 % interval {low:.3f} to {high:.3f}"),
            Card(f"{self.by_class()['iou'].mean():.3f}", "IoU over all pixels, mean of the classes"),
            Card(f"{self.accuracy():.1%}", "of the pixels right"),
        ]

    def charts(self) -> list[tuple[str, list[tuple[str, str]]]]:
        if len(self.classes) > MANY:
            return []
        whole = self.pixels()
        shares = np.rint(100 * whole / np.maximum(whole.sum(1, keepdims=True), 1)).astype(int)
        names = [printable(name) for name in self.classes]
        title = "of the pixels of each class, percent that got each answer"
        return [("confusion.svg", [(title, svg.matrix(names, shares.tolist()))])]

    def sections(self) -> str:
        by = self.by_class()
        names = [printable(name) for name in self.classes]
        order = np.argsort(by["iou"], kind="stable")
        rows = [(names[i], [("one", float(by["iou"][i]), f"IoU {by['iou'][i]:.3f}"), ("two", float(by["recall"][i]), f"recall {by['recall'][i]:.1%}"),
                            ("three", float(by["precision"][i]), f"precision {by['precision'][i]:.1%}")]) for i in order]  # fmt: skip
        drawn = "".join(f"<div class='card'><h3>{title}</h3>{chart}</div>" for _, found in self.charts() for title, chart in found)  # fmt: skip
        return (
            f"<h2>Where it is right</h2><p class='faint'>Over the pixels of all test pictures.</p><div class='grid-2'>{drawn}<div class='card'>"
            f"<h3>classes, the hardest first</h3>{svg.bars(rows)}{svg.legend('IoU', 'recall', 'precision')}</div></div>"
            "<div class='card' style='margin-top:16px'><h3>what the numbers mean</h3><p>IoU: pixels that have a class in the answer and in the "
            "mask, divided by those that have it in one of them; 1 where they agree. The one at the head is of each picture, the mean of "
            f"its classes, averaged over the pictures.</p><h3>colours of the masks below</h3>{keys(names, 1)}</div>"
        )

    def pictures(self) -> list[tuple[str, str, list[Picture]]]:
        found = self.overlaps()
        order = np.argsort(found, kind="stable").tolist()
        best = order[::-1][: min(SHOWN, len(order) // 2)]
        return [("The worst answers", "Look here for wrong masks first.", [Picture(i, "wrong", f"IoU {found[i]:.3f}", "") for i in order[: min(SHOWN, len(order) - len(order) // 2)]]),
                ("The best answers", "What it has learnt best.", [Picture(i, "right", f"IoU {found[i]:.3f}", "") for i in best])]  # fmt: skip
