"""What Python prints of an error that nobody caught: the user's frames, and at most two of ours.

Errors keep their tracebacks: debuggers, `logging` and test runners see every frame. Only the hooks that print shorten
them, for as long as they print; a hook that a program has set is never replaced. RUSHLIGHT_TRACEBACK=full shows all.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from .config import settings
from .misspelt import hint

_PACKAGE = sys.modules[__name__.partition(".")[0]]
_PYTHON = os.path.dirname(os.__file__) + os.sep
_ADDED = ("site-packages", "dist-packages")  # inside Python's folder and not Python's
# Libraries that compute for us: below one of our frames theirs are inner ones, too.
_COMPUTING = ("numpy", "cupy", "ml_dtypes", "mpi4py")


def is_ours(frame: FrameType) -> bool:
    """Whether it is a frame of this package, or of code that this package wrote."""
    file = frame.f_code.co_filename
    if file.startswith("<"):
        return str(frame.f_globals.get("__name__")).startswith(f"{__name__.partition('.')[0]}.")
    return file.startswith(tuple([os.path.abspath(folder) + os.sep for folder in _PACKAGE.__path__]))


def _is_library(frame: FrameType) -> bool:
    file = frame.f_code.co_filename
    if file.startswith(_PYTHON) and not any(part in file for part in _ADDED):
        return True
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _COMPUTING


def shortened(trace: TracebackType | None) -> TracebackType | None:
    """A copy without inner frames between the user's, and with the first and the last of those below them."""
    entries: list[TracebackType] = []
    inner: list[bool] = []
    while trace is not None:
        frame = trace.tb_frame
        inner.append(is_ours(frame) or (inner[-1:] == [True] and _is_library(frame)))
        entries.append(trace)
        trace = trace.tb_next
    if all(inner):
        return entries[0] if entries else None
    last = max(i for i, ours in enumerate(inner) if not ours)
    kept = [entry for entry, ours in zip(entries[:last], inner) if not ours] + [entries[last]]
    below = [e for e in entries[last + 1 :] if not e.tb_frame.f_code.co_filename.startswith("<")]
    kept += below if len(below) <= 2 else [below[0], _last_of_ours(below)]
    made = None
    for entry in reversed(kept):
        made = TracebackType(made, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return made


def _last_of_ours(entries: list[TracebackType]) -> TracebackType:
    """Where we failed; what a library says of it is in the message."""
    return next((e for e in reversed(entries[1:]) if is_ours(e.tb_frame)), entries[-1])


@contextmanager
def short(error: BaseException | None) -> Iterator[None]:
    """While the block runs, an error and those that led to it have short tracebacks."""
    if error is not None and not hasattr(error, "__notes__") and (more := hint(error)):
        error.add_note(more)
    whole: list[tuple[BaseException, TracebackType | None]] = []
    waiting = [error] if settings.traceback != "full" else []
    while waiting:
        e = waiting.pop()
        if e is None or any(e is seen for seen, _ in whole):
            continue
        whole.append((e, e.__traceback__))
        waiting += [e.__cause__, e.__context__, *getattr(e, "exceptions", ())]
    try:
        for e, trace in whole:
            e.__traceback__ = shortened(trace)
        yield
    finally:
        for e, trace in whole:
            e.__traceback__ = trace


def text(error: BaseException) -> str:
    """What Python would print, short."""
    import traceback

    with short(error):
        return "".join(traceback.format_exception(error))


def install() -> None:
    """Let the hooks that print errors print short ones, where they are Python's or IPython's own."""
    if sys.excepthook is sys.__excepthook__:
        sys.excepthook = _shortening(sys.__excepthook__)
    if threading.excepthook is threading.__excepthook__:
        threading.excepthook = _in_thread
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    if shell is not None and not shell.custom_exceptions:
        shell.set_custom_exc((Exception,), _in_notebook)


def _shortening(plain: Callable[..., Any]) -> Callable[..., Any]:
    def hook(kind: Any, error: Any, trace: Any) -> None:
        with short(error):
            plain(kind, error, error.__traceback__)

    return hook


def _in_thread(args: Any) -> None:
    with short(args.exc_value):
        shown = (args.exc_type, args.exc_value, getattr(args.exc_value, "__traceback__", None), args.thread)
        threading.__excepthook__(threading.ExceptHookArgs(shown))


def _in_notebook(shell: Any, kind: Any, error: Any, trace: Any, tb_offset: Any = None) -> None:
    with short(error):
        shell.showtraceback((kind, error, error.__traceback__), tb_offset=tb_offset)
    sys.last_traceback = trace  # for %debug
