"""Progress of training: a live bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

# How often a line is printed where there is no terminal.
PLAIN_S = 10.0


def _rich_progress() -> Any:
    """A rich progress display, or None when there is no terminal or no rich."""
    if not sys.stdout.isatty():
        return None
    try:
        from rich.progress import BarColumn, Progress, TextColumn
    except ImportError:
        return None
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[numbers]}"),
    )


def clock(seconds: float) -> str:
    """1:05 or 2:03:04."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class Progress:
    """One line per epoch that fills while it runs."""

    def __init__(self, epochs: int, quiet: bool, words: Callable[[float, float], str], unit: str = "images") -> None:
        self.epochs, self.words = epochs, words  # the latter of a loss and a score
        self.quiet, self.unit = quiet, unit  # the latter is counted by the second
        self.live = None if quiet else _rich_progress()
        self.task: Any = None
        self.begun: float | None = None
        if self.live is not None:
            self.live.start()

    def start(self, epoch: int, steps: int, done: int) -> None:
        """Begin, or go on with, an epoch of `steps` steps."""
        self.epoch, self.steps = epoch, steps
        self.label = f"epoch {epoch + 1}/{self.epochs}"
        self.shown = time.monotonic()
        if self.begun is None:
            self.begun, self.first = self.shown, epoch * steps + done
        if self.live is not None:
            self.task = self.live.add_task(self.label, total=steps, completed=done, numbers="")

    def update(self, done: int, loss: float, score: float, speed: float) -> None:
        """Show where the epoch is."""
        now = time.monotonic()
        if self.quiet or (self.live is None and now - self.shown < PLAIN_S):
            return
        left = clock(self._seconds_left(done, now))
        numbers = f"{self.words(loss, score)}  {speed:,.0f} {self.unit}/s  {left} left"
        if self.live is not None:
            self.live.update(self.task, completed=done, numbers=numbers)
        else:
            self.shown = now
            print(f"{self.label}  {done}/{self.steps}  {numbers}", flush=True)

    def _seconds_left(self, done: int, now: float) -> float:
        """Of the whole run, tests between the epochs included, at the pace so far."""
        assert self.begun is not None
        at = self.epoch * self.steps + done
        return (now - self.begun) / max(at - self.first, 1) * (self.epochs * self.steps - at)

    def finish(self, line: str) -> None:
        """The epoch is over: one line that stays."""
        if self.live is not None:
            self.live.console.print(line, highlight=False, soft_wrap=True)
            self.live.remove_task(self.task)
        elif not self.quiet:
            print(line, flush=True)

    def say(self, line: str) -> None:
        """A line between, which stays; the epochs may be others now."""
        self.label = f"epoch {self.epoch + 1}/{self.epochs}"
        if self.live is not None:
            self.live.console.print(line, highlight=False, soft_wrap=True)
            self.live.update(self.task, description=self.label)
        elif not self.quiet:
            print(line, flush=True)

    def close(self) -> None:
        """Leave the terminal as it was."""
        if self.live is not None:
            self.live.stop()
            self.live = None


@contextlib.contextmanager
def bar(label: str, total: int, quiet: bool) -> Iterator[Callable[[], None]]:
    """A bar over work that is not training; inside, call the result once for each thing done."""
    live = None if quiet else _rich_progress()
    done = 0
    if live is None:
        shown = time.monotonic()

        def plain() -> None:
            nonlocal done, shown
            done += 1
            if not quiet and time.monotonic() - shown > PLAIN_S:
                shown = time.monotonic()
                print(f"{label}: {done}/{total}", flush=True)

        yield plain
        return
    with live:
        task = live.add_task(label, total=total, numbers="")
        yield lambda: live.advance(task)
        live.remove_task(task)
