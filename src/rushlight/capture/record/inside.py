"""Which recording this thread is inside of."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _State(threading.local):
    """How many recordings this thread is inside of, and the innermost."""

    depth = 0
    recorder: Any = None


state = _State()


def is_recording() -> bool:
    """Whether this thread is inside a call that is being recorded."""
    return state.depth > 0


@contextmanager
def inside(recorder: Any) -> Iterator[None]:
    """This thread's ops are part of a recording until the end of the block."""
    state.depth += 1
    before, state.recorder = state.recorder, recorder
    try:
        yield
    finally:
        state.depth -= 1
        state.recorder = before


def complain_now(what: str) -> None:
    """Tell the recording at work that this call cannot be replayed."""
    state.recorder.complain(what)
