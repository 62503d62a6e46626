"""`torch._dynamo.explain`: whether a call is recorded as a whole, and what stands in the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..base.errors import HostReadError
from ..capture import compile as compiled
from ..capture.record.recorder import CannotCapture
from ..nn.modules.module import Module

__all__ = ["ExplainOutput", "GraphCompileReason", "explain"]


class GraphCompileReason(NamedTuple):
    """Why a recording ends."""

    reason: str
    user_stack: list
    graph_break: bool = True


class ExplainOutput(NamedTuple):
    """What `explain` tells. A call that is not recorded as a whole has the first thing in its way as a reason."""

    graphs: list
    graph_count: int
    graph_break_count: int
    break_reasons: list
    op_count: int
    ops_per_graph: list | None = None
    out_guards: list | None = None
    compile_times: str | None = None


def explain(f: Any, *extra_args: Any, **extra_kwargs: Any) -> Any:
    """A function that calls `f` and tells how it would be compiled; called at once if arguments are given.

    Args:
        f: the function or module.
        extra_args, extra_kwargs: the arguments, in PyTorch's older form.

    Example:
        >>> torch._dynamo.explain(torch.sin)(torch.ones(2)).graph_break_count
        0
    """

    def inner(*args: Any, **kwargs: Any) -> ExplainOutput:
        try:
            compiled(f, fullgraph=True)(*args, **kwargs)
        except (CannotCapture, HostReadError) as error:
            reason = GraphCompileReason(str(error), [])
            return ExplainOutput([], 2, 1, [reason], 0)
        made = _recorded(f, args, kwargs)
        ops = [n.target for n in made.graph.nodes if n.op.startswith("call")]
        return ExplainOutput([made], 1, 0, [], len(ops), [ops])

    return inner(*extra_args, **extra_kwargs) if extra_args or extra_kwargs else inner


def _recorded(f: Callable, args: tuple, kwargs: dict) -> Any:
    from ..jit._trace import record

    module = f if isinstance(f, Module) else None
    return record(f.forward if module is not None else f, module, args, kwargs)  # type: ignore[attr-defined]
