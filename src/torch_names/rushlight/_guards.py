"""`torch._guards`: questions about PyTorch's compiler, which is never at work here."""

from __future__ import annotations

from typing import Any

__all__ = ["active_fake_mode", "detect_fake_mode"]


def active_fake_mode() -> None:
    """The mode of tensors without values: None, there is none."""
    return None


def detect_fake_mode(inputs: Any = None) -> None:
    """The mode of tensors without values that these belong to: None."""
    return None
