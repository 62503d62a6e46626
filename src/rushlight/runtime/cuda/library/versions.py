"""What is known of versions of the libraries that are called on a GPU."""

from __future__ import annotations

# Up to which (major, minor) of cuDNN's front end convolutions of doubles were seen to be right. 1.22.1 gives such graphs
# their factors as floats where cuDNN reads doubles, and the results are noise (H200, cuDNN 9.19, 18 November 2026).
_RIGHT_DOUBLES = (1, 14)


def knows_doubles(front_end: str) -> bool:
    """Whether a version of cuDNN's front end is known to describe convolutions of doubles as cuDNN reads them."""
    parts = front_end.split(".")[:2]
    return len(parts) == 2 and all(map(str.isdigit, parts)) and _pair(parts) <= _RIGHT_DOUBLES


def _pair(parts: list[str]) -> tuple[int, ...]:
    return tuple(map(int, parts))
