"""What rushlight uses of NVIDIA's `cupti`, played by the test: records that it hands over, and what was switched on."""

from __future__ import annotations

import enum
import time
from types import SimpleNamespace
from typing import Any

_WHERE = {"device_id": 0, "context_id": 1, "stream_id": 7, "graph_id": 0, "graph_node_id": 0}
_SIZES = ("grid_x", "grid_y", "grid_z", "block_x", "block_y", "block_z", "registers_per_thread")
Driver = enum.IntEnum("Driver", "INVALID cuLaunchKernel cuGraphLaunch_ptsz cuMemAlloc", start=0)
Runtime = enum.IntEnum("Runtime", "INVALID cudaLaunchKernel_v7000 cudaMalloc_v3020", start=0)


def kernel(name: str, number: int, begin: int, end: int, **more: Any) -> SimpleNamespace:
    """A kernel's record; times in nanoseconds."""
    sizes = dict.fromkeys(_SIZES, 1) | {"static_shared_memory": 16, "dynamic_shared_memory": 32}
    return _record(10, number, begin, end, name=name, **{**_WHERE, **sizes, **more})


def copy(number: int, begin: int, end: int, size: int) -> SimpleNamespace:
    """A copy from pinned memory to the GPU."""
    return _record(1, number, begin, end, bytes=size, copy_kind=1, src_kind=2, dst_kind=3, **_WHERE)


def fill(number: int, begin: int, end: int, size: int) -> SimpleNamespace:
    """Memory of the GPU that is filled."""
    return _record(2, number, begin, end, bytes=size, memory_kind=3, **_WHERE)


def call(cbid: enum.IntEnum, number: int, begin: int, end: int, thread: int) -> SimpleNamespace:
    """A call of CUDA by the host."""
    kind = 4 if isinstance(cbid, Driver) else 5
    return _record(kind, number, begin, end, cbid=cbid, thread_id=thread)


def _record(kind: int, number: int, begin: int, end: int, **more: Any) -> SimpleNamespace:
    return SimpleNamespace(kind=kind, correlation_id=number, start=begin, end=end, **more)


class Cupti(SimpleNamespace):
    """The module; its clock runs an hour ahead of `time.perf_counter`."""

    AHEAD = 3_600_000_000_000
    ActivityThreadIdType = SimpleNamespace(SYSTEM=1)
    driver_api_trace_cbid, runtime_api_trace_cbid = Driver, Runtime

    def __init__(self, refuses: str | None = None) -> None:
        self.refuses, self.on, self.waiting, self.heard = refuses, set(), [], None

    def get_timestamp(self) -> int:
        return time.perf_counter_ns() + self.AHEAD

    def set_thread_id_type(self, kind: int) -> None:
        assert kind == 1

    def get_callback_name(self, domain: int, cbid: int) -> str:
        return (Driver if domain == 1 else Runtime)(cbid).name

    def activity_register_callbacks(self, room: Any, completed: Any) -> None:
        self.completed = completed

    def activity_enable(self, kind: int) -> None:
        if self.refuses:
            raise RuntimeError(self.refuses)
        self.on.add(kind)

    def activity_disable(self, kind: int) -> None:
        self.on.discard(kind)

    def activity_flush_all(self, flag: int) -> None:
        self.completed(self.waiting)
        self.waiting = []

    def subscribe(self, callback: Any, userdata: Any) -> int:
        self.heard = callback
        return 5

    def enable_callback(self, on: int, subscriber: int, domain: int, cbid: int) -> None:
        self.on.add((subscriber, (Driver if domain == 1 else Runtime)(cbid).name))

    def unsubscribe(self, subscriber: int) -> None:
        self.on = {one for one in self.on if not isinstance(one, tuple)}
