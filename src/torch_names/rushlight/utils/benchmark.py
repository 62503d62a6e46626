"""`torch.utils.benchmark`: how long a statement takes, with warm-up, repeats and a waiting GPU."""

from __future__ import annotations

import timeit
from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

from ..operators.memory.query import get_num_threads, set_num_threads

__all__ = ["Compare", "Measurement", "Timer", "timer"]


def timer() -> float:
    """The time now, once the GPU has finished what it was given.

    Example:
        >>> from rushlight.utils.benchmark import timer
        >>> begin = timer()
        >>> timer() >= begin
        True
    """
    from .. import cuda

    if cuda.is_available() and cuda.is_initialized():
        cuda.synchronize()
    return perf_counter()


class Measurement:
    """Times of one statement, in seconds per run.

    Args:
        number_per_run: runs in each of
        raw_times: the measured times.
        title: how it is called when it is printed.
        label, sub_label, description: the table, row and column of it in a `Compare`.
        num_threads: threads of the CPU that it ran with.

    Example:
        >>> from rushlight.utils.benchmark import Measurement
        >>> m = Measurement(10, [0.5, 0.3, 0.4], "x + 1")
        >>> m.median
        0.04
    """

    def __init__(
        self,
        number_per_run: int,
        raw_times: list[float],
        title: str,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        num_threads: int = 1,
    ) -> None:
        self.number_per_run = number_per_run
        self.raw_times = raw_times
        self.title = title
        self.label = label
        self.sub_label = sub_label
        self.description = description
        self.num_threads = num_threads

    @property
    def times(self) -> list[float]:
        """Seconds per run, one for each measurement."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def median(self) -> float:
        """The median of `times`."""
        return float(np.median(self.times))

    @property
    def mean(self) -> float:
        """The mean of `times`."""
        return float(np.mean(self.times))

    @property
    def iqr(self) -> float:
        """The distance between the quartiles."""
        return float(np.subtract(*np.quantile(self.times, [0.75, 0.25])))

    def __repr__(self) -> str:
        scale, unit = _unit(self.median)
        n = len(self.raw_times)
        word = "Median" if n > 1 else ""
        lines = [f"<{_module()}.utils.benchmark.Measurement object>", self.title]
        lines.append(f"  {word + ': ' if word else ''}{self.median / scale:.2f} {unit}")
        if n > 3:
            lines.append(f"  IQR:    {self.iqr / scale:.2f} {unit}")
        lines.append(f"  {n} measurement{'s' * (n > 1)}, {self.number_per_run} runs per measurement")
        return "\n".join(lines)


def _module() -> str:
    from ..base.config import settings

    return settings.module


def _unit(seconds: float) -> tuple[float, str]:
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return scale, unit
    return 1e-9, "ns"


class Timer:
    """Measures a statement given as text, as `timeit` does.

    Args:
        stmt: what is timed.
        setup, global_setup: run once before.
        timer: a clock.
        globals: the names that `stmt` knows.
        label, sub_label, description: how the result is called.
        env: accepted and not needed.
        num_threads: threads of the CPU while it runs.
        language: Python only.

    Raises:
        NotImplementedError: if `language` is another.

    Example:
        >>> from rushlight.utils.benchmark import Timer
        >>> Timer("x + 1", globals={"x": torch.ones(3)}).timeit(10).median > 0
        True
    """

    def __init__(
        self,
        stmt: str = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = timer,
        globals: dict[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Any = "python",
    ) -> None:
        if str(language).lower() not in ("python", "py", "language.python"):
            raise NotImplementedError(f"benchmark.Timer: language {language}; only Python is timed")
        if global_setup:
            raise ValueError(f"global_setup is C++ only, got `{global_setup}`. Most likely you meant `setup`.")
        self._title = ": ".join(t for t in (label or stmt, sub_label, description) if t)
        self._names = (label or stmt, sub_label or stmt, description or "", num_threads)
        self._num_threads = num_threads
        self._timer = timeit.Timer(stmt=stmt, setup=setup, timer=timer, globals=dict(globals or {}))

    def timeit(self, number: int = 1_000_000) -> Measurement:
        """The time of `number` runs, after a few to warm up."""
        with _threads(self._num_threads):
            self._timer.timeit(number=max(number // 100, 2))
            return self._measured(number, [self._timer.timeit(number=number)])

    def blocked_autorange(self, callback: Callable | None = None, min_run_time: float = 0.2) -> Measurement:
        """Blocks of runs, long enough to be timed well, until `min_run_time` has passed."""
        with _threads(self._num_threads):
            number = self._block_size(min_run_time)
            times: list[float] = []
            while sum(times) < min_run_time:
                times.append(self._timer.timeit(number=number))
                if callback is not None:
                    callback(number, times[-1])
            return self._measured(number, times)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callable | None = None,
    ) -> Measurement:
        """Blocks of runs until their times lie close together: quartiles within `threshold` of the median."""
        with _threads(self._num_threads):
            number = self._block_size(0.05)
            times: list[float] = []
            while sum(times) < max_run_time:
                times.append(self._timer.timeit(number=number))
                if callback is not None:
                    callback(number, times[-1])
                found = self._measured(number, times)
                close = found.iqr <= threshold * found.median
                if len(times) > 3 and sum(times) >= min_run_time and close:
                    break
            return found

    def _measured(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._title, *self._names)

    def _block_size(self, min_run_time: float) -> int:
        number = 1
        while True:
            seconds = self._timer.timeit(number=number)
            if (seconds >= min_run_time / 1000 and seconds >= 1e-5) or number >= 10**7:
                return number
            number *= 10


class _threads:
    """Runs with a number of CPU threads, and puts the old number back."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __enter__(self) -> None:
        self.before = get_num_threads()
        set_num_threads(self.n)

    def __exit__(self, *exc: Any) -> None:
        set_num_threads(self.before)


class Compare:
    """Measurements side by side: a table for each label, a row for each sub_label, columns of descriptions.

    Args:
        results: what `Timer` returned.

    Example:
        >>> from rushlight.utils.benchmark import Compare, Measurement
        >>> names = {"label": "sum", "sub_label": "8x8", "num_threads": 1}
        >>> runs = [Measurement(1, [n / 1e6], "", description=str(n), **names) for n in (2, 3)]
        >>> print(Compare(runs))
        [----- sum ------]
                   | 2 | 3
        1 threads: -------
              8x8  | 2 | 3
        <BLANKLINE>
        Times are in microseconds (us).
        <BLANKLINE>
    """

    def __init__(self, results: list[Measurement]) -> None:
        self._results: list[Measurement] = []
        self._digits: int | None = None
        self.extend_results(results)

    def extend_results(self, results: list[Measurement]) -> None:
        """Take more measurements in."""
        for m in results:
            if not isinstance(m, Measurement):
                raise ValueError(f"Expected an instance of `Measurement`, got {type(m)} instead.")
        self._results.extend(results)

    def trim_significant_figures(self) -> None:
        """Print two digits of each time, and no more than that."""
        self._digits = 2

    def colorize(self, rowwise: bool = False) -> None:
        """Accepted: tables have no colours here."""

    def highlight_warnings(self) -> None:
        """Accepted: there are no warnings in tables here."""

    def print(self) -> None:
        """Print the tables."""
        print(str(self))

    def __str__(self) -> str:
        labels = dict.fromkeys(m.label for m in self._results)
        return "\n".join(self._table(label or "", [m for m in self._results if m.label == label]) for label in labels)

    def _table(self, label: str, results: list[Measurement]) -> str:
        columns = list(dict.fromkeys(m.description or "" for m in results))
        scale, unit = _unit(min(m.median for m in results))
        rows: dict[tuple[int, str], dict[str, str]] = {}
        for m in sorted(results, key=lambda m: m.num_threads):
            row = rows.setdefault((m.num_threads, m.sub_label or ""), {})
            row[m.description or ""] = self._number(m.median / scale)
        names = max(len(f"      {sub}") for _, sub in rows)
        widths = [max(len(c), *(len(row.get(c, "")) for row in rows.values())) for c in columns]
        names = max(names, len("1 threads:"))
        head = " | ".join([" " * names, *(c.rjust(w) for c, w in zip(columns, widths))]).rstrip()
        whole = max(len(head), names + len(label) + 2)
        lines = [f"[{f' {label} '.center(whole - 2, '-')}]", head]
        before = None
        for (threads, sub), row in rows.items():
            if threads != before:
                lines.append(f"{threads} threads: ".ljust(whole, "-"))
                before = threads
            cells = [f"      {sub}".ljust(names)]
            cells += [row.get(c, "").rjust(w) for c, w in zip(columns, widths)]
            lines.append(" | ".join(cells).rstrip())
        return "\n".join([*lines, "", f"Times are in {_WORDS[unit]} ({unit}).", ""])

    def _number(self, value: float) -> str:
        if self._digits is None:
            return f"{value:.1f}" if value != int(value) else f"{value:.0f}"
        return f"{float(f'{value:.{self._digits}g}'):g}"


_WORDS = {"s": "seconds", "ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
