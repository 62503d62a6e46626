"""What a profile consists of: events, their sums, and the table of them."""

from __future__ import annotations

import gzip
import os
import re
from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple


class Interval(NamedTuple):
    """From when to when, in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long, in microseconds."""
        return self.end - self.start


class DeviceType(Enum):
    """Where an event took place, by PyTorch's numbers.

    Example:
        >>> torch.autograd.DeviceType.CUDA.name
        'CUDA'
    """

    CPU = 0
    CUDA = 1


class Kernel(NamedTuple):
    """What an operator launched: its name, the GPU's number, microseconds."""

    name: str
    device: int
    duration: float


class FunctionEvent:
    """One run of an operator, a block of `record_function`, or a kernel or copy of a GPU; times in microseconds.

    Args:
        name: such as "aten::mm".
        begin, took: in seconds, of `time.perf_counter`.
        thread: the thread's number, or that of the GPU's stream.
        shapes: of the inputs.
        kind: as traces name it: "cpu_op", "user_annotation", "cuda_runtime", "kernel", "gpu_memcpy".
        device: the number of the GPU whose own time this is.
        inside: a part of another event, a conversion of layout in a kernel.
        times: how often, for conversions that are counted together.
        args: what a trace tells of it besides.

    Example:
        >>> with torch.profiler.profile() as p:
        ...     _ = torch.ones(3).exp()
        >>> [event.name for event in p.events()]
        ['aten::ones', 'aten::exp']
    """

    __slots__ = (
        "name", "begin", "took", "thread", "input_shapes", "activity_type", "device_index", "inside", "times", "args",
        "cpu_parent", "cpu_children", "kernels", "stack", "self_cpu_memory_usage", "self_device_memory_usage",
    )  # fmt: skip

    def __init__(
        self, name: str, begin: float, took: float, thread: int, shapes: Any = None, *, kind: str = "cpu_op",
        device: int | None = None, inside: bool = False, times: int = 1, args: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.begin, self.took, self.thread = name, begin, took, thread
        self.input_shapes, self.activity_type, self.device_index = shapes or [], kind, device
        self.inside, self.times, self.args = inside, times, args or {}
        self.cpu_parent: FunctionEvent | None = None
        self.cpu_children: list[FunctionEvent] = []
        self.kernels: list[Kernel] = []
        self.stack: list[str] = []
        self.self_cpu_memory_usage = self.self_device_memory_usage = 0

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def count(self) -> int:
        """One, but for conversions of layout that are counted together."""
        return self.times

    @property
    def device_type(self) -> DeviceType:
        """Whose time this is."""
        return DeviceType.CPU if self.device_index is None else DeviceType.CUDA

    @property
    def is_user_annotation(self) -> bool:
        """Whether this is a block of `record_function`, or what a GPU did in one."""
        return self.activity_type.endswith("user_annotation")

    @property
    def time_range(self) -> Interval:
        """From when to when."""
        return Interval(self.begin * 1e6, (self.begin + self.took) * 1e6)

    @property
    def cpu_time_total(self) -> float:
        """How long, with the events inside."""
        return self.took * 1e6 if self.device_index is None else 0.0

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """How long, without the events inside."""
        below = sum([child.took for child in self.cpu_children])
        return max(self.took - below, 0.0) * 1e6 if self.device_index is None else 0.0

    @property
    def device_time_total(self) -> float:
        """How long on a GPU, with the events inside."""
        return self.self_device_time_total + sum([e.device_time_total for e in self.cpu_children])

    device_time = device_time_total

    @property
    def self_device_time_total(self) -> float:
        """How long on a GPU, without the events inside."""
        if self.device_index is not None:
            return self.took * 1e6
        return sum([kernel.duration for kernel in self.kernels])

    @property
    def cpu_memory_usage(self) -> int:
        """Bytes of results in the CPU's memory, with the events inside."""
        return self.self_cpu_memory_usage + sum([e.cpu_memory_usage for e in self.cpu_children])

    @property
    def device_memory_usage(self) -> int:
        """Bytes of results in a GPU's memory, with the events inside."""
        below = sum([child.device_memory_usage for child in self.cpu_children])
        return self.self_device_memory_usage + below

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name} {self.took * 1e6:.3f}us>"


_SUMS = (
    "cpu_time_total", "self_cpu_time_total", "device_time_total", "self_device_time_total", "cpu_memory_usage",
    "self_cpu_memory_usage", "device_memory_usage", "self_device_memory_usage",
)  # fmt: skip


class FunctionEventAvg:
    """The sums of all events of one name; times in microseconds.

    Args:
        key: the name.
        inside: whether this is a conversion of layout inside a kernel, whose time is part of another row.

    Example:
        >>> with torch.profiler.profile() as p:
        ...     _ = torch.ones(3) + 1
        >>> [(row.key, row.count) for row in p.key_averages() if row.key == "aten::add"]
        [('aten::add', 1)]
    """

    def __init__(self, key: str, inside: bool = False) -> None:
        self.key, self.inside = key, inside
        self.count = 0
        self.cpu_time_total = self.self_cpu_time_total = 0.0
        self.device_time_total = self.self_device_time_total = 0.0
        self.cpu_memory_usage = self.self_cpu_memory_usage = 0
        self.device_memory_usage = self.self_device_memory_usage = 0
        self.input_shapes: Any = []
        self.stack: list[str] = []
        self.is_user_annotation = False
        self.device_type = DeviceType.CPU

    @property
    def cpu_time(self) -> float:
        """The mean of the total times."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """The mean of the times on a GPU."""
        return self.device_time_total / self.count if self.count else 0.0

    def add(self, event: FunctionEvent | FunctionEventAvg) -> None:
        """Add one event."""
        self.count += event.count
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(event, name))
        self.is_user_annotation, self.device_type = event.is_user_annotation, event.device_type

    def __repr__(self) -> str:
        return f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total:.3f}us count={self.count}>"


class EventList(list):
    """Events or their sums; `.table()` prints them.

    Args:
        iterable: the events.

    Example:
        >>> with torch.profiler.profile() as p:
        ...     _ = torch.ones(3) + 1
        >>> print(p.key_averages().table())
        ------...
                     Name    Self CPU %      Self CPU   CPU total %     CPU total  CPU time avg    # of Calls...
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args)
        self._use_device = kwargs.get("use_device")
        self._profile_memory = kwargs.get("profile_memory", False)

    @property
    def self_cpu_time_total(self) -> float:
        """The whole time: of each event that which is not an event inside it."""
        return sum([e.self_cpu_time_total for e in self if not e.inside])

    @property
    def self_device_time_total(self) -> float:
        """A GPU's whole time: of its kernels and copies, or where there are none, of the operators."""
        own = [e for e in self if e.device_type is DeviceType.CUDA and not e.is_user_annotation]
        return sum([e.self_device_time_total for e in own or self])

    def key_averages(self, group_by_input_shapes: bool = False, group_by_stack_n: int = 0, **kwargs: Any) -> EventList:
        """The sums by name, or by name and shapes of inputs, or by name and the innermost lines of the caller."""
        rows: dict[Any, FunctionEventAvg] = {}
        for event in self:
            shapes = event.input_shapes if group_by_input_shapes else []
            stack = event.stack[:group_by_stack_n]
            kind = event.inside, event.device_type, event.is_user_annotation
            at = (event.key, str(shapes), *stack, *kind)
            row = rows.get(at)
            if row is None:
                row = rows[at] = FunctionEventAvg(event.key, event.inside)
                row.input_shapes, row.stack = shapes, stack
            row.add(event)
        made = EventList(rows.values(), use_device=self._use_device, profile_memory=self._profile_memory)
        made.shown_shapes = group_by_input_shapes
        return made

    shown_shapes = False

    def total_average(self) -> FunctionEventAvg:
        """The sum of everything."""
        total = FunctionEventAvg("Total")
        for event in self:
            if not event.inside:
                total.add(event)
        total.cpu_time_total = total.self_cpu_time_total
        total.device_time_total = total.self_device_time_total = self.self_device_time_total
        return total

    def export_stacks(self, path: str, metric: str) -> None:
        """Write the callers' lines with a time each, as the drawers of flame graphs read them."""
        name = metric.replace("cuda", "device")
        text = ""
        for e in self:
            if e.stack and int(getattr(e, name)) > 0:
                lines = [re.sub(r"[ ;\t\n]", "_", line) for line in reversed(e.stack)]
                text += f"{';'.join(lines)} {int(getattr(e, name))}\n"
        write(path, text)

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_src_column_width: int = 75,
        max_name_column_width: int = 55, max_shapes_column_width: int = 80, header: str | None = None, **kwargs: Any,
    ) -> str:  # fmt: skip
        """The rows as text, in the order they came, or the largest of `sort_by` first."""
        rows = list(self)
        if sort_by is not None:
            name = sort_by.replace("cuda", "device")
            rows.sort(key=lambda e: getattr(e, name), reverse=True)
        return _table(self, rows[:row_limit], max_name_column_width, max_src_column_width, header)


def write(path: Any, text: str) -> None:
    """A whole file or none; compressed if its name ends with .gz."""
    part = f"{path}.part"  # where a disk is full, nothing has the name of a whole file
    try:
        with gzip.open(part, "wt") if str(path).endswith(".gz") else open(part, "w") as f:
            f.write(text)
        os.replace(part, path)
    except OSError:
        with suppress(OSError):
            os.unlink(part)
        raise


def _time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _bytes(n: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(n) >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} B"


def _table(events: EventList, rows: list, widest: int, widest_line: int, header: str | None) -> str:
    whole, on_device = events.self_cpu_time_total, events.self_device_time_total
    memory, shapes = events._profile_memory, events.shown_shapes
    on_gpu = memory and any(r.device_memory_usage for r in events)
    stacks = any(r.stack for r in rows)
    heads = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
    heads += ["Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg"] if on_device else []
    heads += ["CPU Mem", "Self CPU Mem"] if memory else []
    heads += ["CUDA Mem", "Self CUDA Mem"] if on_gpu else []
    heads += ["# of Calls"] + ["Input Shapes"] * shapes + ["Source Location"] * stacks
    lines = []
    for r in rows:
        name = r.key if len(r.key) <= widest else r.key[: widest - 3] + "..."
        share, total = r.self_cpu_time_total / (whole or 1), r.cpu_time_total / (whole or 1)
        line = [name, f"{share:.2%}", _time(r.self_cpu_time_total), f"{total:.2%}"]
        line += [_time(r.cpu_time_total), _time(r.cpu_time_total / (r.count or 1))]
        if on_device:
            own, mean = r.self_device_time_total, r.device_time_total / (r.count or 1)
            line += [_time(own), f"{own / on_device:.2%}", _time(r.device_time_total), _time(mean)]
        if memory:
            line += [_bytes(r.cpu_memory_usage), _bytes(r.self_cpu_memory_usage)]
        if on_gpu:
            line += [_bytes(r.device_memory_usage), _bytes(r.self_device_memory_usage)]
        line += [str(r.count)] + [str(r.input_shapes)] * shapes
        lines.append(line + [text[-widest_line:] for text in r.stack[:1]] + [""] * (stacks and not r.stack))
        lines += [[""] * len(line) + [text[-widest_line:]] for text in r.stack[1:]]
    widths = [max([len(line[i]) for line in lines] + [12]) for i in range(len(heads))]
    rule = "  ".join(["-" * w for w in widths]) + "  "
    out = [rule] if header is None else ["=" * len(rule), header, rule]
    out.append("".join([f"{text:>{w}}  " for text, w in zip(heads, widths)]))
    out.append(rule)
    out += ["".join([f"{text:>{w}}  " for text, w in zip(line, widths)]) for line in lines]
    out += [rule, f"Self CPU time total: {_time(whole)}"]
    out += [f"Self CUDA time total: {_time(on_device)}"] if on_device else []
    return "\n".join([*out, ""])
