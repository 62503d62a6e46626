"""`torch.multiprocessing`: Python's own, plus `spawn`; tensors on the CPU travel as shared memory.

What one process writes into a tensor that it got as an argument or from a queue, the others read.
"""

from __future__ import annotations

import multiprocessing as _python
from typing import Any

from . import reductions
from .processes import (
    ProcessContext,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "ProcessContext",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "reductions",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
]

_strategies = ("file_descriptor", "file_system")
_strategy = "file_descriptor"

reductions.init_reductions()


def get_all_sharing_strategies() -> set[str]:
    """The names that `set_sharing_strategy` takes.

    Example:
        >>> sorted(torch.multiprocessing.get_all_sharing_strategies())
        ['file_descriptor', 'file_system']
    """
    return set(_strategies)


def get_sharing_strategy() -> str:
    """How tensors reach other processes.

    Example:
        >>> torch.multiprocessing.get_sharing_strategy()
        'file_descriptor'
    """
    return _strategy


def set_sharing_strategy(new_strategy: str) -> None:
    """Choose how tensors reach other processes.

    Memory is always sent by its descriptor, which leaves nothing behind when a process is killed. Scripts
    choose "file_system" because descriptors run out; here small tensors share one.

    Args:
        new_strategy: "file_descriptor" or "file_system".

    Example:
        >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    global _strategy
    assert new_strategy in _strategies, f"{new_strategy!r} is none of {_strategies}"
    _strategy = new_strategy


def __getattr__(name: str) -> Any:
    """Process, Queue, set_start_method, ... are Python's."""
    try:
        return getattr(_python, name)
    except AttributeError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
