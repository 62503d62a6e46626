"""`torch.backends.nnpack`: a library of PyTorch's for ARM, which rushlight does not use."""

from __future__ import annotations

from typing import Any

from ._absent import is_available

__all__ = ["is_available", "set_flags"]


def set_flags(_enabled: Any) -> tuple[bool]:
    """What was set before: there is nothing to switch."""
    return (False,)
