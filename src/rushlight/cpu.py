"""`torch.cpu`: the CPU, asked as one asks a GPU."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

__all__ = [
    "Stream", "current_device", "current_stream", "device_count", "is_available", "is_initialized",
    "set_device", "stream", "synchronize",
]  # fmt: skip


class Stream:
    """The only order of work there is on the CPU: one call after the other."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for: every call is finished when it returns."""


_only = Stream()


def is_available() -> bool:
    """There always is a CPU."""
    return True


def is_initialized() -> bool:
    """Nothing has to be initialised."""
    return True


def device_count() -> int:
    """The CPU counts as one device."""
    return 1


def current_device() -> str:
    """`cpu`."""
    return "cpu"


def set_device(device: Any) -> None:
    """The CPU is the CPU's only device."""


def synchronize(device: Any = None) -> None:
    """Every call is finished when it returns."""


def current_stream(device: Any = None) -> Stream:
    """The only stream."""
    return _only


def stream(stream: Any) -> Any:
    """A block in the only stream."""
    return nullcontext(stream)
