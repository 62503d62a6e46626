"""Which CUDA stream the work of a thread goes into, known here so that a launch need not ask CuPy."""

from __future__ import annotations

import threading
from typing import Any

import cupy
from cupy.cuda import Event, Stream, runtime

from .lost import explaining


class _Current(threading.local):
    """The address of this thread's stream; 0 is the default stream."""

    ptr = 0


current = _Current()


def default_stream(index: int) -> Any:
    """The stream that work goes into unless another was chosen."""
    return Stream.null


def current_stream(index: int) -> Any:
    """The stream of this thread on GPU `index`."""
    return cupy.cuda.get_current_stream(index)


def set_stream(stream: Any) -> None:
    """Send this thread's work into `stream`, ours and CuPy's alike."""
    stream.use()
    current.ptr = stream.ptr


class using:  # noqa: N801
    """Inside the block work goes into a raw stream."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def __enter__(self) -> Any:
        self.before = cupy.cuda.get_current_stream()
        set_stream(self.stream)
        return self.stream

    def __exit__(self, *exc: object) -> None:
        set_stream(self.before)


def new_stream(index: int, priority: int = 0) -> Any:
    """A stream of its own, which does not wait for the default one."""
    with cupy.cuda.Device(index):
        return Stream(non_blocking=True, priority=priority if priority < 0 else None)


def new_event(timing: bool, blocking: bool) -> Any:
    """A mark to be recorded in a stream."""
    return Event(block=blocking, disable_timing=not timing)


def wait_for(raw: Any) -> None:
    """Wait for everything in a stream, or for a mark. Errors of kernels that ran in the background are raised here."""
    with explaining():
        raw.synchronize()


def elapsed_time(start: Any, end: Any) -> float:
    """Milliseconds between two recorded marks; RuntimeError when one was not recorded or timed."""
    try:
        return float(cupy.cuda.get_elapsed_time(start, end))
    except runtime.CUDARuntimeError as error:
        raise RuntimeError(
            f"{error}. Both events must be created with enable_timing=True, recorded, and reached: "
            "call end.synchronize() first."
        ) from None
