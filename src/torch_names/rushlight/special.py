"""rushlight.special: every function the ops publish under the namespace "special"."""

from __future__ import annotations

from .core.public import NAMESPACES as _NAMESPACES

_names = dict(_NAMESPACES["special"].whole())
for _name in ("softmax", "log_softmax", "logsumexp"):
    _names[_name] = _NAMESPACES["torch"][_name]
globals().update(_names)
__all__ = sorted(_names)
