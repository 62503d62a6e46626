"""What a GPU did and when, as NVIDIA's CUPTI tells it: kernels, copies, and the calls of CUDA that began them."""

from __future__ import annotations

import ctypes
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from typing import Any, NamedTuple

from ...base.locks import new_lock

_BUFFER = 4 << 20  # bytes of records that are handed over together
_CALLS = re.compile(r"cu(da)?(Launch|GraphLaunch|Memcpy|Memset|(Device|Stream|Event|Ctx)Synchronize)")
_SUFFIX = re.compile(r"(_v\d+)?(_pt[ds][sz])?(_v\d+)?$")
_COPY = " HtoD DtoH HtoA AtoH AtoA AtoD DtoA DtoD HtoH PtoP".split(" ")  # by CUPTI's numbers
_MEMORY = "Unknown Pageable Pinned Device Array Managed Device Managed".split()
_DRIVER, _RUNTIME = 1, 2  # domains of calls
_KINDS = (10, 1, 2, 4, 5)  # of records: kernels, also side by side; copies; memory that is filled; calls


class Refused(Exception):
    """CUPTI is not there, or not allowed."""


class Record(NamedTuple):
    """One piece of a GPU's work, or one call of CUDA; seconds of `time.perf_counter`."""

    kind: str  # as traces name it: "kernel", "gpu_memcpy", "gpu_memset", "cuda_runtime", "cuda_driver"
    name: str
    begin: float
    took: float
    number: int  # the same for a call and the work that it began
    where: int  # the call's thread, the work's stream
    device: int | None
    args: dict[str, Any]


def read(a: Any, offset: float, name_of_call: Callable[[int, int], str]) -> Record | None:
    """What one of CUPTI's own records says; `offset` makes its clock that of `time.perf_counter`."""
    kind, begin, took = a.kind, a.start * 1e-9 + offset, (a.end - a.start) * 1e-9
    if not a.end:  # it was not timed
        return None
    if kind in (4, 5):
        name = name_of_call(_DRIVER if kind == 4 else _RUNTIME, a.cbid)
        if not _CALLS.match(name):
            return None
        args = {"cbid": a.cbid, "correlation": a.correlation_id}
        kind = "cuda_driver" if kind == 4 else "cuda_runtime"
        return Record(kind, _SUFFIX.sub("", name), begin, took, a.correlation_id, a.thread_id, None, args)
    args = {"device": a.device_id, "context": a.context_id, "stream": a.stream_id, "correlation": a.correlation_id}
    if a.graph_node_id:
        args |= {"graph id": a.graph_id, "graph node id": a.graph_node_id}
    if kind in (3, 10):
        shared = a.static_shared_memory + a.dynamic_shared_memory
        args |= {"registers per thread": a.registers_per_thread, "shared memory": shared}
        args |= {"grid": [a.grid_x, a.grid_y, a.grid_z], "block": [a.block_x, a.block_y, a.block_z]}
        shown, name = "kernel", demangled(a.name)
    elif kind == 1:
        args |= {"bytes": a.bytes, "memory bandwidth (GB/s)": a.bytes / ((a.end - a.start) or 1)}
        way = f"{_MEMORY[a.src_kind]} -> {_MEMORY[a.dst_kind]}"
        shown, name = "gpu_memcpy", f"Memcpy {_COPY[a.copy_kind]} ({way})"
    elif kind == 2:
        args |= {"bytes": a.bytes}
        shown, name = "gpu_memset", f"Memset ({_MEMORY[a.memory_kind]})"
    else:
        return None
    return Record(shown, name, begin, took, a.correlation_id, a.stream_id, a.device_id, args)


@lru_cache(4096)
def demangled(name: str) -> str:
    """A kernel's name as C++ writes it."""
    if not name.startswith("_Z"):
        return name
    with suppress(OSError, AttributeError):
        turn = ctypes.CDLL("libstdc++.so.6").__cxa_demangle  # what it gives is kept for good
        turn.restype, status = ctypes.c_char_p, ctypes.c_int()
        found = turn(name.encode(), None, None, ctypes.byref(status))
        return found.decode() if found else name
    return name


class _Watcher:
    """CUPTI in this process; it hands over buffers of records to whoever registers first, and for good."""

    def __init__(self, cupti: Any) -> None:
        self.cupti, self.offset, self.lock = cupti, 0.0, new_lock()
        self.sinks: tuple[Callable[[Record], Any], ...] = ()
        self.name_of_call = lru_cache(4096)(cupti.get_callback_name)
        tables = {_DRIVER: cupti.driver_api_trace_cbid, _RUNTIME: cupti.runtime_api_trace_cbid}
        self.calls = [(d, int(c)) for d, table in tables.items() for c in table if _CALLS.match(c.name)]
        cupti.set_thread_id_type(cupti.ActivityThreadIdType.SYSTEM)
        cupti.activity_register_callbacks(lambda: (_BUFFER, 0), self.completed)

    def begin(self, sink: Callable[[Record], Any]) -> None:
        """Give `sink` all records from now on."""
        with self.lock:
            if not self.sinks:
                try:
                    self.switch(True)
                except Exception:
                    with suppress(Exception):
                        self.switch(False)
                    raise
                self.offset = self.clock()
            self.sinks = (*self.sinks, sink)

    def end(self, sink: Callable[[Record], Any]) -> None:
        """The GPU's work is done: hand over its records, and no more."""
        self.cupti.activity_flush_all(0)
        with self.lock:
            left = list(self.sinks)
            left.remove(sink)
            self.sinks = tuple(left)
            if not left:
                self.switch(False)

    def switch(self, on: bool) -> None:
        """Let CUPTI note work and calls, or stop it."""
        for kind in _KINDS:
            (self.cupti.activity_enable if on else self.cupti.activity_disable)(kind)

    def clock(self) -> float:
        """What is added to CUPTI's seconds: the closest of a few looks at both clocks."""
        looks = []
        for _ in range(9):
            before, now, after = time.perf_counter(), self.cupti.get_timestamp(), time.perf_counter()
            looks.append((after - before, (before + after) / 2 - now * 1e-9))
        return min(looks)[1]

    def completed(self, activities: list[Any]) -> None:
        """A buffer of records, which are CUPTI's own and are read at once."""
        for one in activities:
            record = read(one, self.offset, self.name_of_call)
            if record is not None:
                for sink in self.sinks:
                    sink(record)


@lru_cache(1)
def _watcher() -> _Watcher:
    try:
        from cupti import cupti
    except Exception as error:  # noqa: BLE001 - its libraries fail in many ways
        raise Refused(
            f"cupti-python cannot be imported ({error}); `pip install 'rushlight[cuda]'` brings it"
        ) from error
    return _Watcher(cupti)


@contextmanager
def refusing() -> Iterator[None]:
    """What CUPTI answers is told as `Refused`; its errors share no class of their own."""
    try:
        yield
    except Refused:
        raise
    except Exception as error:
        raise Refused(f"CUPTI does not work here: {error}") from error


@contextmanager
def recording(sink: Callable[[Record], Any]) -> Iterator[None]:
    """Give `sink` a record of everything that GPUs do inside the block, at its end at the latest.

    Raises:
        Refused: in one sentence why this cannot be.
    """
    with refusing():
        watcher = _watcher()
        watcher.begin(sink)
    try:
        yield
    finally:
        try:
            if "cupy" in sys.modules:
                from cupy.cuda import runtime

                runtime.deviceSynchronize()  # its records are whole when it is done
        finally:
            watcher.end(sink)


@contextmanager
def lines_of_work(line_of: Callable[[Any], Any], spent: Callable[[Any, float], Any]) -> Iterator[None]:
    """Tell `spent` seconds of GPUs' work, each with what `line_of` said of the frame that began it.

    Raises:
        Refused: in one sentence why this cannot be.
    """
    begun: dict[int, Any] = {}

    def called(_: Any, domain: int, call: int, data: Any) -> None:
        if data.callback_site == 0:  # it begins
            begun[data.correlation_id] = line_of(sys._getframe().f_back)
            if len(begun) > 1 << 20:
                del begun[next(iter(begun))]

    def found(record: Record) -> None:
        if record.device is not None:
            spent(begun.get(record.number), record.took)

    with recording(found):
        watcher = _watcher()
        with refusing():
            subscriber = watcher.cupti.subscribe(called, {})
        for domain, call in watcher.calls:
            watcher.cupti.enable_callback(1, subscriber, domain, call)
        try:
            yield
        finally:
            watcher.cupti.unsubscribe(subscriber)
