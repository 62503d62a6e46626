"""A per-op profiler: a listener at the door that times every kernel and prints a table."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, contextmanager
from enum import Enum
from typing import Any

from .runtime import devices, door
from .runtime.cpu import conversions
from .runtime.thread import here


class ProfilerActivity(Enum):
    """What to watch; both are watched at the door."""

    CPU = 0
    CUDA = 1


class ProfilerAction(Enum):
    """What PyTorch's schedules answer for a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """Whether events come from PyTorch's tracing library: no, from our own counts."""
    return False


class Row:
    """The sums of one kernel, or of one conversion of layout `inside` a kernel."""

    __slots__ = ("key", "count", "total", "bytes", "worst", "inside")

    def __init__(self, key: str, inside: bool = False) -> None:
        self.key = key
        self.inside = inside  # its time is part of another row
        self.count = 0
        self.total = 0.0
        self.bytes = 0
        self.worst = 0.0


class KeyAverages(list):
    """Rows by kernel; `.table()` prints them."""

    def table(self, sort_by: str | None = None, row_limit: int = 100, **kwargs: Any) -> str:
        key: Callable[[Row], Any] = lambda r: -r.total  # noqa: E731
        if sort_by and "count" in sort_by:
            key = lambda r: -r.count  # noqa: E731
        rows = sorted(self, key=key)[:row_limit]
        outer = [r for r in self if not r.inside]
        whole = sum(r.total for r in outer) or 1.0
        wide = max([len(r.key) for r in rows] + [8])
        lines = [
            f"{'kernel':<{wide}}  {'calls':>8}  {'total ms':>10}  {'share':>6}  {'mean us':>9}  {'MB out':>9}"
        ]
        lines.append("-" * len(lines[0]))
        for r in rows:
            lines.append(
                f"{r.key:<{wide}}  {r.count:>8}  {r.total * 1e3:>10.3f}  {r.total / whole:>6.1%}  "
                f"{r.total / r.count * 1e6:>9.2f}  {r.bytes / 1e6:>9.2f}"
            )
        lines.append(f"Self time total: {whole * 1e3:.3f}ms in {sum(r.count for r in outer)} calls")
        return "\n".join(lines)


class profile:  # noqa: N801
    """`with profile() as p: ...` then `print(p.key_averages().table())`.

    It sees the thread that starts it, as PyTorch's does, and exactly the kernels that run without it.
    """

    def __init__(
        self,
        activities: Any = None,
        *,
        schedule: Any = None,
        on_trace_ready: Any = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        **kwargs: Any,
    ) -> None:
        self.record_shapes = record_shapes
        self.on_trace_ready = on_trace_ready
        self.rows: dict[str, Row] = {}
        self.events: list[tuple[str, float, float, int]] = []
        self._context: Any = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.stop()

    def start(self) -> None:
        self._context = ExitStack()
        self._context.enter_context(conversions.watching())
        self._context.enter_context(door.listening(self))

    def stop(self) -> None:
        if self not in here.listeners:
            raise RuntimeError("a profiler is stopped once, and in the thread that started it")
        self._context.close()
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def step(self) -> None:
        """Mark the end of a training step."""

    def __call__(self, kernel: Any, arrays: Any, attrs: Any, call: Callable[[], Any]) -> Any:
        begin = time.perf_counter()
        out = call()
        first = out[0] if isinstance(out, tuple) and out else out
        if devices.is_array(first):
            backend = devices.backend_of_type(first.__class__)
            backend.synchronize(backend.device_of(first))
        took = time.perf_counter() - begin
        key = kernel.name
        if self.record_shapes:
            shapes = [tuple(a.shape) for a in arrays if devices.is_array(a)]
            key = f"{key} {shapes}"
        self._count(key, begin, took, getattr(first, "nbytes", 0))
        for what, count, seconds, size in conversions.take():
            self._count(f"{kernel.name}: {what}", begin, seconds, size, count, inside=True)
        return out

    def _count(
        self, key: str, begin: float, took: float, size: int, count: int = 1, inside: bool = False
    ) -> None:
        row = self.rows.get(key)
        if row is None:
            row = self.rows[key] = Row(key, inside)
        row.count += count
        row.total += took
        row.worst = max(row.worst, took)
        row.bytes += size
        self.events.append((key, begin, took, threading.get_ident()))

    def key_averages(self, group_by_input_shape: bool = False, **kwargs: Any) -> KeyAverages:
        return KeyAverages(self.rows.values())

    def export_chrome_trace(self, path: str) -> None:
        """Write the events in the trace format browsers show (chrome://tracing, Perfetto)."""
        import json

        start = self.events[0][1] if self.events else 0.0
        events = [
            {"name": n, "ph": "X", "ts": (b - start) * 1e6, "dur": d * 1e6, "pid": 0, "tid": t}
            for n, b, d, t in self.events
        ]
        with open(path, "w") as f:
            json.dump({"traceEvents": events}, f)


@contextmanager
def record_function(name: str, args: str | None = None) -> Any:
    """Name a block of user code: it gets a row with its time, kernels inside keep theirs."""
    begin = time.perf_counter()
    yield
    took = time.perf_counter() - begin
    for listener in here.listeners:
        if isinstance(listener, profile):
            listener._count(name, begin, took, 0)


def schedule(**kwargs: Any) -> Callable[[int], None]:
    """Accepted for PyTorch scripts; rushlight profiles every step."""
    return lambda step: None


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Any:
    """A handler that writes each trace into a folder."""
    import os

    def handle(p: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        p.export_chrome_trace(os.path.join(dir_name, f"{worker_name or 'trace'}.json"))

    return handle
