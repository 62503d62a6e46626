"""Progress of training: a live bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Any


def _rich_progress() -> Any:
    """A rich progress display, or None when there is no terminal or no rich."""
    if not sys.stdout.isatty():
        return None
    try:
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        return None
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:>5}/{task.total}"),
        TextColumn("{task.fields[numbers]}"),
        TimeRemainingColumn(compact=True),
        transient=False,
    )


class Progress:
    """One line per epoch that fills while it runs."""

    def __init__(self, epochs: int, quiet: bool) -> None:
        self.epochs = epochs
        self.quiet = quiet
        self.live = None if quiet else _rich_progress()
        self.task: Any = None
        self.shown = 0.0
        if self.live is not None:
            self.live.start()

    def start(self, epoch: int, steps: int, done: int) -> None:
        self.steps = steps
        self.label = f"epoch {epoch + 1}/{self.epochs}"
        self.begin = self.shown = time.monotonic()
        self.first = done
        if self.live is not None:
            self.task = self.live.add_task(self.label, total=steps, completed=done, numbers="")

    def update(self, done: int, loss: float, accuracy: float, speed: float) -> None:
        if self.quiet:
            return
        numbers = f"loss {loss:.3f}  acc {accuracy:5.1%}  {speed:,.0f} img/s"
        if self.live is not None:
            self.live.update(self.task, completed=done, numbers=numbers)
        elif time.monotonic() - self.shown > 10:
            self.shown = time.monotonic()
            left = (self.shown - self.begin) / max(done - self.first, 1) * (self.steps - done)
            print(f"{self.label}  {done}/{self.steps}  {numbers}  {left:.0f} s left", flush=True)

    def finish(self, line: str) -> None:
        if self.quiet:
            return
        if self.live is not None:
            self.live.console.print(line, highlight=False)
            self.live.remove_task(self.task)
        else:
            print(line, flush=True)

    def close(self) -> None:
        if self.live is not None:
            self.live.stop()
            self.live = None
