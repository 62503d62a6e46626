"""What tracing did, for `rushlight run --explain`: loops, programs, stretches, what fell back and why."""

from __future__ import annotations

from collections import Counter
from typing import Any

from ...core.hot import meeting


class Report:
    """Counts of one tracer."""

    def __init__(self) -> None:
        self.loops: list[dict[str, Any]] = []
        self.by_path: dict[int, dict[str, Any]] = {}
        self.fallbacks: Counter[tuple[str, str]] = Counter()
        self.ran = 0  # kernels run one by one in fallbacks

    def built(self, place: Any, path: Any, seconds: float) -> None:
        """A path was made of two stretches."""
        row = {
            "place": place.name,
            "kernels": path.kernels,
            "instructions": len(path.program),
            "events": len(path.events),
            "built": seconds,
            "replayed": 0,
            "shortest": None,  # of all replays
            "eager": None,  # the shortest time that the stretch took without a tracer, if that was asked for
        }
        self.loops.append(row)
        self.by_path[id(path)] = path.row = row

    def took(self, path: Any, seconds: float) -> None:
        """A stretch like this one was left to eager."""
        row = self.by_path.get(id(path))
        if row is not None:
            row["eager"] = seconds if row["eager"] is None else min(row["eager"], seconds)

    def launched(self, path: Any, seconds: float) -> None:
        """A stretch was computed by its program."""
        row = self.by_path.get(id(path))
        if row is not None:
            row["replayed"] += 1
            row["shortest"] = seconds if row["shortest"] is None else min(row["shortest"], seconds)

    def fell_back(self, why: str, line: str, ran: int) -> None:
        """A stretch was computed kernel by kernel."""
        self.ran += ran
        self.fallbacks[why, line] += 1


def table(tracer: Any) -> str:
    """What tracing did in a program, as text."""
    report = getattr(tracer, "report", None)
    if tracer is None:
        return "tracing: it was off at the end."
    if report is None:
        why = meeting.barred
        return f"tracing: no loop was found{'' if why is None else ': ' + why}."
    rows: list[tuple[str, ...]] = [
        ("loop begins behind", "events", "kernels", "program", "built in", "replayed", "saved about")
    ]
    for row in report.loops:
        counts = [str(row[k]) for k in ("events", "kernels", "instructions")]
        built = f"{row['built'] * 1e3:.0f} ms"
        rows.append((_short(row["place"]), *counts, built, str(row["replayed"]), _saved(row)))
    widths = [max(len(r[i]) for r in rows) for i in range(len(rows[0]))]
    lines = ["tracing: loops found, and what a replayed stretch stands for"]
    lines += ["  " + "  ".join(t.ljust(w) for t, w in zip(r, widths)).rstrip() for r in rows]
    replayed = sum(row["replayed"] for row in report.loops)
    kernels = sum(row["replayed"] * row["kernels"] for row in report.loops)
    lines.append(
        f"  {replayed} stretches of {kernels} kernels replayed; {sum(report.fallbacks.values())} fell back, "
        f"and {report.ran} of their kernels were run one by one"
    )
    for (why, line), count in report.fallbacks.most_common(10):
        lines.append(f"  fell back {count} times: {why}, at {_short(line)}")
    if meeting.barred is not None:
        lines.append(f"  nothing was traced any more in the end: {meeting.barred}")
    for place in tracer.places.values():
        if place.why is not None and place.seen > 2:
            lines.append(f"  not replayed behind {_short(place.name)}: {place.why}")
    return "\n".join(lines)


def _short(place: str) -> str:
    head, _, name = place.rpartition("/")
    return f"{head.rpartition(' ')[0]} {name}".strip() if " " in head else name


def _saved(row: dict[str, Any]) -> str:
    """What replays took less than eager would have; less than nothing where they took longer."""
    if row["eager"] is None or row["shortest"] is None:
        return "not measured"
    return f"{(row['eager'] - row['shortest']) * row['replayed']:+.3f} s"
