"""What a test found: accuracy overall and per class, the confusion matrix, tables and pictures."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np


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
    names = result.classes
    lines = [
        f"Accuracy of the network on the {int(result.matrix.sum())} test images: {result.accuracy:.2%}",
        "",
    ]
    wide = max(len(n) for n in names)
    if len(names) > 20:
        order = np.argsort(result.per_class())
        lines += [f"  {names[i]:<{wide}}  {result.per_class()[i]:6.1%}" for i in order[:10]]
        return "\n".join(
            [*lines, f"  (the ten worst of {len(names)} classes; metrics.json has all)"]
        )
    cell = max(5, len(str(result.matrix.max())) + 1)
    heads = "".join(f"{n[: cell - 1]:>{cell}}" for n in names)
    lines.append(f"{'':<{wide}}  accuracy   answered:{heads[9:] if len(heads) > 9 else heads}")
    lines[-1] = f"{'class':<{wide}}  accuracy  {heads}   <- answered"
    for name, row, share in zip(names, result.matrix, result.per_class()):
        cells = "".join(f"{int(n) if n else '.':>{cell}}" for n in row)
        lines.append(f"{name:<{wide}}  {share:7.1%}   {cells}")
    return "\n".join(lines)


def _pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def draw(folder: str, history: list[dict[str, Any]], result: Result) -> str:
    """curves.png and confusion.png; the answer says what was written."""
    plt = _pyplot()
    if plt is None:
        return "no pictures: matplotlib is not installed (pip install 'rushlight[plot]')"
    epochs = [h["epoch"] for h in history]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for axis, key, title in ((left, "loss", "loss"), (right, "accuracy", "accuracy")):
        axis.plot(epochs, [h["train_" + key] for h in history], "o-", label="training")
        axis.plot(epochs, [h["test_" + key] for h in history], "o-", label="test")
        axis.set_title(title)
        axis.set_xlabel("epoch")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.tight_layout()
    figure.savefig(os.path.join(folder, "curves.png"), dpi=110)
    plt.close(figure)
    _draw_confusion(plt, folder, result)
    return "curves.png, confusion.png"


def _draw_confusion(plt: Any, folder: str, result: Result) -> None:
    n = len(result.classes)
    side = min(4 + 0.4 * n, 14)
    figure, axis = plt.subplots(figsize=(side, side * 0.9))
    shares = result.matrix / np.maximum(result.matrix.sum(axis=1, keepdims=True), 1)
    shown = axis.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    figure.colorbar(shown, label="share of the true class", fraction=0.046)
    if n <= 30:
        axis.set_xticks(range(n), result.classes, rotation=60, ha="right")
        axis.set_yticks(range(n), result.classes)
    if n <= 12:
        for i in range(n):
            for j in range(n):
                if result.matrix[i, j]:
                    color = "white" if shares[i, j] > 0.5 else "black"
                    axis.text(
                        j,
                        i,
                        int(result.matrix[i, j]),
                        ha="center",
                        va="center",
                        color=color,
                        fontsize=8,
                    )
    axis.set_xlabel("answered")
    axis.set_ylabel("true")
    axis.set_title(f"accuracy {result.accuracy:.1%}")
    figure.tight_layout()
    figure.savefig(os.path.join(folder, "confusion.png"), dpi=110)
    plt.close(figure)


def write_json(folder: str, result: Result) -> None:
    """test.json: the test in numbers."""
    from rushlight.io import atomic_write

    with atomic_write(os.path.join(folder, "test.json"), "w") as f:
        json.dump(result.as_dict(), f, indent=1)
