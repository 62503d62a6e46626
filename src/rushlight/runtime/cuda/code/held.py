"""What captured CUDA graphs hold: kernels and plans stay loaded as long as a graph that may run them.

A graph knows kernels by their addresses and holds nothing, and memos forget. So whoever captures one holds all modules
and plans that were there during the capture: it can run no others, and there are no more of them than the memos'
bounds allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakSet

from ....base.locks import new_lock

_T = TypeVar("_T")
_lock = new_lock()
_loaded: WeakSet[Any] = WeakSet()
_captures: list[list[Any]] = []  # what those under way hold


def runnable(made: _T) -> _T:
    """`made`, whose kernels a graph may run from now on."""
    with _lock:
        _loaded.add(made)
        for held in _captures:
            held.append(made)
    return made


@contextmanager
def holding() -> Iterator[list[Any]]:
    """All that a graph captured in the block may run; the list belongs beside the graph.

    Until the block ends nothing is unloaded, by no thread: a driver may refuse that during a capture.
    """
    with _lock:
        held = list(_loaded)
        _captures.append(held)
    try:
        yield held
    finally:
        with _lock:
            _captures[:] = [other for other in _captures if other is not held]
