"""`rushlight run --trace` and `--explain`: loops traced in a script, and a table of what became of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

_asked: dict[str, bool] = {"trace": False, "explain": False}


def take_options(rest: list[str]) -> list[str]:
    """The words behind `rushlight run` without the options of tracing, which are noted."""
    while rest and rest[0] in ("--trace", "--no-trace", "--explain"):
        if rest[0] == "--explain":
            _asked["explain"] = _asked["trace"] = True
        else:
            _asked["trace"] = rest[0] == "--trace"
            _asked["explain"] = _asked["explain"] and _asked["trace"]
            if not _asked["trace"]:
                from rushlight.base.config import settings

                settings.trace = "0"
        rest = rest[1:]
    return rest


@contextmanager
def explained() -> Iterator[None]:
    """Trace the loops of the block, if that was asked for, and say at its end what became of them."""
    if not _asked["trace"]:
        yield
        return
    import rushlight as rl

    rl.tracing(True)
    try:
        yield
    finally:
        if _asked["explain"]:
            from rushlight.capture.loops.report import table
            from rushlight.runtime.thread import here

            print(table(here.tracer), file=sys.stderr)
        rl.tracing(False)
