"""GraphModule: a module whose `forward` is written from a graph."""

from __future__ import annotations

import copy
import linecache
from itertools import count
from os import PathLike
from pathlib import Path
from typing import Any, SupportsIndex

from ..core.tensor import Tensor
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from .graph import Graph
from .node import Node

__all__ = ["GraphModule", "reduce_graph_module"]

_numbers = count()


def _forward_of(code: Any) -> Any:
    """The function that a text defines; tracebacks show its lines."""
    file = f"<rushlight fx {next(_numbers)}>"
    linecache.cache[file] = (len(code.src), None, code.src.splitlines(keepends=True), file)
    space = dict(code.globals)
    exec(compile(code.src, file, "exec"), space)  # the text was written by codegen.py from a graph
    return space["forward"]


def _copy_attr(from_module: Module, to_module: Module, target: str) -> None:
    """Let `to_module.<target>` be `from_module.<target>`, with empty modules on the way where there are none."""
    source, owner, last = from_module, to_module, target.rpartition(".")[2]
    for name in target.split(".")[:-1]:
        source = getattr(source, name)
        owner = _at(owner, name)
    value = getattr(source, last)
    if hasattr(owner, last) and not (last in owner._modules and isinstance(value, Module)):
        return
    kept = last not in source._buffers or last not in source._non_persistent_buffers_set
    _put(owner, last, value, persistent=kept)


def _assign_attr(from_obj: Any, to_module: Module, target: str) -> None:
    """Let `to_module.<target>` be a value, with empty modules on the way where there are none."""
    *parents, last = target.split(".")
    owner = to_module
    for name in parents:
        owner = _at(owner, name)
    _put(owner, last, from_obj)


def _at(owner: Module, name: str) -> Module:
    if name not in owner._modules:
        setattr(owner, name, Module())
    return getattr(owner, name)


def _put(owner: Module, name: str, value: Any, persistent: bool = True) -> None:
    if isinstance(value, Tensor) and not isinstance(value, Parameter):
        owner.register_buffer(name, value, persistent=persistent)
    else:
        setattr(owner, name, value)


class _CodeOnlyModule(Module):
    """A module that has the attributes of another and nothing else: what pickled graphs are put into."""

    def __init__(self, body: dict[str, Any]) -> None:
        super().__init__()
        self.__dict__ = body


class GraphModule(Module):
    """A module made of a graph and of what the graph's nodes name of `root` (a module or a dict).

    Args:
        root: where the parameters and submodules come from.
        graph: the program.
        class_name: how the module is called when it is printed.

    Raises:
        RuntimeError: if the graph names something that `root` does not have.

    Example:
        >>> net = torch.fx.symbolic_trace(nn.Sequential(nn.ReLU()))
        >>> print(net.code.strip())
        def forward(self, input):
            input_1 = input
            _0 = getattr(self, "0")(input_1);  input_1 = None
            return _0
    """

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        # `forward` belongs to a class: each object has one of its own. Its code is the user's, which `compile` reads: not of this package.
        base = next(c for c in cls.__mro__ if not c.__dict__.get("_is_generated"))
        made = {"__module__": "generated_by_fx", "_is_generated": True}
        own = type("GraphModuleImpl", (base,), made)
        return object.__new__(own)

    def __init__(self, root: Module | dict[str, Any], graph: Graph, class_name: str = "GraphModule") -> None:
        super().__init__()
        type(self).__name__ = class_name
        if isinstance(root, Module):
            self.training = root.training
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module"):
                    _copy_attr(root, self, node.target)
        elif isinstance(root, dict):
            named = {n.target for n in graph.nodes if n.op in ("get_attr", "call_module")}
            missing = named - set(root)
            if missing:
                raise RuntimeError(f"Node refers to target {sorted(missing)[0]} but it was not provided in ``root``!")
            for target in sorted(named, key=lambda t: t.count(".")):
                _assign_attr(root[target], self, target)
        else:
            raise RuntimeError(f"Unsupported type {root} passed for root!")
        made_by = graph._tracer_cls  # a class inside of a function cannot be pickled
        self._tracer_cls = None if "<locals>" in getattr(made_by, "__qualname__", "") else made_by
        self.meta: dict[str, Any] = {}
        self.graph = graph

    @property
    def graph(self) -> Graph:
        return self._graph

    @graph.setter
    def graph(self, g: Graph) -> None:
        if not isinstance(g, Graph):
            raise AssertionError(f"Expected a Graph instance, but got {type(g)}")
        object.__setattr__(self, "_graph", copy.deepcopy(g) if g.owning_module not in (None, self) else g)
        self._graph.owning_module = self
        self.recompile()

    def recompile(self) -> Any:
        """Write `forward` anew, after the graph was changed."""
        code = self._graph.python_code(root_module="self")
        self._code = code.src
        type(self).forward = _forward_of(code)
        return code

    @property
    def code(self) -> str:
        """The Python that runs."""
        return self._code

    def __str__(self) -> str:
        shown = super().__str__()
        return "\n".join([shown, self._code, "# To see more debug info, please use `graph_module.print_readable()`"])

    def print_readable(self, print_output: bool = True, **kwargs: Any) -> str:
        """The code of this module, as a class."""
        text = f"class {self._get_name()}(torch.nn.Module):" + self._code.replace("\n", "\n    ").rstrip() + "\n"
        if print_output:
            print(text)
        return text

    def to_folder(self, folder: str | PathLike[str], module_name: str = "FxModule") -> None:
        """Write the code and the parameters into a folder."""
        from ..io import save

        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        save(self.state_dict(), place / "state_dict.pt")
        (place / "module.py").write_text(f"import torch\n\n\nclass {module_name}(torch.nn.Module):"
                                         + self._code.replace("\n", "\n    ").rstrip() + "\n")  # fmt: skip

    # -- parts ----------------------------------------------------------------------------------

    def add_submodule(self, target: str, m: Module) -> bool:
        """Put a module at a path; False when something else is in the way."""
        *parents, last = target.split(".")
        owner: Any = self
        for name in parents:
            if not hasattr(owner, name):
                setattr(owner, name, Module())
            owner = getattr(owner, name)
            if not isinstance(owner, Module):
                return False
        owner.add_module(last, m)
        return True

    def delete_submodule(self, target: str) -> bool:
        """Take a module out; False when there is none."""
        *parents, last = target.split(".")
        owner: Any = self
        for name in parents:
            owner = getattr(owner, name, None)
        if not isinstance(getattr(owner, last, None), Module):
            return False
        delattr(owner, last)
        return True

    def delete_all_unused_submodules(self) -> None:
        """Take the modules out that no node names."""
        used: set[str] = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update([".".join(parts[: i + 1]) for i in range(len(parts))])
                if node.op == "call_module":
                    inside = self.get_submodule(node.target).named_modules()
                    used.update([f"{node.target}.{name}" for name, _ in inside if name])
        for name in [n for n, _ in self.named_modules() if n and n not in used]:
            self.delete_submodule(name)

    # -- copies ---------------------------------------------------------------------------------

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        Module.__init__(made)
        type(made).__name__ = type(self).__name__
        left_out = ("_graph",)
        for name, value in self.__dict__.items():
            if name not in left_out:
                made.__dict__[name] = copy.deepcopy(value, memo)
        made.graph = copy.deepcopy(self._graph)
        return made

    def __copy__(self) -> GraphModule:
        return GraphModule(self, copy.deepcopy(self.graph), type(self).__name__)

    def __reduce__(self) -> Any:
        state = {k: v for k, v in self.__dict__.items() if k != "_graph"}
        nodes = [_packed(node) for node in self.graph.nodes]
        return (reduce_graph_module, (type(self).__name__, state, nodes))

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        return self.__reduce__()


class _Ref:
    """A node, by its number, in a pickled graph."""

    def __init__(self, number: int) -> None:
        self.number = number


def _packed(node: Node) -> tuple:
    from .node import map_arg

    numbers = {n: i for i, n in enumerate(node.graph.nodes)}
    swap = lambda n: _Ref(numbers[n])  # noqa: E731
    args, kwargs = map_arg(node.args, swap), map_arg(node.kwargs, swap)
    return node.op, node.target, args, kwargs, node.name


def reduce_graph_module(name: str, state: dict, nodes: list[tuple]) -> GraphModule:
    """What a pickled GraphModule calls to come back."""
    from .node import map_aggregate

    graph = Graph()
    made: list[Node] = []
    back = lambda a: made[a.number] if isinstance(a, _Ref) else a  # noqa: E731
    for op, target, args, kwargs, label in nodes:
        made.append(graph.create_node(op, target, map_aggregate(args, back), map_aggregate(kwargs, back), label))
    module = GraphModule.__new__(GraphModule)
    Module.__init__(module)
    module.__dict__.update(state)
    type(module).__name__ = name
    module.graph = graph
    return module
