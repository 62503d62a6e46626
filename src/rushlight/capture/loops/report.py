"""What tracing did, for `rushlight run --explain`: loops, programs, stretches, what fell back and why."""

from __future__ import annotations

from collections import Counter
from typing import Any


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
            "seconds": 0.0,
        }
        self.loops.append(row)
        self.by_path[id(path)] = row

    def launched(self, path: Any, seconds: float) -> None:
        """A stretch was computed by its program."""
        row = self.by_path.get(id(path))
        if row is not None:
            row["replayed"] += 1
            row["seconds"] += seconds

    def fell_back(self, why: str, line: str, ran: int) -> None:
        """A stretch was computed kernel by kernel."""
        self.ran += ran
        self.fallbacks[why, line] += 1
