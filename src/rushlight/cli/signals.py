"""Ctrl-C and SIGTERM as something to look at between two steps."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def catching_signals() -> Iterator[list[int]]:
    """Collect SIGINT and SIGTERM in a list; a second one of a kind is not caught any more."""
    caught: list[int] = []
    before: dict[int, Any] = {}

    def note(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        signal.signal(number, before[number])

    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            before[number] = signal.signal(number, note)
    except ValueError:  # not in the main thread: signals stay as they are
        before.clear()
    try:
        yield caught
    finally:
        for caught_before, handler in before.items():
            signal.signal(caught_before, handler)
