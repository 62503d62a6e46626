"""nn.functional: every function the ops publish under the namespace "functional"."""

from __future__ import annotations

from typing import Any

from ..base.config import settings as _settings
from ..core.public import NAMESPACES as _NAMESPACES

globals().update(_NAMESPACES["functional"].whole())
__all__ = sorted(_NAMESPACES["functional"])


_OF_OVERRIDES = (
    "handle_torch_function", "has_torch_function", "has_torch_function_unary", "has_torch_function_variadic",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _OF_OVERRIDES:
        from ..core import arming

        return getattr(arming, name)
    if name == "grad":
        from . import grad

        return grad
    if name == "Tensor" or name.startswith("_"):
        return _borrowed(name)
    found = _NAMESPACES["functional"].get(name)
    if found is None:
        raise AttributeError(f"module '{_settings.module}.nn.functional' has no attribute {name!r}")
    return found


def _borrowed(name: str) -> Any:
    """What programs that wrote a layer of their own take from here: parts of PyTorch's attention."""
    from . import _attention_parts

    if not hasattr(_attention_parts, name) or name.startswith("__"):
        raise AttributeError(f"module '{_settings.module}.nn.functional' has no attribute {name!r}")
    return getattr(_attention_parts, name)
