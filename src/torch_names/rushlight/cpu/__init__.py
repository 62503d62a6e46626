"""`torch.cpu`: the CPU, asked as one asks a GPU."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

__all__ = [
    "Event", "Stream", "StreamContext", "current_device", "current_stream", "device_count", "is_available", "is_initialized",
    "set_device", "stream", "synchronize",
]  # fmt: skip


class Stream:
    """The only order of work there is on the CPU: one call after the other."""

    def __init__(self, priority: int = -1) -> None:
        self.priority = priority

    def wait_stream(self, stream: Any) -> None:
        """Nothing to wait for: every call is finished when it returns."""


class Event:
    """A point in the only order of work there is: always reached."""

    def query(self) -> bool:
        """Every call is finished when it returns."""
        return True

    def record(self, stream: Any = None) -> None:
        """Nothing to note."""

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def wait(self, stream: Any = None) -> None:
        """Nothing to wait for."""


class StreamContext(nullcontext):
    """A block in the only stream."""

    def __init__(self, stream: Any) -> None:
        super().__init__()
        self.stream = stream


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
    return StreamContext(stream)


def __getattr__(name: str) -> Any:
    """Looked up late: `rushlight.amp` is loaded only by those who use it."""
    if name == "amp":
        from importlib import import_module

        return import_module(f"{__name__}.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
