"""What is known of versions of the libraries that are called on a GPU."""

from __future__ import annotations

# Up to which (major, minor) of cuDNN's front end convolutions of doubles were seen to be right. With 1.22.1 the results
# are noise, from the same plans (H200, cuDNN 9.19, 18 November 2026).
_RIGHT_DOUBLES = (1, 14)


def knows_doubles(front_end: str) -> bool:
    """Whether a version of cuDNN's front end is known to describe convolutions of doubles as cuDNN reads them."""
    try:
        major, minor = map(int, front_end.split(".")[:2])
    except ValueError:
        return False
    return (major, minor) <= _RIGHT_DOUBLES
