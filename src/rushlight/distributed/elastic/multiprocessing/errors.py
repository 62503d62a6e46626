"""`torch.distributed.elastic.multiprocessing.errors`: `record`, which scripts put on their main function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["ChildFailedError", "record"]


class ChildFailedError(Exception):
    """A rank failed; the launcher prints which one and why."""


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """The function itself: the launcher reads every rank's traceback as it is printed."""
    return fn
