"""`torch._dynamo`: what libraries ask of PyTorch's compiler, answered for `rushlight.compile`."""

from __future__ import annotations

from typing import Any

from ..compiler import (
    allow_in_graph,
    assume_constant_result,
    disable,
    is_compiling,
    is_dynamo_compiling,
    list_backends,
    reset,
)
from ..nn.modules.optimized import OptimizedModule
from . import config, eval_frame, exc  # type: ignore[attr-defined]

__all__ = [
    "OptimizedModule", "allow_in_graph", "assume_constant_result", "config", "disable", "eval_frame",
    "exc", "graph_break", "is_compiling", "is_dynamo_compiling", "is_dynamo_supported", "list_backends",
    "mark_dynamic", "mark_static", "mark_static_address", "maybe_mark_dynamic", "reset",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name == "explain":
        from ._explained import explain

        return explain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def is_dynamo_supported(device: Any = None) -> bool:
    """Whether functions can be compiled here: always, and for every device."""
    return True


reset_code_caches = reset


def graph_break() -> None:
    """End the part that is being compiled here; outside of a recording there is nothing to end."""
    from ..capture.record.recorder import complain_now, is_recording

    if is_recording():
        complain_now("calls _dynamo.graph_break(),")


def mark_static_address(t: Any, guard: bool = True) -> None:
    """A promise that `t` stays where it is: programs look at the memory of what they use anyway."""


def mark_static(t: Any, index: Any = None) -> None:
    """A promise that sizes stay: programs are made for one size each."""


def mark_dynamic(t: Any, index: Any, **bounds: Any) -> None:
    """A hint that a size will change: there will be one program per size."""


def maybe_mark_dynamic(t: Any, index: Any) -> None:
    """A hint that a size may change: there will be one program per size."""
