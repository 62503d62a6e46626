"""`torch.utils.hooks`: what registering a hook returns."""

from __future__ import annotations

from typing import Any

from ..core.tape import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook that files should not hold."""
    f.__torch_unserializable__ = True
    return f
