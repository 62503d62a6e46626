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
    """What to watch. Both are accepted; kernels of every device are counted where they are called.

    Example:
        >>> torch.profiler.ProfilerActivity.CPU.name
        'CPU'
    """

    CPU = 0
    XPU = 1
    MTIA = 4
    CUDA = 2
    HPU = 3
    PrivateUse1 = 5


class ProfilerAction(Enum):
    """What a schedule may answer for a step. Accepted for PyTorch's scripts; every step is recorded.

    Example:
        >>> torch.profiler.ProfilerAction.RECORD.name
        'RECORD'
    """

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """Whether events come from PyTorch's tracing library: no, they are counted by rushlight itself.

    Example:
        >>> torch.profiler.kineto_available()
        False
    """
    return False


class Row:
    """The sums of one kernel: `count`, `total` and `worst` in seconds, `bytes` of its results.

    Args:
        key: the name of the kernel.
        inside: whether this is a conversion of layout inside a kernel, whose time is part of another row.

    Example:
        >>> with torch.profiler.profile() as p:
        ...     _ = torch.ones(3) + 1
        >>> [(row.key, row.count) for row in p.key_averages() if row.key == "add"]
        [('add', 1)]
    """

    __slots__ = ("key", "count", "total", "bytes", "worst", "inside")

    def __init__(self, key: str, inside: bool = False) -> None:
        self.key = key
        self.inside = inside  # its time is part of another row
        self.count = 0
        self.total = 0.0
        self.bytes = 0
        self.worst = 0.0


class KeyAverages(list):
    """The rows of a profile, one for each kernel; `.table()` prints them.

    Args:
        iterable: the rows.

    Example:
        >>> with torch.profiler.profile() as p:
        ...     _ = torch.ones(3) + 1
        >>> print(p.key_averages().table())
        kernel ...
    """

    def table(self, sort_by: str | None = None, row_limit: int = 100, **kwargs: Any) -> str:
        """The rows as text, the slowest first; `sort_by` with "count" in it puts the most frequent first."""
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
    """Counts and times every kernel: `with profile() as p: ...`, then `print(p.key_averages().table())`.

    It sees the thread that starts it, as PyTorch's does, and exactly the kernels that run without it.

    Args:
        activities, schedule, profile_memory, with_stack: accepted and not needed.
        on_trace_ready: called with the profile when the block ends.
        record_shapes: one row for each kernel and the shapes of its inputs.

    Raises:
        RuntimeError: if it is stopped twice, or in another thread.

    Example:
        >>> a, b = torch.ones(2, 3), torch.ones(3, 4)
        >>> with torch.profiler.profile() as p:
        ...     for _ in range(5):
        ...         _ = a @ b
        >>> [(row.key, row.count) for row in p.key_averages()]
        [('mm', 5)]
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
        """Begin to count in this thread."""
        self._context = ExitStack()
        self._context.enter_context(conversions.watching())
        self._context.enter_context(door.listening(self))

    def stop(self) -> None:
        """End it, and call `on_trace_ready`."""
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
        """The counts so far, a `Row` for each kernel."""
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
    """A block of your own code that gets a row with its time; the kernels inside keep theirs.

    Args:
        name: of the row.
        args: accepted and not needed.

    Example:
        >>> with torch.profiler.profile() as p:
        ...     with torch.profiler.record_function("my part"):
        ...         _ = torch.ones(3) + 1
        >>> "my part" in [row.key for row in p.key_averages()]
        True
    """
    begin = time.perf_counter()
    yield
    took = time.perf_counter() - begin
    for listener in here.listeners:
        if isinstance(listener, profile):
            listener._count(name, begin, took, 0)


def schedule(**kwargs: Any) -> Callable[[int], None]:
    """Which steps are recorded. Accepted for PyTorch's scripts; every step is.

    Example:
        >>> with torch.profiler.profile(schedule=torch.profiler.schedule(wait=1, warmup=1, active=3)) as p:
        ...     p.step()
    """
    return lambda step: None


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Any:
    """A function for `on_trace_ready` that writes the trace into a folder, for chrome://tracing and Perfetto.

    Args:
        dir_name: the folder; it is made.
        worker_name: how the file is called; "trace" if not given.
        use_gzip: accepted and not needed.

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(folder)):
        ...         _ = torch.ones(3) + 1
        ...     os.listdir(folder)
        ['trace.json']
    """
    import os

    def handle(p: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        p.export_chrome_trace(os.path.join(dir_name, f"{worker_name or 'trace'}.json"))

    return handle
