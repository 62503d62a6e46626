"""`repr(tensor)`: what to print of a tensor, handed to `printing`, which knows how."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...base import dtypes
from ...base.config import settings
from .printing import format_meta, format_parts, format_tensor

if TYPE_CHECKING:
    from ..tensor import Tensor


def describe(t: Tensor, prefix: str, contents: str | None = None) -> str:
    """The printed form of a tensor: values (or `contents`), then device, dtype and history where they matter."""
    common: dict[str, Any] = {
        "dtype_name": t.dtype.name,
        "default_dtype_name": dtypes.get_default_dtype().name,
        "suffixes": _history(t),
        "prefix": prefix,
        "module": settings.module,
    }
    device = None if t.device.type == "cpu" else str(t.device)
    if contents is not None:
        shaped: Any = t._a  # its class may have no values of its own
        return format_tensor(shaped, device=device, contents=contents, **common)
    if t.is_meta:
        return format_meta(t._a.shape, **common)
    return format_tensor(t._host(), device=device, **common)


def describe_parts(t: Any, parts: Sequence[tuple[str, Tensor]], apart: bool) -> str:
    """The printed form of a sparse tensor, of the dense ones that it is made of."""
    return format_parts(
        [(name, part.detach()._host()) for name, part in parts],
        dtype_name=t.dtype.name,
        default_dtype_name=dtypes.get_default_dtype().name,
        device=None if t.device.type == "cpu" else str(t.device),
        facts=[f"size={tuple(t.shape)}", f"nnz={t._nnz()}"],
        suffixes=[f"layout={settings.module}.{t.layout.name}", *_history(t)],
        apart=apart,
        module=settings.module,
    )


def _history(t: Tensor) -> list[str]:
    try:
        made_by = t.grad_fn
    except RuntimeError:  # a view whose base was written, though it was made in a way that refuses that
        return ["grad_fn=<Invalid>"]
    if made_by is not None:
        return [f"grad_fn=<{made_by.name()}>"]
    return ["requires_grad=True"] if t.requires_grad else []
