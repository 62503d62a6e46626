"""What a profile consists of: events, their sums, and the table of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple


class Interval(NamedTuple):
    """From when to when, in microseconds."""

    start: float
    end: float

    def elapsed_us(self) -> float:
        """How long, in microseconds."""
        return self.end - self.start


class FunctionEvent:
    """One run of an operator, or one block of `record_function`; times in microseconds.

    Args:
        name: such as "aten::mm".
        begin, took: in seconds, of `time.perf_counter`.
        thread: the thread's number.
        size: bytes of the result.
        shapes: of the inputs.
        inside: a part of another event, a conversion of layout in a kernel.
        times: how often, for conversions that are counted together.
        user: a block of `record_function`.
        on_device: computed on a GPU.

    Example:
        >>> with torch.profiler.profile() as p:
        ...     _ = torch.ones(3).exp()
        >>> [event.name for event in p.events()]
        ['aten::ones', 'aten::exp']
    """

    __slots__ = (
        "name", "begin", "took", "thread", "size", "input_shapes", "inside", "times", "cpu_parent", "below",
        "is_user_annotation", "on_device",
    )  # fmt: skip

    def __init__(
        self, name: str, begin: float, took: float, thread: int, size: int = 0, shapes: Any = None, *,
        inside: bool = False, times: int = 1, user: bool = False, on_device: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.begin, self.took, self.thread = name, begin, took, thread
        self.size, self.input_shapes, self.inside, self.times = size, shapes or [], inside, times
        self.cpu_parent: FunctionEvent | None = None
        self.below = 0.0  # seconds of the events inside this one
        self.is_user_annotation, self.on_device = user, on_device

    @property
    def key(self) -> str:
        """The name."""
        return self.name

    @property
    def count(self) -> int:
        """One, but for conversions of layout that are counted together."""
        return self.times

    @property
    def time_range(self) -> Interval:
        """From when to when."""
        return Interval(self.begin * 1e6, (self.begin + self.took) * 1e6)

    @property
    def cpu_time_total(self) -> float:
        """How long, with the events inside."""
        return self.took * 1e6

    cpu_time = cpu_time_total

    @property
    def self_cpu_time_total(self) -> float:
        """How long, without the events inside."""
        return max(self.took - self.below, 0.0) * 1e6

    @property
    def device_time_total(self) -> float:
        """How long on a GPU, with the events inside."""
        return self.cpu_time_total if self.on_device else 0.0

    device_time = device_time_total

    @property
    def self_device_time_total(self) -> float:
        """How long on a GPU, without the events inside."""
        return self.self_cpu_time_total if self.on_device else 0.0

    def __repr__(self) -> str:
        return f"<FunctionEvent {self.name} {self.cpu_time_total:.3f}us>"


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
        self.input_shapes: Any = []
        self.is_user_annotation = False

    @property
    def cpu_time(self) -> float:
        """The mean of the total times."""
        return self.cpu_time_total / self.count if self.count else 0.0

    @property
    def device_time(self) -> float:
        """The mean of the times on a GPU."""
        return self.device_time_total / self.count if self.count else 0.0

    def add(self, event: FunctionEvent) -> None:
        """Add one event."""
        self.count += event.times
        self.cpu_time_total += event.cpu_time_total
        self.self_cpu_time_total += event.self_cpu_time_total
        self.cpu_memory_usage += event.size
        self.self_cpu_memory_usage += event.size
        self.is_user_annotation |= event.is_user_annotation
        if event.on_device:
            self.device_time_total += event.device_time_total
            self.self_device_time_total += event.self_device_time_total

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
        return sum(e.self_cpu_time_total for e in self if not e.inside)

    def key_averages(self, group_by_input_shapes: bool = False, **kwargs: Any) -> EventList:
        """The sums by name, or by name and shapes of inputs."""
        rows: dict[Any, FunctionEventAvg] = {}
        for event in self:
            at = (event.key, str(event.input_shapes) if group_by_input_shapes else "", event.inside)
            row = rows.get(at)
            if row is None:
                row = rows[at] = FunctionEventAvg(event.key, event.inside)
                row.input_shapes = event.input_shapes if group_by_input_shapes else []
            row.add(event)
        made = EventList(
            rows.values(), use_device=self._use_device, profile_memory=self._profile_memory
        )
        made.shown_shapes = group_by_input_shapes
        return made

    shown_shapes = False

    def total_average(self) -> FunctionEventAvg:
        """The sum of everything."""
        total = FunctionEventAvg("Total")
        for event in self:
            if not event.inside:
                total.count += event.count
                total.cpu_time_total += event.self_cpu_time_total
                total.self_cpu_time_total += event.self_cpu_time_total
        return total

    def table(
        self, sort_by: str | None = None, row_limit: int = 100, max_name_column_width: int = 55, header: str | None = None,
        **kwargs: Any,
    ) -> str:  # fmt: skip
        """The rows as text, in the order they came, or the largest of `sort_by` first."""
        rows = list(self)
        if sort_by is not None:
            name = sort_by.replace("cuda", "device")
            rows.sort(key=lambda e: getattr(e, name), reverse=True)
        return _table(
            rows[:row_limit], self.self_cpu_time_total, max_name_column_width, header,
            self._profile_memory, self.shown_shapes,
        )  # fmt: skip


def _time(us: float) -> str:
    if us >= 1e6:
        return f"{us / 1e6:.3f}s"
    return f"{us / 1e3:.3f}ms" if us >= 1e3 else f"{us:.3f}us"


def _bytes(n: int) -> str:
    for unit, size in (("GB", 1 << 30), ("MB", 1 << 20), ("KB", 1 << 10)):
        if abs(n) >= size:
            return f"{n / size:.2f} {unit}"
    return f"{n} B"


def _table(
    rows: Iterable[Any], whole: float, widest: int, header: str | None, memory: bool, shapes: bool
) -> str:
    on_device = any(getattr(r, "device_time_total", 0) for r in rows)
    heads = ["Name", "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg"]
    heads += ["Self CUDA", "CUDA total"] if on_device else []
    heads += (["CPU Mem"] if memory else []) + ["# of Calls"] + (["Input Shapes"] if shapes else [])
    lines = []
    for r in rows:
        name = r.key if len(r.key) <= widest else r.key[: widest - 3] + "..."
        share, total = r.self_cpu_time_total / (whole or 1), r.cpu_time_total / (whole or 1)
        line = [name, f"{share:.2%}", _time(r.self_cpu_time_total), f"{total:.2%}"]
        line += [_time(r.cpu_time_total), _time(r.cpu_time_total / (r.count or 1))]
        if on_device:
            line += [_time(r.self_device_time_total), _time(r.device_time_total)]
        line += ([_bytes(r.cpu_memory_usage)] if memory else []) + [str(r.count)]
        lines.append(line + ([str(r.input_shapes)] if shapes else []))
    widths = [max([len(line[i]) for line in lines] + [12]) for i in range(len(heads))]
    rule = "  ".join(["-" * w for w in widths]) + "  "
    out = [rule] if header is None else ["=" * len(rule), header, rule]
    out.append("".join([f"{text:>{w}}  " for text, w in zip(heads, widths)]))
    out.append(rule)
    out += ["".join([f"{text:>{w}}  " for text, w in zip(line, widths)]) for line in lines]
    return "\n".join([*out, rule, f"Self CPU time total: {_time(whole)}", ""])
