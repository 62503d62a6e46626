"""The outputs of layers inside a model, found by tracing it: `create_feature_extractor`."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

from ...fx import Graph, GraphModule, Node, Tracer
from ...fx.graph_module import _copy_attr
from ...nn import Module
from .. import ops

__all__ = ["create_feature_extractor", "get_graph_node_names"]


def _blocks() -> list[type]:
    """The layers of `ops`: each is one node."""
    return [v for v in vars(ops).values() if isinstance(v, type) and issubclass(v, Module)]


class LeafModuleAwareTracer(Tracer):
    """A tracer for which modules of certain classes are one node each.

    Args:
        leaf_modules: those classes, beside the layers of `nn`.

    Example:
        >>> from rushlight.vision.models.feature_extraction import LeafModuleAwareTracer
        >>> LeafModuleAwareTracer(leaf_modules=[nn.Sequential]).is_leaf_module(nn.Sequential(), "")
        True
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.leaf_modules = tuple(kwargs.pop("leaf_modules", ()))
        super().__init__(*args, **kwargs)

    def is_leaf_module(self, m: Module, module_qualname: str) -> bool:
        """Whether a call of the module is one node."""
        return isinstance(m, self.leaf_modules) or super().is_leaf_module(m, module_qualname)


class NodePathTracer(LeafModuleAwareTracer):
    """A tracer that knows for each node in which module it was made: `node_to_qualname`.

    Example:
        >>> from rushlight.vision.models.feature_extraction import NodePathTracer
        >>> tracer = NodePathTracer()
        >>> graph = tracer.trace(nn.Sequential(nn.ReLU(), nn.ReLU()))
        >>> list(tracer.node_to_qualname.values())
        ['input', '0', '1']
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.current_module_qualname = ""
        self.node_to_qualname: dict[Node, str] = {}
        self._used: dict[str, int] = {}

    def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict) -> Any:
        before = self.current_module_qualname
        try:
            self.current_module_qualname = self.path_of_module(m)
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.current_module_qualname = before

    def create_proxy(self, kind: str, target: Any, args: Any, kwargs: Any, *rest: Any, **more: Any) -> Any:
        proxy = super().create_proxy(kind, target, args, kwargs, *rest, **more)
        self.node_to_qualname[proxy.node] = self._path_of(proxy.node)
        return proxy

    def _path_of(self, node: Node) -> str:
        """The module's path and, unless the node is that module, its name; repeated ones are numbered."""
        path = self.current_module_qualname
        if node.op != "call_module":
            name = re.sub(r"_[0-9]+$", "", str(node))  # the graph numbers names of all modules together
            path = f"{path}.{name}" if path else name
        seen = self._used.get(path)
        self._used[path] = 0 if seen is None else seen + 1
        return path if seen is None else f"{path}_{seen + 1}"


def _traced(
    model: Module, mode: bool, options: dict[str, Any], concrete_args: dict[str, Any] | None
) -> tuple[NodePathTracer, Graph]:
    was = model.training
    modules = [(m, m.training) for m in model.modules()]
    try:
        model.train(mode)
        tracer = NodePathTracer(**options)
        return tracer, tracer.trace(model, concrete_args=concrete_args)
    finally:
        model.training = was
        for m, training in modules:
            m.training = training


def _options(tracer_kwargs: dict[str, Any] | None) -> dict[str, Any]:
    options = dict(tracer_kwargs or {})
    options["leaf_modules"] = [*_blocks(), *options.get("leaf_modules", ())]
    return options


def _names(tracer: NodePathTracer, graph: Graph) -> list[str]:
    return [tracer.node_to_qualname[n] for n in graph.nodes if n.op != "output"]


def _warn_difference(train: list[str], test: list[str]) -> None:
    if train != test:
        warnings.warn(
            "NOTE: The nodes obtained by tracing the model in eval mode are different from those in train mode. When "
            "choosing nodes for feature extraction, you may need to specify output nodes for train and eval mode "
            "separately.",
            stacklevel=3,
        )


def get_graph_node_names(
    model: Module,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> tuple[list[str], list[str]]:
    """The names of the places in a model that `create_feature_extractor` can return.

    Args:
        model: the model; it is traced, not changed.
        tracer_kwargs: arguments of the tracer, such as `leaf_modules`.
        suppress_diff_warning: do not warn if the names differ between training and evaluation.
        concrete_args: values of arguments that are no tensors.

    Returns:
        The names in training and in evaluation, in the order in which they run.

    Example:
        >>> from rushlight.vision.models.feature_extraction import get_graph_node_names
        >>> train, test = get_graph_node_names(nn.Sequential(nn.Linear(2, 3), nn.ReLU()))
        >>> train
        ['input', '0', '1']
    """
    options = _options(tracer_kwargs)
    train = _names(*_traced(model, True, options, concrete_args))
    test = _names(*_traced(model, False, options, concrete_args))
    if not suppress_diff_warning:
        _warn_difference(train, test)
    return train, test


class DualGraphModule(GraphModule):
    """A module with a graph for training and one for evaluation.

    Args:
        root: where parameters and submodules come from.
        train_graph: runs after `train()`.
        eval_graph: runs after `eval()`.
        class_name: how it is called when printed.

    Example:
        >>> from rushlight.vision.models.feature_extraction import create_feature_extractor
        >>> net = create_feature_extractor(nn.Sequential(nn.ReLU()), ["0"])
        >>> net.graph is net.train_graph, net.eval().graph is net.eval_graph
        (True, True)
    """

    def __init__(self, root: Module, train_graph: Graph, eval_graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__(root, train_graph if root.training else eval_graph, class_name)
        for node in (*train_graph.nodes, *eval_graph.nodes):
            if node.op in ("get_attr", "call_module"):
                _copy_attr(root, self, node.target)
        self.train_graph, self.eval_graph = train_graph, eval_graph
        self.graph = train_graph if root.training else eval_graph

    def train(self, mode: bool = True) -> Any:
        """Take the graph of a mode, and set the mode of the layers."""
        self.graph = self.train_graph if mode else self.eval_graph
        return super().train(mode)


def _wanted(nodes: list[str] | dict[str, str]) -> dict[str, str]:
    if isinstance(nodes, (list, tuple)):
        return {str(n): str(n) for n in nodes}
    return {str(k): str(v) for k, v in nodes.items()}


def _cut(tracer: NodePathTracer, graph: Graph, wanted: dict[str, str], mode: str) -> Graph:
    """Let the graph return these nodes, and leave out what they do not need."""
    names = tracer.node_to_qualname
    known = [names[n] for n in graph.nodes if n.op != "output"]
    for query in wanted:
        if not any(re.match(rf"^{re.escape(query)}(\.|$)", name) for name in known):
            raise ValueError(
                f"node: '{query}' is not present in model. Hint: use `get_graph_node_names` to make sure the "
                f"`return_nodes` you specified are present. It may even be that you need to specify "
                f"`{mode}_return_nodes` separately."
            )
    left = dict(wanted)
    found: list[tuple[str, Node]] = []
    output = graph.output_node()
    for node in reversed(graph.nodes):
        if node.op == "output":
            continue
        parts = names[node].split(".")
        for query in left:
            # The name of a module stands for the last node in it.
            if ".".join(parts[: query.count(".") + 1]) == query:
                if node.op == "placeholder":
                    raise ValueError("input nodes cannot be returned: " + query)
                found.append((left.pop(query), node))
                break
    graph.erase_node(output)
    graph.output(dict(reversed(found)))
    graph.eliminate_dead_code()
    return graph


def create_feature_extractor(
    model: Module,
    return_nodes: Any = None,
    train_return_nodes: Any = None,
    eval_return_nodes: Any = None,
    tracer_kwargs: dict[str, Any] | None = None,
    suppress_diff_warning: bool = False,
    concrete_args: dict[str, Any] | None = None,
) -> DualGraphModule:
    """A model that returns the outputs of chosen layers of another, by name.

    The layers are shared with `model`; those that no chosen layer needs are left out.

    Args:
        model: the model; it must be one that `fx` can trace.
        return_nodes: names from `get_graph_node_names`, or {name: what it is called in the result}; the name
            of a module means its last output.
        train_return_nodes: the same, for training only; with `eval_return_nodes` instead of `return_nodes`.
        eval_return_nodes: the same, for evaluation only.
        tracer_kwargs: arguments of the tracer, such as `leaf_modules`.
        suppress_diff_warning: do not warn if the names differ between training and evaluation.
        concrete_args: values of arguments that are no tensors.

    Raises:
        ValueError: if a name is not in the model, or names are given for one mode only.

    Example:
        >>> from rushlight.vision.models.feature_extraction import create_feature_extractor
        >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 4))
        >>> features = create_feature_extractor(model, {"1": "hidden"})
        >>> {k: v.shape for k, v in features(torch.zeros(5, 2)).items()}
        {'hidden': torch.Size([5, 3])}
    """
    if all(nodes is None for nodes in (return_nodes, train_return_nodes, eval_return_nodes)):
        raise ValueError(
            "Either `return_nodes` or `train_return_nodes` and `eval_return_nodes` together, should be specified"
        )
    if (train_return_nodes is None) != (eval_return_nodes is None):
        raise ValueError(
            "If any of `train_return_nodes` and `eval_return_nodes` are specified, then both should be specified"
        )
    if (return_nodes is None) == (train_return_nodes is None):
        raise ValueError("If `train_return_nodes` and `eval_return_nodes` are specified, then both should be specified")
    options = _options(tracer_kwargs)
    traced = {mode: _traced(model, mode == "train", options, concrete_args) for mode in ("train", "eval")}
    if return_nodes is not None and not suppress_diff_warning:
        _warn_difference(_names(*traced["train"]), _names(*traced["eval"]))
    chosen = {
        "train": _wanted(return_nodes if return_nodes is not None else train_return_nodes),
        "eval": _wanted(return_nodes if return_nodes is not None else eval_return_nodes),
    }
    graphs = {mode: _cut(*traced[mode], chosen[mode], mode) for mode in traced}
    made = DualGraphModule(model, graphs["train"], graphs["eval"], type(model).__name__)
    return made.train(model.training)
