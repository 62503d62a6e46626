"""CUDA graphs on the emulated GPU: work is written down while a stream captures, and done when the graph is launched.

Graphs keep the addresses they were captured with, so memory planned for them is really shared. Lanes beside the main
one run as late as their events allow: memory that is used again too early shows.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import cupy
import emulated_gpu
from cupy.cuda import runtime

_SIZES = [ctypes.c_uint] * 6
_CAPTURED = ctypes.CFUNCTYPE(None, ctypes.c_void_p, *_SIZES, ctypes.c_void_p)
_ENTRY = ctypes.PYFUNCTYPE(None, *_SIZES, ctypes.c_void_p)
_numbers = itertools.count(1)


class Work(NamedTuple):
    """What a lane does, or which other lane it waits for."""

    lane: int
    do: Callable[[], Any] | None
    other: int = 0


class Capture:
    """What is being captured: the work of all streams in the order it was asked for."""

    def __init__(self) -> None:
        self.work: list[Work] | None = None
        self.launched = _CAPTURED(self._launch)

    def begin(self) -> None:
        self.work = []
        self._tell(ctypes.cast(self.launched, ctypes.c_void_p).value)

    def end(self) -> list[Work]:
        found, self.work = self.work or [], None
        self._tell(None)
        return found

    def _tell(self, address: int | None) -> None:
        ctypes.c_void_p.in_dll(emulated_gpu.drivers[-1], "captured").value = address

    def add(self, do: Callable[[], Any]) -> None:
        assert self.work is not None
        self.work.append(Work(now[0].ptr, do))

    def wait(self, lane: int, other: int) -> None:
        if self.work is not None:
            self.work.append(Work(lane, None, other))

    def _launch(self, kernel: int, *rest: int) -> None:
        *sizes, parameters = rest
        copies = emulated_gpu.captures[kernel](ctypes.c_void_p(parameters))
        entry = _ENTRY(kernel)

        def run() -> None:
            if kernel not in emulated_gpu.loaded:
                raise RuntimeError("a graph runs a kernel that was unloaded")
            entry(*sizes, copies)

        self.add(run)


capture = Capture()


class Stream:
    """A stream that can be captured; outside of captures work is done at once."""

    def __init__(self, non_blocking: bool = False, priority: Any = None, ptr: int = -1) -> None:
        self.ptr = next(_numbers) if ptr < 0 else ptr

    def use(self) -> None:
        now[0] = self

    def is_capturing(self) -> bool:
        return capture.work is not None

    def synchronize(self) -> None:
        pass

    def begin_capture(self, mode: int) -> None:
        capture.begin()

    def end_capture(self) -> Graph:
        return Graph(capture.end(), self.ptr)

    def record(self, event: Event) -> Event:
        event.stream = self.ptr
        return event

    def wait_event(self, event: Event) -> None:
        capture.wait(self.ptr, event.stream)


class Event:
    """A mark in a stream."""

    done = True  # outside of captures work is done at once
    ptr = 0

    def __init__(self, block: bool = False, disable_timing: bool = False) -> None:
        self.stream = 0

    def record(self, stream: Any = None) -> None:
        self.stream = now[0].ptr if stream is None else stream.ptr

    def synchronize(self) -> None:
        pass


class Graph:
    """Captured work; its own executable."""

    def __init__(self, work: list[Work], main: int) -> None:
        self.work, self.main = work, main
        self.graphExec = self

    def launch(self) -> None:
        late: dict[int, list[Callable[[], Any]]] = {}
        for lane, do, other in self.work:
            if lane != self.main:
                if do is not None:
                    late.setdefault(lane, []).append(do)
            elif do is None:
                for waited in late.pop(other, []):
                    waited()
            else:
                do()
        if late:
            raise RuntimeError("nobody waits for a lane of the graph")


now = [Stream(ptr=0)]


def _or_captured(plain: Callable[..., Any]) -> Callable[..., None]:
    """A function of the runtime whose calls become work of the graph that is being captured."""

    def call(*args: Any) -> None:
        if capture.work is None:
            plain(*args)
        else:
            capture.add(lambda: plain(*args))

    return call


def _zeros(shape: Any, dtype: Any = float) -> Any:
    a = cupy.empty(shape, dtype)
    runtime.memsetAsync(a.data.ptr, 0, a.nbytes, now[0].ptr)
    return a


def install() -> None:
    """Give the emulated GPU streams and graphs."""
    from rushlight.runtime.cuda.memory import streams

    cupy.cuda.Stream, cupy.cuda.Event = Stream, Event
    streams.Stream, streams.Event = Stream, Event
    cupy.cuda.alloc_pinned_memory = bytearray
    cupy.cuda.get_current_stream = lambda index=0: now[0]
    cupy.zeros = _zeros
    runtime.memcpyAsync = _or_captured(runtime.memcpyAsync)
    runtime.memsetAsync = _or_captured(runtime.memsetAsync)
    runtime.streamEndCapture = lambda stream: capture.end()
    runtime.graphDestroy = lambda graph: None
    runtime.graphLaunch = lambda graph, stream: graph.launch()
