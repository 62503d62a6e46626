"""A per-op profiler: a listener at the door that times every kernel."""

from __future__ import annotations

import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import ContextDecorator, ExitStack
from enum import Enum
from typing import Any

from .._aten.names import shown_name
from ..runtime import devices, door
from ..runtime.cpu import conversions
from ..runtime.cuda import activity, why_not
from ..runtime.thread import here
from . import trace
from .events import EventList, FunctionEvent, Kernel, write

_PACKAGE = __name__.partition(".")[0] + "."


class ProfilerActivity(Enum):
    """What to watch: operators where they are called, and with CUDA the GPU's own kernels and copies.

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


def supported_activities() -> set[ProfilerActivity]:
    """The CPU, and the GPU where there is one.

    Example:
        >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
        True
    """
    found = {ProfilerActivity.CPU}
    if why_not() is None:
        found.add(ProfilerActivity.CUDA)
    return found


class ProfilerAction(Enum):
    """What a schedule answers for a step.

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


def _always(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


_RECORDING = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)


class profile:  # noqa: N801
    """Counts and times every operator: `with profile() as p: ...`, then `print(p.key_averages().table())`.

    It sees the thread that starts it, as PyTorch's does, and exactly the kernels that run without it. Operators
    have PyTorch's names, "aten::mm"; those that it has none for begin with "rushlight::". What a GPU does is told by
    NVIDIA's CUPTI: kernels and copies by name, and their time at the operator that launched them. Where CUPTI is
    missing, a warning says so, and the CUDA columns have the host's time until the GPU was done with an operator.

    Args:
        activities: CPU and CUDA, if not given; without CUDA nothing is asked of a GPU.
        schedule: which steps are recorded, as `torch.profiler.schedule` makes it.
        on_trace_ready: called with the profile when the block ends, or a cycle of the schedule.
        record_shapes: events have the shapes of their inputs.
        profile_memory: the table has columns with the bytes of results, and the trace a GPU's memory over time.
        with_stack: events know which lines called them, for `key_averages(group_by_stack_n=5)` and traces.
        with_flops, with_modules, experimental_config: accepted and not needed.

    Raises:
        RuntimeError: if it is stopped twice, or in another thread.

    Example:
        >>> a, b = torch.ones(2, 3), torch.ones(3, 4)
        >>> with torch.profiler.profile() as p:
        ...     for _ in range(5):
        ...         _ = a @ b
        >>> [(row.key, row.count) for row in p.key_averages()]
        [('aten::mm', 5)]
    """

    def __init__(
        self,
        activities: Any = None,
        *,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Any = None,
        record_shapes: bool = False,
        profile_memory: bool = False,
        with_stack: bool = False,
        **kwargs: Any,
    ) -> None:
        self.record_shapes, self.profile_memory, self.with_stack = (record_shapes, profile_memory, with_stack)
        chosen = supported_activities() if activities in (None, True) else set(activities)
        self.activities = chosen
        self.on_trace_ready = on_trace_ready
        self.schedule, self.record_steps = schedule or _always, schedule is not None
        self.step_num = 0
        self.current_action = self.schedule(0)
        self._events: list[FunctionEvent] = []
        self._open: list[FunctionEvent] = []  # operators and blocks of `record_function` that have begun
        self._memory: list[tuple[float, int, int, int]] = []  # when, which GPU, bytes in use and held
        self._records: list[Any] | None = None  # the GPU's, in this cycle
        self.waits = False  # whether the host waits for the GPU behind each operator, for want of records
        self._metadata: dict[str, Any] = {}
        self._context: Any = None
        self._step: Any = None
        self._home: int | None = None

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to count in this thread."""
        self._home = threading.get_ident()
        if self.current_action in _RECORDING:
            self._listen()
        self._begin_step()

    def stop(self) -> None:
        """End it, and call `on_trace_ready`."""
        if self._home != threading.get_ident():
            raise RuntimeError("a profiler is stopped once, and in the thread that started it")
        self._end_step()
        self._home = None
        if self.current_action in _RECORDING:
            self._hear_no_more()
            self._ready()

    def step(self) -> None:
        """Mark the end of a training step: what the schedule says begins, or ends."""
        self._end_step()
        before, self.step_num = self.current_action, self.step_num + 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._hear_no_more()
            self._ready()
        if self.current_action in _RECORDING and self._context is None:
            self._events = []
            self._listen()
        elif self.current_action not in _RECORDING and self._context is not None:
            self._hear_no_more()
        self._begin_step()

    def _begin_step(self) -> None:
        if self.record_steps and self._context is not None:
            self._step = record_function(f"ProfilerStep#{self.step_num}")
            self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def _listen(self) -> None:
        self._context = ExitStack()
        self._context.enter_context(conversions.watching())
        if ProfilerActivity.CUDA in self.activities & supported_activities():
            self._records, self.waits = [], False
            try:
                self._context.enter_context(activity.recording(self._records.append))
            except activity.Refused as why:
                self._records, self.waits = None, True
                warnings.warn(f"{why}; the profile's CUDA columns are the host's time until the GPU was done with an "
                              "operator, and it shows no kernels", stacklevel=4)  # fmt: skip
        self._context.enter_context(door.listening(self))

    def _hear_no_more(self) -> None:
        self._context.close()
        self._context = None
        if self._records is not None:
            self._events += trace.work(self._records, self._events, threading.get_native_id())
            self._records = None

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def __call__(
        self, kernel: door.Kernel, arrays: Sequence[Any], attrs: dict[str, Any], call: Callable[[], Any]
    ) -> Any:
        shapes = [list(getattr(a, "shape", ())) for a in arrays] if self.record_shapes else None
        event = self._begin(shown_name(kernel.name, attrs), shapes)
        try:
            out = call()
        except BaseException:
            self._open.remove(event)
            raise
        first = out[0] if isinstance(out, tuple) and out else out
        if devices.is_array(first):
            backend = devices.backend_of_type(first.__class__)
            self._at_device(event, first, backend)
        self._end(event)
        for what, count, seconds, n in conversions.take():
            name = f"{event.name}: {what}"
            part = FunctionEvent(name, event.begin, seconds, event.thread, inside=True, times=count)
            part.self_cpu_memory_usage = n
            self._events.append(part)
        return out

    def _at_device(self, event: FunctionEvent, array: Any, backend: Any) -> None:
        """Note where the result is, and wait for it where nothing else can say how long it takes."""
        if backend.type != "cuda":
            event.self_cpu_memory_usage = getattr(array, "nbytes", 0)
            return
        event.self_device_memory_usage = array.nbytes
        device = backend.device_of(array)
        if self.waits:
            backend.synchronize(device)
            took = 1e6 * (time.perf_counter() - event.begin)
            event.kernels.append(Kernel(event.name, device.index or 0, took))
        if self.profile_memory:
            from ..runtime.cuda.device import memory_stats

            found = memory_stats(device.index or 0)
            used, held = [found[f"{what}_bytes.all.current"] for what in ("allocated", "reserved")]
            self._memory.append((time.perf_counter(), device.index or 0, used, held))

    def replayed(self, name: str, begin: float, parts: Sequence[tuple], array: Any) -> None:
        """A compiled program has run; `parts` are its instructions with when each began and how long it took."""
        whole = self._begin(f"rushlight::{name}", None)
        whole.begin = begin
        if array is not None:
            self._at_device(whole, array, devices.backend_of_type(array.__class__))
        for ins, start, seconds in parts:
            shapes = [list(s.shape) for s in ins.reads] if self.record_shapes else None
            title = shown_name(ins.kernel.name, ins.attrs)
            part = FunctionEvent(title, start, seconds, whole.thread, shapes)
            part.self_cpu_memory_usage = ins.outputs[0].nbytes if ins.outputs else 0
            part.cpu_parent = whole
            whole.cpu_children.append(part)
            self._events.append(part)
        self._end(whole)

    def exchanged(self, name: str, begin: float, took: float, size: int) -> None:
        """Ranks have exchanged `size` bytes, in this thread as a part of an event or in the group's beside it."""
        thread = threading.get_ident()
        event = FunctionEvent(name, begin, took, thread, inside=thread == self._home, args={"bytes": size})
        event.self_cpu_memory_usage = size
        self._events.append(event)

    def _begin(self, name: str, shapes: Any, kind: str = "cpu_op") -> FunctionEvent:
        event = FunctionEvent(name, time.perf_counter(), 0.0, threading.get_native_id(), shapes, kind=kind)
        if self.with_stack:
            event.stack = _stack()
        self._open.append(event)
        return event

    def _end(self, event: FunctionEvent) -> None:
        event.took = time.perf_counter() - event.begin
        self._open.remove(event)
        if self._open:
            event.cpu_parent = self._open[-1]
            self._open[-1].cpu_children.append(event)
        self._events.append(event)

    def events(self) -> EventList:
        """Everything that was seen, in the order it ended."""
        return EventList(self._events, profile_memory=self.profile_memory)

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **kwargs: Any) -> EventList:
        """The sums by name, or by name and shapes of inputs, or by name and the innermost lines of the caller."""
        events = self.events()
        for event in events:
            if event.name.startswith("ProfilerStep#"):
                event.name = "ProfilerStep*"
        return events.key_averages(group_by_input_shape, group_by_stack_n)

    def add_metadata(self, key: str, value: str) -> None:
        """Put a text into the trace."""
        self._metadata[key] = value

    def add_metadata_json(self, key: str, value: str) -> None:
        """Put a value, given as JSON, into the trace."""
        import json

        self._metadata[key] = json.loads(value)

    def export_chrome_trace(self, path: str) -> None:
        """Write the events in the trace format browsers show (chrome://tracing, Perfetto)."""
        write(path, trace.chrome(self._events, self._memory, self._metadata))

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write the lines that called the operators, for a flame graph; asks for `with_stack=True`."""
        self.events().export_stacks(path, metric)


def _stack() -> list[str]:
    """The lines that called this library, the innermost first."""
    frame: Any = sys._getframe(2)
    lines = []
    while frame is not None:
        if not frame.f_globals.get("__name__", "").startswith(_PACKAGE):
            code = frame.f_code
            lines.append(f"{code.co_filename}({frame.f_lineno}): {code.co_name}")
        frame = frame.f_back
    return lines


def _profiler_enabled() -> bool:
    """Whether a profile is under way in this thread."""
    return any(isinstance(one, profile) for one in here.listeners)


class record_function(ContextDecorator):  # noqa: N801
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

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name, self.args = name, args
        self._blocks: list[tuple[Any, FunctionEvent]] = []

    def __enter__(self) -> record_function:
        for p in [one for one in here.listeners if isinstance(one, profile)]:
            self._blocks.append((p, p._begin(self.name, None, "user_annotation")))
        return self

    def __exit__(self, *exc: Any) -> None:
        for p, event in self._blocks:
            p._end(event)
        self._blocks = []


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0, skip_first_wait: int = 0
) -> Callable[[int], ProfilerAction]:
    """Which steps are recorded: some are skipped, then in turns some wait, some warm up, some are recorded.

    Args:
        wait, warmup, active: how many steps of each, in a cycle.
        repeat: how many cycles; 0 for no end.
        skip_first: steps before the first cycle.
        skip_first_wait: not 0: the first cycle does not wait.

    Example:
        >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
        >>> [plan(step).name for step in range(5)]
        ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """

    def action(step: int) -> ProfilerAction:
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        step += wait if skip_first_wait else 0
        cycle = wait + warmup + active
        if repeat > 0 and step // cycle >= repeat:
            return ProfilerAction.NONE
        step %= cycle
        if step < wait:
            return ProfilerAction.NONE
        if step < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if step < cycle - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name: str, worker_name: str | None = None, use_gzip: bool = False) -> Any:
    """A function for `on_trace_ready` that writes the trace into a folder, for chrome://tracing and Perfetto.

    Args:
        dir_name: the folder; it is made.
        worker_name: how the files begin; "trace" if not given.
        use_gzip: compress the file.

    Example:
        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler(folder)):
        ...         _ = torch.ones(3) + 1
        ...     os.listdir(folder)
        ['trace.pt.trace.json']
    """

    def handle(p: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        ending = "pt.trace.json.gz" if use_gzip else "pt.trace.json"
        later = f".{p.step_num}" if p.record_steps else ""
        p.export_chrome_trace(os.path.join(dir_name, f"{worker_name or 'trace'}{later}.{ending}"))

    return handle
