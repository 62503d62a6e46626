"""`rushlight run`: loops of a script are traced; tables at its end, where they were asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from .costly_lines import costly_lines

# What the command line asks for; None: loops that go on for long enough are traced.
_asked: dict[str, bool | None] = {"trace": None, "explain": False, "profile": False}


def take_options(rest: list[str]) -> list[str]:
    """The words behind `rushlight run` without the options of tracing, which are noted."""
    while rest and rest[0] in ("--trace", "--no-trace", "--explain", "--profile"):
        if rest[0] == "--explain":
            _asked["explain"] = _asked["trace"] = True
        elif rest[0] == "--profile":
            _asked["profile"] = True
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
    """Trace the loops of the block, unless that is forbidden, and say at its end what became of them, if asked for."""
    import rushlight as rl
    from rushlight.base.config import settings
    from rushlight.core.hot import trace_by_itself

    if settings.trace == "0":
        rl.tracing(False)
    elif _asked["trace"]:
        rl.tracing(True)
    else:
        trace_by_itself()
    try:
        with costly_lines() if _asked["profile"] else nullcontext():
            yield
    finally:
        if _asked["explain"]:
            from rushlight.capture.loops.report import table
            from rushlight.runtime.thread import here

            print(table(here.tracer), file=sys.stderr)
        rl.tracing(False)
