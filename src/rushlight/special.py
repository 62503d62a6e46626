"""rushlight.special: every function the ops publish under the namespace "special"."""

from __future__ import annotations

from . import ops as _ops  # noqa: F401 - defines what is collected here
from .core.public import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["special"])
__all__ = sorted(_NAMESPACES["special"])
