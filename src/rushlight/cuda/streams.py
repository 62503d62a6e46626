"""Streams and events of a GPU: work in order, side by side, and timed."""

from __future__ import annotations

from typing import Any

from ..base.device import device as _device
from ..runtime.thread import settle
from ._gpus import gpu, index_of


class Stream:
    """A queue of work on a GPU; what is in one runs in order, and beside the others."""

    def __init__(self, device: Any = None, priority: int = 0, *, raw: Any = None) -> None:
        runtime = gpu()
        index = index_of(device)
        self.raw = runtime.new_stream(index, priority) if raw is None else raw
        self.device_index = index

    @property
    def device(self) -> Any:
        return _device("cuda", self.device_index)

    @property
    def cuda_stream(self) -> int:
        """The address that CUDA libraries take."""
        return self.raw.ptr

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
    """A mark in a stream that can be waited for, and timed against another."""

    def __init__(
        self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> None:
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
    """The stream that work on a GPU goes into."""
    index = index_of(device)
    return Stream(index, raw=gpu().current_stream(index))


def default_stream(device: Any = None) -> Stream:
    """The stream that work goes into unless another was chosen."""
    index = index_of(device)
    return Stream(index, raw=gpu().default_stream(index))


def set_stream(stream: Stream | None) -> None:
    """Send the work on a GPU into a stream from now on."""
    settle()
    if stream is not None:
        gpu().set_stream(stream.raw)


class stream:  # noqa: N801
    """Inside the block work goes into a stream; None changes nothing."""

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
