"""Interpreter: runs a graph node by node; Transformer: writes another graph while doing so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from .graph import Graph
from .graph_module import GraphModule
from .node import Node, map_aggregate, map_arg
from .proxy import Proxy, TracerBase

if TYPE_CHECKING:
    from ..nn.modules.module import Module

__all__ = ["Interpreter", "Transformer"]


class Interpreter:
    """Runs a GraphModule; subclasses change what a kind of node does.

    Args:
        module: the `GraphModule`.
        garbage_collect_values: free a value after its last use.
        graph: another graph of the module.

    Example:
        >>> class Loud(torch.fx.Interpreter):
        ...     def call_function(self, target, args, kwargs):
        ...         print(target.__name__)
        ...         return super().call_function(target, args, kwargs)
        >>> Loud(torch.fx.symbolic_trace(lambda x: torch.relu(x) + 1)).run(torch.tensor(-2))
        relu
        add
        tensor(1)
    """

    def __init__(self, module: Module, garbage_collect_values: bool = True, graph: Graph | None = None) -> None:
        self.module = module
        self.graph = module.graph if graph is None else graph
        self.submodules = dict(module.named_modules())
        self.env: dict[Node, Any] = {}
        self.name = "Interpreter"
        self.garbage_collect_values = garbage_collect_values
        self.extra_traceback = True
        self._ends: dict[Node, list[Node]] = {}
        if garbage_collect_values:
            last = {used: node for node in self.graph.nodes for used in node.all_input_nodes}
            for used, node in last.items():
                self._ends.setdefault(node, []).append(used)

    def run(self, *args: Any, initial_env: dict[Node, Any] | None = None, enable_io_processing: bool = True) -> Any:
        """The value of the output for these inputs."""
        self.env = {} if initial_env is None else dict(initial_env)
        self.args_iter: Iterator[Any] = iter(args)
        for node in self.graph.nodes:
            if node in self.env:
                continue
            try:
                self.env[node] = self.run_node(node)
            except Exception as e:
                e.add_note(f"While executing {node.format_node()}")
                raise
            for done in self._ends.get(node, ()):
                del self.env[done]
            if node.op == "output":
                return self.env[node]
        return None

    def boxed_run(self, args_list: list) -> Any:
        """As `run`, and the list is emptied, so that inputs may go."""
        args = tuple(args_list)
        args_list.clear()
        return self.run(*args)

    @contextmanager
    def _set_current_node(self, node: Node) -> Iterator[None]:
        yield

    def run_node(self, n: Node) -> Any:
        """The value of one node."""
        args, kwargs = self.fetch_args_kwargs_from_env(n)
        return getattr(self, n.op)(n.target, args, kwargs)

    def placeholder(self, target: str, args: tuple, kwargs: dict) -> Any:
        """The next argument, or its default."""
        if target.startswith("*"):
            return list(self.args_iter)
        try:
            return next(self.args_iter)
        except StopIteration:
            if args:
                return args[0]
            raise RuntimeError(
                f"Expected positional argument for parameter {target}, but one was not passed in!"
            ) from None

    def get_attr(self, target: str, args: tuple, kwargs: dict) -> Any:
        """An attribute of the module."""
        return self.fetch_attr(target)

    def call_function(self, target: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        """Call a function."""
        return target(*args, **kwargs)

    def call_method(self, target: str, args: tuple, kwargs: dict) -> Any:
        """Call a method of the first argument."""
        return getattr(args[0], target)(*args[1:], **kwargs)

    def call_module(self, target: str, args: tuple, kwargs: dict) -> Any:
        """Call a submodule."""
        return self.fetch_attr(target)(*args, **kwargs)

    def output(self, target: str, args: tuple, kwargs: dict) -> Any:
        """The result."""
        return args[0]

    def fetch_attr(self, target: str) -> Any:
        """An attribute of the module, by its path."""
        value = self.module
        for i, part in enumerate(target.split(".")):
            if not hasattr(value, part):
                path = ".".join(target.split(".")[: i + 1])
                raise RuntimeError(f"Node referenced nonexistent target {path}")
            value = getattr(value, part)
        return value

    def fetch_args_kwargs_from_env(self, n: Node) -> tuple[tuple, dict]:
        """The values of a node's arguments."""
        return self.map_nodes_to_values(n.args, n), self.map_nodes_to_values(n.kwargs, n)

    def map_nodes_to_values(self, args: Any, n: Node) -> Any:
        """Arguments with the values of nodes in place of the nodes."""
        return _mutable(map_arg(args, self.env.__getitem__))


def _mutable(a: Any) -> Any:
    """Ordinary lists and dicts: functions may look for exactly these."""
    if isinstance(a, tuple) and not hasattr(a, "_fields"):
        return tuple([_mutable(x) for x in a])
    if isinstance(a, list):
        return [_mutable(x) for x in a]
    if isinstance(a, dict):
        return {k: _mutable(v) for k, v in a.items()}
    return a


class Transformer(Interpreter):
    """Runs a graph on stand-ins, so that what its methods do becomes a new graph.

    Args:
        module: the `GraphModule`.

    Example:
        >>> class Smooth(torch.fx.Transformer):
        ...     def call_function(self, target, args, kwargs):
        ...         return super().call_function(torch.tanh if target is torch.relu else target, args, kwargs)
        >>> net = Smooth(torch.fx.symbolic_trace(lambda x: torch.relu(x))).transform()
        >>> net(torch.tensor(-1.0))
        tensor(-0.7616)
    """

    def __init__(self, module: GraphModule) -> None:
        super().__init__(module)
        self.new_graph = Graph()
        outer = self

        class TransformerTracer(TracerBase):
            def __init__(self, graph: Graph) -> None:
                self.graph = graph
                self.tensor_attrs: dict[Any, str] = {}

            def is_leaf_module(self, _: Module, __: str) -> bool:
                return True

            def create_arg(self, a: Any) -> Any:
                found = next((n for n, t in outer.module.named_parameters() if t is a), None)
                found = found or next((n for n, t in outer.module.named_buffers() if t is a), None)
                return self.create_node("get_attr", found, (), {}) if found else super().create_arg(a)

        self.tracer: TracerBase = TransformerTracer(self.new_graph)

    def placeholder(self, target: str, args: tuple, kwargs: dict) -> Any:
        default = args[0] if args else ...
        return Proxy(self.new_graph.placeholder(target, default_value=default), self.tracer)

    def get_attr(self, target: str, args: tuple, kwargs: dict) -> Any:
        return self.tracer.create_proxy("get_attr", target, args, kwargs)

    def call_module(self, target: str, args: tuple, kwargs: dict) -> Any:
        return self.tracer.create_proxy("call_module", target, args, kwargs)

    def call_function(self, target: Callable[..., Any], args: tuple, kwargs: dict) -> Any:
        return self.tracer.create_proxy("call_function", target, args, kwargs)

    def transform(self) -> GraphModule:
        """The module of the new graph."""
        result = self.run()
        if result is not None:
            self.new_graph.output(map_aggregate(result, lambda a: a.node if isinstance(a, Proxy) else a))
        return GraphModule(self.module, self.new_graph, self.module._get_name())
