"""`torch.return_types`: the named tuples of ops with several results, collected from the ops."""

from __future__ import annotations

from typing import Any

from .core.public import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["return_types"].whole())
__all__ = sorted(_NAMESPACES["return_types"])


def __getattr__(name: str) -> Any:
    plain = name.removesuffix("_out")  # what `qr(out=)` returns is `qr_out`
    if plain != name and plain in _NAMESPACES["return_types"]:
        return _NAMESPACES["return_types"][plain]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
