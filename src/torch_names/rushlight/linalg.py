"""`torch.linalg`: linear algebra, collected from the ops."""

from __future__ import annotations

from typing import Any

from .core.public import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["linalg"].whole())
__all__ = sorted(_NAMESPACES["linalg"])


def __getattr__(name: str) -> Any:
    from ._names.lookup import missing

    raise AttributeError(missing(__name__, globals(), name))
