"""`torch.fx` without a tracer: the mark that ordinary code carries, and refusals for the rest."""

from __future__ import annotations

from typing import Any

from ._names.refusal import refuser


def wrap(fn_or_name: Any) -> Any:
    """Mark a function that symbolic tracing should not look into.

    rushlight does not trace symbolically, so there is nothing to hold back: the function is returned
    as it is, and works as before.
    """
    if not (callable(fn_or_name) or isinstance(fn_or_name, str)):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    return fn_or_name


_refuse = refuser(
    "fx",
    "has no symbolic tracer",
    "rushlight.compile records a function by running it; forward hooks see the inside of a model.",
)

symbolic_trace = _refuse("symbolic_trace")
Tracer = _refuse("Tracer")
GraphModule = _refuse("GraphModule")
Graph = _refuse("Graph")
