"""Which recording this thread is inside of."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from ...runtime.thread import here


def is_recording() -> bool:
    """Whether this thread is inside a call that is being recorded."""
    return here.recorder is not None


@contextmanager
def inside(recorder: Any) -> Iterator[None]:
    """This thread's ops are part of a recording until the end of the block."""
    before, here.recorder = here.recorder, recorder
    try:
        yield
    finally:
        here.recorder = before


def complain_now(what: str) -> None:
    """Mark the current recording as one that cannot be replayed."""
    here.recorder.complain(what)
