"""`torch.random`: the random number generators, collected from the ops."""

from __future__ import annotations

from typing import Any

from .core.public import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["random"].whole())
__all__ = sorted(_NAMESPACES["random"])


def __getattr__(name: str) -> Any:
    from ._names.lookup import missing

    raise AttributeError(missing(__name__, globals(), name))
