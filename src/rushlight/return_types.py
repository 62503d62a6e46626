"""`torch.return_types`: the named tuples of ops with several results, collected from the ops."""

from __future__ import annotations

from . import operators as _ops  # noqa: F401 - importing it defines the names
from .core.public import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["return_types"])
__all__ = sorted(_NAMESPACES["return_types"])
