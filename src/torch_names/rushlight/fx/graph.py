"""Graph: a program as a list of nodes, and the Python that says the same."""

from __future__ import annotations

import builtins
import copy
import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .codegen import CodeGen, PythonCode
from .node import Node, _label, map_arg, qualified_name

if TYPE_CHECKING:
    from ..nn.modules.module import Module
    from .graph_module import GraphModule

__all__ = ["CodeGen", "Graph", "PythonCode"]


class _Namespace:
    """Names that were given out, so that each is given once."""

    def __init__(self) -> None:
        self.taken: set[str] = set()
        self.counts: Counter[str] = Counter()

    def create_name(self, candidate: str, obj: object = None) -> str:
        """`candidate` as a name, with a number behind it where it is taken or means something in Python."""
        name = re.sub("[^0-9a-zA-Z_]+", "_", candidate) or "_unnamed"
        if name[0].isdigit():
            name = f"_{name}"
        match = re.fullmatch(r"(.*)_(\d+)", name)
        base = match.group(1) if match else name
        while name in self.taken or self._means_something(name, obj):
            self.counts[base] += 1
            name = f"{base}_{self.counts[base]}"
        self.taken.add(name)
        if match and name == candidate:
            self.counts[base] = max(self.counts[base], int(match.group(2)))
        return name

    def _means_something(self, name: str, obj: object) -> bool:
        if keyword.iskeyword(name) or name in ("inf", "nan", "NoneType", "torch", "device", "fx_pytree", "pytree"):
            return True
        return hasattr(builtins, name) and getattr(builtins, name) is not obj


class _Nodes:
    """The nodes in the order in which they run; may be walked while nodes are added or erased."""

    def __init__(self, graph: Graph, back: bool = False) -> None:
        self.graph, self.back = graph, back

    def __len__(self) -> int:
        return self.graph._len

    def __iter__(self) -> Iterator[Node]:
        node = self.graph._root
        while True:
            node = node._prev if self.back else node._next
            if node is self.graph._root:
                return
            if not node._erased:
                yield node

    def __reversed__(self) -> _Nodes:
        return _Nodes(self.graph, not self.back)


class _Row(NamedTuple):
    opcode: str
    name: str
    target: str
    args: str
    kwargs: str


class _InsertPoint:
    """Where new nodes stand from now on; as a context manager, until its block ends."""

    def __init__(self, graph: Graph, new_insert: Callable[[Node], None]) -> None:
        self.graph = graph
        self.orig_insert, graph._insert = graph._insert, new_insert

    def __enter__(self) -> None:
        pass

    def __exit__(self, *error: object) -> None:
        self.graph._insert = self.orig_insert


class Graph:
    """A program: placeholders, calls, and one output, in an order in which they can run.

    Args:
        owning_module: the module it belongs to.
        tracer_cls, tracer_extras: which tracer made it.

    Example:
        >>> graph = torch.fx.Graph()
        >>> x = graph.placeholder("x")
        >>> _ = graph.output(graph.call_function(torch.relu, (x,)))
        >>> torch.fx.GraphModule({}, graph)(torch.tensor([-1.0, 2.0]))
        tensor([0., 2.])
    """

    def __init__(
        self, owning_module: GraphModule | None = None, tracer_cls: Any = None, tracer_extras: Any = None
    ) -> None:
        self._root = Node(self, "", "root", "", (), {})
        self._len = 0
        self._used = _Namespace()
        self._codegen = CodeGen()
        self._tracer_cls, self._tracer_extras = tracer_cls, tracer_extras
        self.owning_module = owning_module
        self._insert: Callable[[Node], None] = self._root.prepend

    @property
    def nodes(self) -> _Nodes:
        """The nodes in order."""
        return _Nodes(self)

    def output_node(self) -> Node:
        """The node that returns."""
        return next(n for n in reversed(self.nodes) if n.op == "output")

    def find_nodes(self, *, op: str, target: Callable[..., Any] | str | None = None, sort: bool = True) -> list[Node]:
        """The nodes of one kind, and of one target where that is given."""
        return [n for n in self.nodes if n.op == op and (target is None or n.target == target)]

    # -- making nodes ---------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Callable[..., Any] | str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node where nodes are being inserted: at the end, or as `inserting_before` says."""
        label = name if name is not None else self._target_to_str(target)
        node = Node(self, self._used.create_name(label), op, target, args or (), kwargs or {}, type_expr)
        self._insert(node)
        self._len += 1
        return node

    def _target_to_str(self, target: Callable[..., Any] | str) -> str:
        if callable(target):
            label = target.__name__
        else:
            label = target
            if label.startswith("__") and label.endswith("__"):
                label = label[2:-2]
        return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", label).lower()

    def placeholder(self, name: str, type_expr: Any = None, default_value: Any = ...) -> Node:
        """An input."""
        args = () if default_value is ... else (default_value,)
        return self.create_node("placeholder", name, args=args, type_expr=type_expr)

    def get_attr(self, qualified_name: str, type_expr: Any = None) -> Node:
        """A parameter, buffer or other attribute of the module."""
        return self.create_node("get_attr", qualified_name, type_expr=type_expr)

    def call_module(
        self,
        module_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A call of a submodule."""
        if self.owning_module is not None and not _has_module(self.owning_module, module_name):
            import warnings

            warnings.warn(
                f"Attempted to insert a call_module Node with no underlying reference in the owning GraphModule: "
                f"{module_name}",
                stacklevel=2,
            )
        return self.create_node("call_module", module_name, args, kwargs, type_expr=type_expr)

    def call_method(
        self,
        method_name: str,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A method of the first argument."""
        return self.create_node("call_method", method_name, args, kwargs, type_expr=type_expr)

    def call_function(
        self,
        the_function: Callable,
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
        type_expr: Any = None,
        name: str | None = None,
    ) -> Node:
        """A call of a function."""
        return self.create_node("call_function", the_function, args, kwargs, name=name, type_expr=type_expr)

    def output(self, result: Any, type_expr: Any = None) -> Node:
        """What the program returns."""
        return self.create_node("output", "output", (result,), type_expr=type_expr)

    def node_copy(self, node: Node, arg_transform: Callable[[Node], Any] = lambda x: x) -> Node:
        """A copy, here, of a node of any graph; `arg_transform` says what its inputs are here."""
        args, kwargs = map_arg(node.args, arg_transform), map_arg(node.kwargs, arg_transform)
        made = self.create_node(node.op, node.target, args, kwargs, node.name, node.type)
        made.meta = copy.copy(node.meta)
        return made

    def graph_copy(self, g: Graph, val_map: dict[Node, Node], return_output_node: bool = False) -> Any:
        """Copies of another graph's nodes; what it returns, in nodes of this graph."""
        for node in g.nodes:
            if node in val_map:
                continue
            if node.op == "output":
                result = map_arg(node.args[0], val_map.__getitem__)
                return (result, node) if return_output_node else result
            val_map[node] = self.node_copy(node, val_map.__getitem__)
        return None

    # -- changing -------------------------------------------------------------------------------

    def inserting_before(self, n: Node | None = None) -> Any:
        """New nodes stand in front of `n`: from now on, or in a `with` block."""
        if n is None:
            return self.inserting_after(self._root)
        self._check_mine(n)
        return _InsertPoint(self, n.prepend)

    def inserting_after(self, n: Node | None = None) -> Any:
        """New nodes stand directly behind `n`: from now on, or in a `with` block."""
        if n is None:
            return self.inserting_before(self._root)
        self._check_mine(n)
        return _InsertPoint(self, n.append)

    def _check_mine(self, n: Node) -> None:
        if n.graph is not self:
            raise AssertionError("Node to insert before is not in graph.")

    def erase_node(self, to_erase: Node) -> None:
        """Take a node out that nobody uses."""
        if to_erase.users:
            raise RuntimeError(
                f"Tried to erase Node {to_erase} but it still had {len(to_erase.users)} users in the graph: "
                f"{to_erase.users}!"
            )
        if to_erase.graph is not self:
            raise RuntimeError(f"Attempting to remove {to_erase} from wrong graph!")
        if to_erase._erased:
            import warnings

            warnings.warn(f"erase_node({to_erase}) on an already erased node", stacklevel=2)
            return
        to_erase._remove_from_list()
        to_erase._erased = True
        self._len -= 1
        to_erase._update((), {})

    def eliminate_dead_code(self, is_impure_node: Callable[[Node], bool] | None = None) -> bool:
        """Take out nodes that nobody uses; whether there were any."""
        self.lint()
        keep = is_impure_node or Node.is_impure
        changed = False
        for node in reversed(self.nodes):
            if not keep(node) and not node.users:
                self.erase_node(node)
                changed = True
        return changed

    def lint(self) -> None:
        """Raise when the graph is not one that can run."""
        seen: set[Node] = set()
        names: set[str] = set()
        for node in self.nodes:
            if node.graph is not self:
                raise RuntimeError(f"Node '{node}' does not belong to this Graph!")
            for used in node.all_input_nodes:
                if used not in seen:
                    raise RuntimeError(f"Argument '{used}' of Node '{node}' was used before it has been defined!")
            if node.name in names:
                raise RuntimeError(f"Node redefined name {node.name}!")
            if node.op == "call_module" and self.owning_module is not None:
                if not _has_module(self.owning_module, node.target):
                    raise RuntimeError(
                        f"Node {node} target {node.target} references nonexistent attribute "
                        f"{node.target} of {self.owning_module._get_name()}"
                    )
            seen.add(node)
            names.add(node.name)

    # -- in words -------------------------------------------------------------------------------

    def python_code(self, root_module: str, **kwargs: Any) -> PythonCode:
        """The same program in Python, with what its names stand for."""
        return self._codegen.generate(self, root_module)

    def set_codegen(self, codegen: CodeGen) -> None:
        """Let another object write the Python."""
        self._codegen = codegen

    def process_inputs(self, *args: Any) -> Any:
        """What the placeholders get for a call's arguments."""
        return args

    def process_outputs(self, out: Any) -> Any:
        """What a call returns for the output's value."""
        return out

    def print_tabular(self) -> None:
        """Print the nodes as a table."""
        rows = [_Row("opcode", "name", "target", "args", "kwargs")]
        rows += [_Row(n.op, n.name, _label(n.target), str(n.args), str(n.kwargs)) for n in self.nodes]
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        lines = ["  ".join([cell.ljust(w) for cell, w in zip(row, widths)]).rstrip() for row in rows]
        lines.insert(1, "  ".join(["-" * w for w in widths]))
        print("\n".join(lines))

    def __str__(self) -> str:
        placeholders: list[str] = []
        lines = [node.format_node(placeholders) for node in self.nodes]
        return "graph():" + "".join([f"\n    {line}" for line in lines if line])

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Graph:
        g = Graph(tracer_cls=self._tracer_cls)
        mapped: dict[Node, Node] = {}
        result = g.graph_copy(self, mapped, return_output_node=True)
        if result is not None:
            made = g.output(result[0], result[1].type)
            made.meta = copy.copy(result[1].meta)
        g._codegen = copy.deepcopy(self._codegen)
        return g


def _has_module(root: Module, path: str) -> bool:
    try:
        root.get_submodule(path)
    except AttributeError:
        return False
    return True


_get_qualified_name = qualified_name
