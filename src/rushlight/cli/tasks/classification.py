"""One class for each picture: cross entropy, accuracy with its interval, F1, calibration, the confusion matrix."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import printable, short
from ..report import svg
from ..words import counted
from .task import SHOWN, Card, Picture, Result, Task, key_of, tested, to_try, wilson

if TYPE_CHECKING:
    from argparse import Namespace

TOP = 5
BINS = 15  # of the calibration curve
MANY = 20  # with more classes the matrix does not fit a screen


class Classification(Task):
    """A target is the number of a class."""

    kind, score, score_name = "classification", "accuracy", "accuracy"
    one, many, least = "class", "classes", 2
    meaning = "a softmax over the scores makes them the probabilities of the classes"

    def groups(self, targets: Sequence[int]) -> list[Hashable]:
        return list(targets)

    def members(self, target: int) -> tuple[int, ...]:
        return (target,)

    def renumbered(self, target: int, number: dict[int, int]) -> int | None:
        return number.get(target)

    def tensor(self, target: int) -> int:
        return target

    def in_words(self, target: int) -> str:
        return self.names[int(target)]

    def criterion(self, args: Namespace, counts: list[int], total: int, device: str) -> Callable[[Any, Any], Any]:
        import rushlight as rl

        weight = None
        if args.class_weights:  # every class counts the same, 1 on average over the pictures
            every = [sum(counts) / (len(counts) * max(n, 1)) for n in counts]
            weight = rl.tensor(every).to(device)
        return rl.nn.CrossEntropyLoss(weight=weight, label_smoothing=args.label_smoothing)

    def good(self, out: Any, y: Any) -> Any:
        return (out.argmax(1) == y).sum()

    def shown(self, score: float) -> str:
        return f"{score:.1%}"

    def both(self, one: Any, other: Any) -> Any:
        return ((one.softmax(1) + other.softmax(1)) / 2).clamp(1e-30).log()

    def rows(self, out: Any, y: Any) -> tuple[Any, ...]:
        import rushlight.nn.functional as F

        sure, answer = out.softmax(1).max(1)
        top = out.topk(min(TOP, out.shape[1]), 1)[1]
        return y, answer, sure, (top == y[:, None]).any(1), F.cross_entropy(out, y, reduction="none")

    def result(self, columns: Sequence[np.ndarray] | None) -> ClassResult:
        if columns is None:
            none = np.zeros(0)
            columns = (none.astype(int), none.astype(int), none, none.astype(bool), none)
        labels, answers, sure, among, losses = columns
        return ClassResult(self.names, labels, answers, sure, among, losses, noun=self.noun)

    def compared(self, truth: np.ndarray, answers: np.ndarray) -> tuple[float, tuple[float, float]]:
        right = int((truth == answers).sum())
        return right / max(len(truth), 1), wilson(right, len(truth))

    def answers(self, out: Any, top: int) -> list[list[tuple[str, float]]]:
        """The likeliest classes with their probabilities."""
        values, at = out.softmax(1).topk(min(top, len(self.names)), 1)
        return [[(self.names[int(i)], float(v)) for v, i in zip(*row)] for row in zip(values.numpy(), at.numpy())]

    def said(self, answer: list[tuple[str, float]]) -> str:
        return "   ".join(f"{printable(name)} {share:.1%}" for name, share in answer)

    def heads(self, top: int) -> list[str]:
        places = range(1, min(top, len(self.names)) + 1)
        return [f"{what}_{i}" for i in places for what in ("class", "probability")]

    def cells(self, answer: list[tuple[str, float]]) -> list[str]:
        return [v for name, share in answer for v in (printable(name), f"{share:.6f}")]

    def as_json(self, answer: list[tuple[str, float]]) -> dict[str, Any]:
        return {"answers": [{"class": printable(n), "probability": round(p, 6)} for n, p in answer]}


@dataclass(frozen=True)
class ClassResult(Result):
    """The answers to every picture of a test."""

    classes: list[str]
    truth: np.ndarray
    answers: np.ndarray
    confidence: np.ndarray  # the probability of the answer
    in_top: np.ndarray  # whether the truth was among the five likeliest
    losses: np.ndarray
    noun: str = "picture"

    @property
    def score(self) -> float:
        return self.accuracy

    @property
    def matrix(self) -> np.ndarray:
        """`matrix[truth, answer]`: how often."""
        n = len(self.classes)
        counts = np.zeros((n, n), np.int64)
        np.add.at(counts, (self.truth, self.answers), 1)
        return counts

    @property
    def accuracy(self) -> float:
        return float((self.truth == self.answers).mean()) if len(self.truth) else 0.0

    @property
    def top5(self) -> float:
        return float(self.in_top.mean()) if len(self.in_top) else 0.0

    def interval(self) -> tuple[float, float]:
        """Where the accuracy on other pictures of this kind lies, at 95 %."""
        return wilson(int((self.truth == self.answers).sum()), len(self.truth))

    def per_class(self) -> np.ndarray:
        """Of each class, the share that was recognised (recall)."""
        matrix = self.matrix
        return np.diag(matrix) / np.maximum(matrix.sum(axis=1), 1)

    def precision(self) -> np.ndarray:
        """Of each answer, the share that was right."""
        matrix = self.matrix
        return np.diag(matrix) / np.maximum(matrix.sum(axis=0), 1)

    def f1(self) -> np.ndarray:
        """The harmonic mean of recall and precision, of each class."""
        r, p = self.per_class(), self.precision()
        return 2 * r * p / np.maximum(r + p, 1e-12)

    def calibration(self) -> tuple[float, list[tuple[float, float, int]]]:
        """How far confidence is from being right, on average, and (confidence, share right, count) by bin."""
        right = self.truth == self.answers
        at = np.minimum((self.confidence * BINS).astype(int), BINS - 1)
        bins = []
        error = 0.0
        for b in range(BINS):
            inside = at == b
            count = int(inside.sum())
            if count:
                sure, good = float(self.confidence[inside].mean()), float(right[inside].mean())
                bins.append((sure, good, count))
                error += abs(sure - good) * count
        return error / max(len(right), 1), bins

    def commonest(self) -> tuple[str, float]:
        """The class of which there is most, and its share: what answering it always would get."""
        counts = np.bincount(self.truth, minlength=len(self.classes))
        best = int(counts.argmax())
        return self.classes[best], float(counts[best] / max(counts.sum(), 1))

    def at_chance(self) -> bool:
        """Whether always answering the commonest class may do as well."""
        return len(self.truth) > 0 and self.interval()[0] <= self.commonest()[1]

    def as_dict(self) -> dict[str, Any]:
        low, high = self.interval()
        error, bins = self.calibration()
        return {
            "accuracy": round(self.accuracy, 6), "interval_95": [round(low, 6), round(high, 6)],
            "loss": round(self.loss, 6), "top5": round(self.top5, 6),
            "f1_macro": round(float(self.f1().mean()), 6), "calibration_error": round(error, 6),
            "calibration": [[round(a, 4), round(b, 4), n] for a, b, n in bins],
            key_of(self.noun): len(self.truth),
            "per_class": {c: round(float(a), 6) for c, a in zip(self.classes, self.per_class())},
            "precision": {c: round(float(a), 6) for c, a in zip(self.classes, self.precision())},
            "f1": {c: round(float(a), 6) for c, a in zip(self.classes, self.f1())},
            "confusion": self.matrix.tolist(),
        }  # fmt: skip

    def table(self, by_class: bool = False) -> str:
        """Overall accuracy and what belongs to it, then the confusion matrix or every class's numbers."""
        low, high = self.interval()
        error, _ = self.calibration()
        head = f"Accuracy of the network on the {tested(len(self.truth), self.noun)}: {self.accuracy:.2%}"
        more = f"Between {low:.1%} and {high:.1%} at 95 % confidence; F1 {self.f1().mean():.3f}; "
        if len(self.classes) > 2 * TOP:  # of six, five are nearly all
            more += f"among the five likeliest {self.top5:.1%}; "
        more += f"confidence is off by {error:.1%} on average."
        if by_class:
            lines = _classes(self)
        else:
            lines = _matrix(self) if len(self.classes) <= MANY else _worst(self)
        return "\n".join([head, more, "", *lines])

    def warning(self) -> str | None:
        """What to try when the network knows no more than how common the classes are."""
        if not self.at_chance():
            return None
        name, share = self.commonest()
        told = "is no better than chance"
        if self.accuracy > share:
            low, high = self.interval()
            told = f"of {counted(len(self.truth), self.noun)} may be chance (between {low:.1%} and {high:.1%} at 95 %)"
        return (
            f"Warning: {self.accuracy:.1%} {told}: always answering {short(name)!r} gets "
            f"{share:.1%}. {to_try('the labels', self.noun)}"
        )

    def cards(self, tested: str) -> list[Card]:
        low, high = self.interval()
        error, _ = self.calibration()
        more = [Card(f"{self.top5:.1%}", "right among the five likeliest")] if len(self.classes) > TOP else []
        return [
            Card(f"{self.accuracy:.1%}", f"accuracy on {tested}", f"95 % interval {low:.1%} to {high:.1%}"),
            Card(f"{self.f1().mean():.3f}", "F1, mean of the classes"),
            *more,
            Card(f"{error:.1%}", "confidence off by, on average"),
        ]

    def sections(self) -> str:
        """The matrix, the classes, the calibration."""
        names = [printable(c) for c in self.classes]
        recall, precision, f1 = self.per_class(), self.precision(), self.f1()
        order = np.argsort(recall, kind="stable")
        rows = [(names[i], [("one", float(recall[i]), f"recall {recall[i]:.1%}"), ("two", float(precision[i]), f"precision {precision[i]:.1%}"),
                            ("three", float(f1[i]), f"F1 {f1[i]:.3f}")]) for i in order]  # fmt: skip
        error, bins = self.calibration()
        charts = [drawn for _, found in self.charts() for _, drawn in found]
        none = "<p class='faint'>There are too many classes to draw; test.json has the matrix.</p>"
        return (
            "<h2>Where it is right</h2><p class='faint'>Each row of the matrix is a true class, each column an answer.</p>"
            f"<div class='grid-2'><div class='card'><h3>confusion matrix</h3>{''.join(charts) or none}</div><div class='card'>"
            f"<h3>classes, the hardest first</h3>{svg.bars(rows)}{svg.legend('recall', 'precision', 'F1')}</div></div>"
            "<div class='grid-2' style='margin-top:16px'><div class='card'><h3>calibration: is 80 % confidence right 80 % of the time?</h3>"
            f"{svg.calibration(bins)}</div><div class='card'><h3>what the numbers mean</h3><p>"
            f"Recall: of the {self.noun}s of a class, how many were recognised. Precision: of the answers with a class, how many were right. F1 is high only when both are. "
            f"Confidence differs from accuracy by {error:.1%} on average; dots under the dashed line are answers that were "
            f"too sure. The interval is where accuracy on other {self.noun}s of the same kind lies, 19 times in 20.</p></div></div>"
        )

    def pictures(self) -> list[tuple[str, str, list[Picture]]]:
        right = self.truth == self.answers
        worst = _surest(self, np.flatnonzero(~right))
        best = _surest(self, np.flatnonzero(right))
        return [("The worst mistakes", "Wrong, and most sure of it: look here for wrong labels first.", worst),
                ("The surest right answers", "What it has learnt best.", best)]  # fmt: skip

    def charts(self) -> list[tuple[str, list[tuple[str, str]]]]:
        if len(self.classes) > svg.MOST_BARS:
            return []
        title = f"a row for each true class, a column for each answer; accuracy {self.accuracy:.1%}"
        names = [printable(name) for name in self.classes]
        return [("confusion.svg", [(title, svg.matrix(names, self.matrix.tolist()))])]


def _surest(result: ClassResult, places: np.ndarray) -> list[Picture]:
    """The pictures among these that it was most sure of."""
    first = places[np.argsort(-result.confidence[places], kind="stable")][:SHOWN]
    shown = []
    for i in first.tolist():
        true, answer = (printable(result.classes[int(v[i])]) for v in (result.truth, result.answers))
        sure = f"{result.confidence[i]:.0%}"
        wrong = result.truth[i] != result.answers[i]
        shown.append(Picture(i, "wrong" if wrong else "right", answer, sure, true if wrong else ""))
    return shown


def _names(result: ClassResult) -> tuple[list[str], int]:
    names = [short(name) for name in result.classes]
    return names, max(len("true class"), *map(len, names))


def _matrix(result: ClassResult) -> list[str]:
    """One line a class: its accuracy, and how often each answer was given."""
    names, wide = _names(result)
    matrix = result.matrix
    cell = max(6, len(str(matrix.max())) + 2)
    heads = "".join(f"{n[: cell - 1]:>{cell}}" for n in names)
    lines = [f"{'':<{wide}}  accuracy  answered:", f"{'true class':<{wide}}  {'':8}{heads}"]
    for name, row, share in zip(names, matrix, result.per_class()):
        cells = "".join(f"{int(n) or '.':>{cell}}" for n in row)
        lines.append(f"{name:<{wide}}  {share:8.1%}{cells}")
    return lines


def _classes(result: ClassResult) -> list[str]:
    """Every class: pictures, recall, precision, F1, and what it is most often taken for."""
    names, wide = _names(result)
    matrix = result.matrix
    lines = [f"{'true class':<{wide}}  {result.noun + 's':>8}  recall  precision     F1  most often taken for"]
    for i, name in enumerate(names):
        wrong = matrix[i].copy()
        wrong[i] = 0
        taken = f"{names[int(wrong.argmax())]} ({int(wrong.max())})" if wrong.max() else "-"
        lines.append(
            f"{name:<{wide}}  {int(matrix[i].sum()):>8}  {result.per_class()[i]:6.1%}  "
            f"{result.precision()[i]:9.1%}  {result.f1()[i]:5.3f}  {taken}"
        )
    return lines


def _worst(result: ClassResult) -> list[str]:
    """The classes that went worst, where there are too many for a matrix on a screen."""
    shares = result.per_class()
    names, wide = _names(result)
    order = np.argsort(shares, kind="stable")[:10]
    lines = [f"{names[i]:<{wide}}  {shares[i]:6.1%}" for i in order]
    return [*lines, f"(the ten worst of {len(shares)} classes; test.json has all, with the matrix)"]
