"""`torch.jit` without a compiler: the questions and marks that ordinary code carries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._names.refusal import refuser


def is_scripting() -> bool:
    """Whether TorchScript is compiling this line: never here."""
    return False


def is_tracing() -> bool:
    """Whether a tracer is recording this line: never here."""
    return False


def unused(fn: Callable) -> Callable:
    """Mark a method that a TorchScript compiler should skip; it stays as it is."""
    return fn


def export(fn: Callable) -> Callable:
    """Mark a method that a TorchScript compiler should include; it stays as it is."""
    return fn


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """Mark a method that TorchScript should leave to Python; it stays as it is."""
    return drop if callable(drop) else export


def _overload_method(fn: Callable) -> Callable:
    return fn


_no_compiler = refuser(
    "jit",
    "has no TorchScript",
    "Call the function as it is; to make it faster see rushlight.compile, to keep a model save its "
    "state_dict().",
)

script = _no_compiler("script")
trace = _no_compiler("trace")
load = _no_compiler("load")
save = _no_compiler("save")
script_method = _no_compiler("script_method")
