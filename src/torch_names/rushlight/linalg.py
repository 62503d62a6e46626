"""`torch.linalg`: linear algebra, collected from the ops."""

from __future__ import annotations

from typing import Any

from .core.public import NAMESPACES as _NAMESPACES
from .operators import load_all as _load_all

_load_all()

globals().update(_NAMESPACES.get("linalg", {}))
__all__ = sorted(_NAMESPACES.get("linalg", {}))


def __getattr__(name: str) -> Any:
    from ._names.lookup import missing

    raise AttributeError(missing(__name__, globals(), name))
