"""Whether the function that is being recorded catches errors where it is now: `try` with `except` or `finally`, not `with`."""

from __future__ import annotations

import dis
import sys
from types import CodeType
from typing import Any

_PACKAGE = __name__.split(".")[0] + "."
_RECORDING = f"{_PACKAGE}capture.record.recording"  # who calls the function
_CAUGHT = dis.opmap.get("PUSH_EXC_INFO", -1)
_WITH = dis.opmap.get("WITH_EXCEPT_START", -1)


def is_caught() -> bool:
    """Whether an error that is raised now would come to a handler of the function, or of one that it calls."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_globals.get("__name__", "")
        if name == _RECORDING:
            return False
        if not name.startswith(_PACKAGE):
            at = frame.f_lasti
            if any(start <= at < end for start, end in _handled(frame.f_code)):
                return True
        frame = frame.f_back
    return False


def _handled(code: CodeType) -> tuple[tuple[int, int], ...]:
    """Where the code is inside of a `try`: from which instruction to which."""
    parse = getattr(dis, "_parse_exception_table", None)
    if parse is None or not code.co_exceptiontable:
        return ()
    found = []
    for entry in parse(code):
        first, second = code.co_code[entry.target], code.co_code[entry.target + 2]
        if first == _CAUGHT and second != _WITH:
            found.append((entry.start, entry.end))
    return tuple(found)
