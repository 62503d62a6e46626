"""What a test found, in numbers: accuracy with its interval, top-5, F1, calibration, the confusion matrix."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from ...nn.modules.module import Module

TOP = 5
BINS = 15  # of the calibration curve
_Z = 1.959964  # of 95 %


@dataclass(frozen=True)
class Result:
    """The answers to every picture of a test, in the order of the data set."""

    classes: list[str]
    truth: np.ndarray
    answers: np.ndarray
    confidence: np.ndarray  # the probability of the answer
    in_top: np.ndarray  # whether the truth was among the five likeliest
    losses: np.ndarray

    @property
    def matrix(self) -> np.ndarray:
        """`matrix[truth, answer]`: how often."""
        n = len(self.classes)
        counts = np.zeros((n, n), np.int64)
        np.add.at(counts, (self.truth, self.answers), 1)
        return counts

    @property
    def loss(self) -> float:
        return float(self.losses.mean()) if len(self.losses) else 0.0

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
            "images": len(self.truth),
            "per_class": {c: round(float(a), 6) for c, a in zip(self.classes, self.per_class())},
            "precision": {c: round(float(a), 6) for c, a in zip(self.classes, self.precision())},
            "f1": {c: round(float(a), 6) for c, a in zip(self.classes, self.f1())},
            "confusion": self.matrix.tolist(),
        }  # fmt: skip


def wilson(right: int, count: int) -> tuple[float, float]:
    """Wilson's 95 % interval of a share (Wilson 1927): never outside 0 and 1, also for few pictures."""
    if not count:
        return 0.0, 1.0
    share, z2 = right / count, _Z * _Z
    middle = (share + z2 / (2 * count)) / (1 + z2 / count)
    half = _Z * math.sqrt(share * (1 - share) / count + z2 / (4 * count**2)) / (1 + z2 / count)
    return max(0.0, middle - half), min(1.0, middle + half)


def scores_of(net: Module, x: Any, views: int = 1) -> Any:
    """A network's scores of some pictures; with two views, those of the mean with their mirror images."""
    out = net(x).float()
    if views == 1:
        return out
    return ((out.softmax(1) + net(x.flip(3)).float().softmax(1)) / 2).clamp(1e-30).log()


def measure(
    net: Module,
    loader: Iterable[Any],
    device: str,
    classes: list[str],
    prepare: Any = None,
    views: int = 1,
) -> Result:
    """Test a network on every image of a loader; `prepare` brings a batch into the network's format."""
    import rushlight as rl
    import rushlight.nn.functional as F

    rows: list[tuple[np.ndarray, ...]] = []
    net.eval()
    with rl.no_grad():
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            out = scores_of(net, x if prepare is None else prepare(x), views)
            shares = out.softmax(1)
            sure, answer = shares.max(1)
            top = out.topk(min(TOP, out.shape[1]), 1)[1]
            found = (y, answer, sure, (top == y[:, None]).any(1), F.cross_entropy(out, y, reduction="none"))  # fmt: skip
            rows.append(tuple(t.cpu().numpy() for t in found))
    if not rows:
        none = np.zeros(0)
        return Result(classes, none.astype(int), none.astype(int), none, none.astype(bool), none)
    return Result(classes, *(np.concatenate(column) for column in zip(*rows)))


def write_json(folder: str, result: Result, more: dict[str, Any] | None = None) -> None:
    """test.json: the test in numbers."""
    from rushlight.io import atomic_write

    with atomic_write(os.path.join(folder, "test.json"), "w") as f:
        json.dump({**result.as_dict(), **(more or {})}, f, indent=1)
