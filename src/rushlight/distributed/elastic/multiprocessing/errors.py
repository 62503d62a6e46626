"""`torch.distributed.elastic.multiprocessing.errors`: `record`, around the main function of a script."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["ChildFailedError", "record"]


class ChildFailedError(Exception):
    """Ranks that failed.

    Args:
        name: of the script.
        failures: what happened, by rank.

    Example:
        >>> from rushlight.distributed.elastic.multiprocessing.errors import ChildFailedError
        >>> str(ChildFailedError("train.py", {1: "exit code 1"}))
        'train.py failed: rank 1: exit code 1'
    """

    def __init__(self, name: str, failures: dict[int, Any]) -> None:
        self.name, self.failures = name, failures
        told = "; ".join([f"rank {rank}: {what}" for rank, what in failures.items()])
        super().__init__(f"{name} failed: {told}")


def record(fn: Callable[..., Any], error_handler: Any = None) -> Callable[..., Any]:
    """Mark the main function of a script; the launcher shows the first error of a rank by itself.

    Args:
        fn: the function.
        error_handler: accepted and not needed.

    Example:
        >>> from rushlight.distributed.elastic.multiprocessing.errors import record
        >>> @record
        ... def main():
        ...     return 3
        >>> main()
        3
    """

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return wrapper
