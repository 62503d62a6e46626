"""How many references an object has while nothing else refers to it: measured, since Python versions count differently.

A call puts its arguments into a frame, and from Python 3.14 on some of those references are borrowed and not
counted. So no count is written down: each place that compares one finds its own when it is imported.
"""

from __future__ import annotations

from collections.abc import Callable
from sys import getrefcount
from typing import Any


def least(accepts: Callable[[int], bool]) -> int:
    """The smallest count at which `accepts` says that there is no other reference to what it looks at.

    Each is tried a few times: the interpreter rewrites code that runs again, and might borrow more.
    """
    for count in range(1, 16):
        if any(accepts(count) for _ in range(8)):
            return count
    raise RuntimeError("rushlight needs an interpreter that counts references, as CPython does")


def _in_dict_and_variable() -> int:
    held = {0: object()}
    a: Any = held.get(0)
    return getrefcount(a)


IN_DICT_AND_VARIABLE = _in_dict_and_variable()  # of what a dict and a local variable hold
