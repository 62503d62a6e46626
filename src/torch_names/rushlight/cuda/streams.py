"""Streams and events of a GPU: work in order, side by side, and timed."""

from __future__ import annotations

import ctypes
from typing import Any

from ..base.device import device as _device
from ..runtime.thread import settle
from ._gpus import gpu, index_of


class Stream:
    """A queue of work on a GPU; what is in one runs in order, and beside the others.

    Args:
        device: the GPU.
        priority: smaller numbers go first.
        raw: a stream of the CUDA library that is there already.

    Raises:
        RuntimeError: if there is no GPU.

    Example:
        >>> if torch.cuda.is_available():
        ...     side = torch.cuda.Stream()
        ...     with torch.cuda.stream(side):
        ...         y = torch.ones(3, device="cuda") + 1
        ...     torch.cuda.current_stream().wait_stream(side)
    """

    def __init__(self, device: Any = None, priority: int = 0, *, raw: Any = None) -> None:
        runtime = gpu()
        index = index_of(device)
        self.raw = runtime.new_stream(index, priority) if raw is None else raw
        self.device_index = index

    @property
    def device(self) -> Any:
        """The GPU it belongs to."""
        return _device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """The address that CUDA libraries take."""
        return self.raw.ptr

    def __cuda_stream__(self) -> tuple[int, int]:
        """The address by the CUDA stream protocol, for libraries that take streams of others."""
        return 0, self.cuda_stream

    @property
    def _as_parameter_(self) -> Any:
        """The address as an argument of a function of `ctypes`."""
        return ctypes.c_void_p(self.cuda_stream)

    def synchronize(self) -> None:
        """Wait until everything in this stream is done."""
        settle()
        gpu().wait_for(self.raw)

    def query(self) -> bool:
        """Whether everything in this stream is done."""
        settle()
        return bool(self.raw.done)

    def wait_event(self, event: Event) -> None:
        """Let what comes into this stream from now on wait for an event."""
        settle()
        self.raw.wait_event(event.raw)

    def wait_stream(self, stream: Stream) -> None:
        """Let what comes into this stream from now on wait for what is in another."""
        settle()
        self.wait_event(stream.record_event())

    def record_event(self, event: Event | None = None) -> Event:
        """Mark this point of the stream."""
        event = Event() if event is None else event
        event.record(self)
        return event

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Stream) and self.cuda_stream == other.cuda_stream

    def __hash__(self) -> int:
        return hash(self.cuda_stream)

    def __repr__(self) -> str:
        return f"<cuda.Stream device={self.device} cuda_stream={hex(self.cuda_stream)}>"


class Event:
    """A mark in a stream that can be waited for, and timed against another.

    Args:
        enable_timing: needed for `elapsed_time`.
        blocking: let a thread that waits sleep instead of asking again and again.
        interprocess: not supported.

    Raises:
        RuntimeError: if there is no GPU.

    Example:
        >>> if torch.cuda.is_available():
        ...     begin, end = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        ...     begin.record()
        ...     y = torch.ones(1000, device="cuda").sum()
        ...     end.record()
        ...     end.synchronize()
        ...     milliseconds = begin.elapsed_time(end)
    """

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False) -> None:
        if interprocess:
            raise NotImplementedError("events shared between processes are not in rushlight")
        self.raw = gpu().new_event(enable_timing, blocking)

    def record(self, stream: Stream | None = None) -> None:
        """Mark the current point of a stream."""
        settle()
        self.raw.record((current_stream() if stream is None else stream).raw)

    def wait(self, stream: Stream | None = None) -> None:
        """Let a stream wait for this mark."""
        settle()
        (current_stream() if stream is None else stream).wait_event(self)

    def query(self) -> bool:
        """Whether the mark has been reached."""
        return bool(self.raw.done)

    def synchronize(self) -> None:
        """Wait until the mark has been reached."""
        settle()
        gpu().wait_for(self.raw)

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this mark to another."""
        return gpu().elapsed_time(self.raw, end_event.raw)


def current_stream(device: Any = None) -> Stream:
    """The stream that work on a GPU goes into.

    Example:
        >>> if torch.cuda.is_available():
        ...     torch.cuda.current_stream().synchronize()
    """
    index = index_of(device)
    return Stream(index, raw=gpu().current_stream(index))


def default_stream(device: Any = None) -> Stream:
    """The stream that work goes into unless another was chosen.

    Example:
        >>> if torch.cuda.is_available():
        ...     torch.cuda.default_stream().synchronize()
    """
    index = index_of(device)
    return Stream(index, raw=gpu().default_stream(index))


def set_stream(stream: Stream | None) -> None:
    """Send the work on a GPU into a stream from now on.

    Args:
        stream: None changes nothing.

    Example:
        >>> torch.cuda.set_stream(None)
    """
    settle()
    if stream is not None:
        gpu().set_stream(stream.raw)


class stream:  # noqa: N801
    """Inside the block work goes into a stream; None changes nothing.

    Example:
        >>> side = torch.cuda.Stream() if torch.cuda.is_available() else None
        >>> with torch.cuda.stream(side):
        ...     y = torch.ones(3) + 1
    """

    def __init__(self, stream: Stream | None) -> None:
        self.stream = stream

    def __enter__(self) -> None:
        settle()
        if self.stream is not None:
            self.before = current_stream(self.stream.device_index)
            set_stream(self.stream)

    def __exit__(self, *exc: Any) -> None:
        settle()
        if self.stream is not None:
            set_stream(self.before)
