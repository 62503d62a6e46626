"""What a library that rushlight does not use answers: not built, not available."""

from __future__ import annotations


def is_available() -> bool:
    """Whether the library can be used: no."""
    return False


def is_built() -> bool:
    """Whether rushlight was built with it: no."""
    return False
