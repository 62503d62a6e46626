"""A whole network, recorded by fx and cut into stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from inspect import signature
from typing import Any

from ...base.errors import NotYet
from ...fx import Graph, GraphModule, Node, Tracer
from ...fx._symbolic_trace import _depth as _tracers
from ...nn import Module
from .stages import PipelineStage

__all__ = ["Pipe", "PipeInfo", "SplitPoint", "build_stage", "pipe_split", "pipeline"]


class SplitPoint(Enum):
    """Whether a stage begins before a submodule or behind it.

    Example:
        >>> torch.distributed.pipelining.SplitPoint.BEGINNING.value
        1
    """

    BEGINNING = 1
    END = 2


def pipe_split() -> None:
    """In the forward of a network that `pipeline` cuts: here the next stage begins. Elsewhere it does nothing.

    Example:
        >>> torch.distributed.pipelining.pipe_split()
    """
    if _tracers:
        _tracers[-1].create_node("call_function", pipe_split, (), {})


class _Recorder(Tracer):
    """Looks into every module on the way to one that a split is at."""

    def __init__(self, at: Any) -> None:
        super().__init__()
        self.at = at

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        if any(name.startswith(f"{module_qualified_name}.") for name in self.at):
            return False
        return module_qualified_name in self.at or super().is_leaf_module(m, module_qualified_name)


@dataclass
class PipeInfo:
    """What is known of a pipeline without its modules."""

    graph: Any
    num_stages: int
    has_loss_and_backward: bool = False


class Pipe(Module):
    """A network in stages, as `pipeline` gives it; called, it runs them one after the other.

    Example:
        >>> from torch.distributed.pipelining import SplitPoint, pipeline
        >>> net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.ReLU(), torch.nn.Linear(3, 1))
        >>> pipe = pipeline(net, (torch.ones(4, 2),), split_spec={"2": SplitPoint.BEGINNING})
        >>> pipe.num_stages, pipe(torch.ones(4, 2)).equal(net(torch.ones(4, 2)))
        (2, True)
    """

    def __init__(self, graph: Graph, stages: list[GraphModule]) -> None:
        super().__init__()
        self.num_stages, self._graph = len(stages), graph
        for i, stage in enumerate(stages):
            self.add_module(f"submod_{i}", stage)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """The network's output."""
        value = self.get_stage_module(0)(*args, **kwargs)
        for i in range(1, self.num_stages):
            value = self.get_stage_module(i)(*(value if isinstance(value, tuple) else (value,)))
        return value

    def get_stage_module(self, stage_idx: int) -> Any:
        """The module of one stage."""
        if not 0 <= stage_idx < self.num_stages:
            raise ValueError(f"Invalid stage index {stage_idx}!")
        return getattr(self, f"submod_{stage_idx}")

    def info(self) -> PipeInfo:
        """What `build_stage` has to know of the whole."""
        return PipeInfo(self._graph, self.num_stages)

    def build_stage(self, stage_index: int, device: Any, group: Any = None) -> PipelineStage:
        """The stage that a rank runs."""
        return build_stage(self.get_stage_module(stage_index), stage_index, self.info(), device, group)


def build_stage(
    stage_module: Any, stage_index: int, pipe_info: PipeInfo, device: Any, group: Any = None
) -> PipelineStage:
    """A stage of a module that `Pipe.get_stage_module` gave, perhaps wrapped.

    Args:
        stage_module: the module.
        stage_index: its place.
        pipe_info: what `Pipe.info()` gave.
        device: where it computes; the module is moved there.
        group: the ranks of the pipeline.

    Example:
        >>> torch.distributed.pipelining.build_stage.__name__
        'build_stage'
    """
    return PipelineStage(stage_module.to(device), stage_index, pipe_info.num_stages, device, group=group)


def pipeline(
    module: Any,
    mb_args: tuple[Any, ...],
    mb_kwargs: dict[str, Any] | None = None,
    split_spec: dict[str, SplitPoint] | None = None,
    split_policy: Callable[..., Any] | None = None,
) -> Pipe:
    """Cut a network into stages: before or behind submodules, or where its forward calls `pipe_split`.

    The network is recorded by `torch.fx`, whose rules hold for its forward. What a later stage needs of an earlier one
    passes through those between them.

    Args:
        module: the network.
        mb_args, mb_kwargs: the arguments of one microbatch.
        split_spec: {name of a submodule: SplitPoint}.

    Raises:
        NotYet: for a `split_policy`.
        ValueError: if a name is no submodule's, or nothing is cut.

    Example:
        >>> torch.distributed.pipelining.pipeline.__name__
        'pipeline'
    """
    if split_policy is not None:
        raise NotYet("pipeline(split_policy=): name the places by split_spec or pipe_split()")
    at = dict(split_spec or {})
    known = dict(module.named_modules())
    for name in at:
        if name not in known:
            raise ValueError(f"split_spec names {name!r}, and the network has no such submodule")
    given = [*list(_inputs(module))[: len(mb_args)], *(mb_kwargs or ())]
    fixed = {name: default for name, default in _inputs(module).items() if name not in given}
    graph = _Recorder(at).trace(module, concrete_args=fixed or None)
    return Pipe(graph, _cut(module, graph, at))


def _inputs(module: Any) -> dict[str, Any]:
    found = signature(module.forward).parameters.values()
    return {p.name: p.default for p in found if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


def _cut(module: Any, graph: Graph, at: dict[str, SplitPoint]) -> list[GraphModule]:
    stage, stage_of, kept = 0, {}, []
    for node in graph.nodes:
        if node.op == "call_function" and node.target is pipe_split:
            stage += 1
            continue
        place = at.get(node.target) if node.op == "call_module" else None
        stage += place is SplitPoint.BEGINNING
        stage_of[node] = stage
        kept.append(node)
        stage += place is SplitPoint.END
    if stage == 0:
        raise ValueError("nothing is cut: split_spec names no submodule that is called, and forward calls no pipe_split()")  # fmt: skip
    count = stage_of[kept[-1]] + 1  # nothing is behind the last output
    last_use = {node: max((stage_of[u] for u in node.users), default=-1) for node in kept}
    made = []
    for i in range(count):
        piece, new = Graph(), {}
        come = [n for n in kept if n.op != "get_attr" and stage_of[n] < i <= last_use[n]]
        go = [n for n in kept if n.op != "get_attr" and stage_of[n] <= i < last_use[n]]
        for node in come:
            new[node] = piece.placeholder(node.name)

        def known(node: Node, piece: Graph = piece, new: dict = new) -> Node:
            if node not in new:  # a parameter: in every stage that uses it
                new[node] = piece.node_copy(node)
            return new[node]

        for node in kept:
            if stage_of[node] == i and node.op not in ("get_attr", "output"):
                new[node] = piece.node_copy(node, known)
        if i == count - 1:
            piece.node_copy(kept[-1], known)
        else:
            piece.output(tuple(new[n] for n in go) if len(go) > 1 else new[go[0]])
        made.append(GraphModule(module, piece))
    return made
