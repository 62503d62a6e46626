"""`torch.fx` without a tracer: the mark that ordinary code carries, and refusals for the rest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from .base.errors import NotYet


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


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotYet(
            f"fx.{name}: rushlight has no symbolic tracer. rushlight.compile records a function by "
            "running it; forward hooks see the inside of a model."
        )

    refuse.__name__ = name
    refuse.__doc__ = "Refused: rushlight has no symbolic tracer."
    setattr(refuse, "not_yet", True)  # tools/coverage_api.py counts it as missing
    return refuse


symbolic_trace = _refuse("symbolic_trace")
Tracer = _refuse("Tracer")
GraphModule = _refuse("GraphModule")
Graph = _refuse("Graph")
