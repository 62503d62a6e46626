"""`torch.fx._compatibility`: marks for functions whose form PyTorch promises to keep."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["compatibility"]


def compatibility(is_backward_compatible: bool) -> Callable[[Any], Any]:
    """A decorator that changes nothing."""
    return lambda fn: fn
