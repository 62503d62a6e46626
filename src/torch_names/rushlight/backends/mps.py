"""`torch.backends.mps`: Apple GPUs, which rushlight does not use."""

from __future__ import annotations

from ._absent import is_available, is_built

__all__ = ["is_available", "is_built", "is_macos13_or_newer", "is_macos_or_newer"]


def is_macos_or_newer(major: int, minor: int) -> bool:
    """Whether this is at least that macOS, with a GPU of Apple's that is used: never."""
    return False


def is_macos13_or_newer(minor: int = 0) -> bool:
    """As `is_macos_or_newer(13, minor)`."""
    return False
