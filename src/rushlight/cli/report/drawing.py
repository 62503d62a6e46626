"""Pictures of a training run, of a test and of a benchmark, where matplotlib is installed."""

from __future__ import annotations

import os
import warnings
from typing import Any

from ..tasks.task import Result, Task

ABSENT = "no picture: that needs matplotlib, `pip install 'rushlight[cli]'`"


def _figure(width: float, height: float) -> Any:
    """An empty figure that can be saved to a file, or None without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return None
    return Figure(figsize=(width, height), layout="constrained", dpi=110)


def draw_training(folder: str, history: list[dict[str, Any]], task: Task, result: Result) -> str:
    """curves.png and the pictures of the task; the answer says what was written."""
    figure = _figure(10, 4)
    if figure is None:
        return ABSENT
    epochs = [h["epoch"] for h in history]
    for axis, key, name in zip(figure.subplots(1, 2), ("loss", task.score), ("loss", task.score_name)):  # fmt: skip
        axis.plot(epochs, [h["train_" + key] for h in history], "o-", label="training")
        if history and "val_" + key in history[-1]:
            axis.plot(epochs, [h.get("val_" + key) for h in history], "o-", label="validation")
        axis.set_title(name)
        axis.set_xlabel("epoch")
        axis.grid(alpha=0.3)
        axis.legend()
    figure.savefig(os.path.join(folder, "curves.png"))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # letters that the font does not have
        return ", ".join(["curves.png", *result.draw(folder, _figure)])


def plain_numbers(axis: Any) -> None:
    """2,000 beside an axis of logarithms instead of 2 times a power of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(10, (1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, place: f"{value:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def draw_speeds(path: str, title: str, rows: list[dict[str, Any]], places: list[str]) -> str:
    """Images per second over the batch size, log-log: a line for each place and width."""
    figure = _figure(7.5, 5)
    if figure is None:
        return ABSENT
    axis = figure.subplots()
    styles = ["o:", "o-", "s-", "^-", "v-"]
    for i, width in enumerate(sorted({r["width"] for r in rows})):
        for n, place in enumerate(places):
            points = [(r["batch"], r[place]) for r in rows if r["width"] == width and r[place]]
            if points:
                axis.plot(*zip(*points), styles[n % len(styles)], color=f"C{i}",
                          label=f"{place}, width {width}")  # fmt: skip
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    batches = sorted({r["batch"] for r in rows})
    axis.set_xticks(batches, [f"{b:,}" for b in batches])
    plain_numbers(axis.yaxis)
    axis.set_xlabel("batch size")
    axis.set_ylabel("images per second")
    axis.set_title(title)
    axis.grid(alpha=0.3, which="both")
    axis.legend(fontsize=8)
    figure.savefig(path)
    return os.path.basename(path)
