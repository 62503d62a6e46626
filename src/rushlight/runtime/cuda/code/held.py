"""What captured CUDA graphs hold: kernels and plans stay loaded as long as a graph that may run them.

A graph knows kernels by their addresses and holds nothing, and memos forget. So whoever captures one holds all modules
and plans that were there during the capture: it can run no others, and there are no more of them than the memos'
bounds allow.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar
from weakref import WeakSet

from ....base.garbage import collector_waits
from ....base.locks import new_lock

_T = TypeVar("_T")
_lock = new_lock()
_loaded: WeakSet[Any] = WeakSet()
_captures: list[list[Any]] = []  # what those under way hold
_late: list[Callable[[], None]] = []  # what waits for the GPU, and so for the end of all captures


def runnable(made: _T) -> _T:
    """`made`, whose kernels a graph may run from now on."""
    with _lock:
        _loaded.add(made)
        for held in _captures:
            held.append(made)
    return made


def outside_captures(wait: Callable[[], None]) -> None:
    """Do what makes the host wait for the GPU, when no graph is being captured: to wait would spoil the capture.

    For finalisers, which run in any thread at any moment; so this takes no lock.
    """
    if _captures:
        _late.append(wait)
    else:
        wait()


@contextmanager
def holding() -> Iterator[list[Any]]:
    """All that a graph captured in the block may run; the list belongs beside the graph.

    Until the block ends nothing is unloaded and nobody's finaliser waits for the GPU, in no thread: a driver may
    refuse the first during a capture, and the second ends it.
    """
    collector_waits.begin()
    with _lock:
        held = list(_loaded)
        _captures.append(held)
    try:
        yield held
    finally:
        with _lock:
            _captures[:] = [other for other in _captures if other is not held]
        while _late and not _captures:
            _late.pop()()
        collector_waits.end()
