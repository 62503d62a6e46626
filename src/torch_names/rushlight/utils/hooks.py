"""`torch.utils.hooks`: what registering a hook returns."""

from __future__ import annotations

from typing import Any

from ..core.gradients.tape import RemovableHandle

__all__ = ["RemovableHandle", "unserializable_hook"]


def unserializable_hook(f: Any) -> Any:
    """Mark a hook that files should not hold.

    Example:
        >>> from rushlight.utils.hooks import unserializable_hook
        >>> @unserializable_hook
        ... def hook(module, args):
        ...     pass
        >>> hook.__torch_unserializable__
        True
    """
    f.__torch_unserializable__ = True
    return f
