"""What a test found, in numbers and as a table: accuracy and the confusion matrix."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from .errors import printable

# With more classes than this the matrix does not fit a screen.
MANY = 20


class Result:
    """Counts of a test: `matrix[truth, answer]`."""

    def __init__(self, matrix: np.ndarray, loss: float, classes: list[str]) -> None:
        self.matrix = matrix
        self.loss = loss
        self.classes = classes

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.matrix) / max(self.matrix.sum(), 1))

    def per_class(self) -> np.ndarray:
        totals = self.matrix.sum(axis=1)
        return np.diag(self.matrix) / np.maximum(totals, 1)

    def as_dict(self) -> dict[str, Any]:
        return {
            "accuracy": round(self.accuracy, 6),
            "loss": round(self.loss, 6),
            "images": int(self.matrix.sum()),
            "per_class": {c: round(float(a), 6) for c, a in zip(self.classes, self.per_class())},
            "confusion": self.matrix.tolist(),
        }


def measure(net: Any, loader: Any, device: str, classes: list[str]) -> Result:
    """Test a network on every image of a loader."""
    import rushlight as rl
    import rushlight.nn.functional as F

    matrix = np.zeros((len(classes), len(classes)), np.int64)
    loss = 0.0
    net.eval()
    with rl.no_grad():
        for x, y in loader:
            out = net(x.to(device))
            loss += F.cross_entropy(out, y.to(device), reduction="sum").item()
            np.add.at(matrix, (y.numpy(), out.argmax(1).cpu().numpy()), 1)
    return Result(matrix, loss / max(int(matrix.sum()), 1), classes)


def table(result: Result) -> str:
    """Overall accuracy, per-class accuracy and the confusion matrix, as text."""
    images = int(result.matrix.sum())
    head = f"Accuracy of the network on the {images} test images: {result.accuracy:.2%}"
    lines = _matrix(result) if len(result.classes) <= MANY else _worst(result)
    return "\n".join([head, "", *lines])


def _matrix(result: Result) -> list[str]:
    """One line a class: its accuracy, and how often each answer was given."""
    names = [printable(name) for name in result.classes]
    wide = max(len("true class"), *map(len, names))
    cell = max(6, len(str(result.matrix.max())) + 2)
    heads = "".join(f"{n[: cell - 1]:>{cell}}" for n in names)
    lines = [f"{'':<{wide}}  accuracy  answered:", f"{'true class':<{wide}}  {'':8}{heads}"]
    for name, row, share in zip(names, result.matrix, result.per_class()):
        cells = "".join(f"{int(n) or '.':>{cell}}" for n in row)
        lines.append(f"{name:<{wide}}  {share:8.1%}{cells}")
    return lines


def _worst(result: Result) -> list[str]:
    """The classes that went worst, where there are too many for a matrix on a screen."""
    shares = result.per_class()
    names = [printable(name) for name in result.classes]
    wide = max(map(len, names))
    order = np.argsort(shares, kind="stable")[:10]
    lines = [f"{names[i]:<{wide}}  {shares[i]:6.1%}" for i in order]
    return [*lines, f"(the ten worst of {len(shares)} classes; test.json has all, with the matrix)"]


def write_json(folder: str, result: Result) -> None:
    """test.json: the test in numbers."""
    from rushlight.io import atomic_write

    with atomic_write(os.path.join(folder, "test.json"), "w") as f:
        json.dump(result.as_dict(), f, indent=1)
