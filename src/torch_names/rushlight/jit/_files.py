"""Traced programs in files: the graph as JSON that names public functions only, and the tensors beside it.

A file can name nothing but rushlight's public functions, so that loading one runs no code of the file's.
"""

from __future__ import annotations

import builtins
import json
import operator
from typing import Any

from ..base.device import device
from ..base.dtypes import by_name, dtype
from ..base.formats import by_name as format_by_name
from ..base.formats import layout, layout_by_name, memory_format
from ..base.shapes import Size
from ..core.public import NAMESPACES
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..nn.modules.module import Module
from ..operators.late import load_all
from ..overrides import resolve_name

FORMAT = "rushlight traced program 1"
# Operators are what scripted Python writes; none of them runs code but on the values of the program itself.
_OPERATORS = ("add", "and_", "eq", "floordiv", "ge", "getitem", "gt", "invert", "le", "lt", "matmul", "mod", "mul", "ne", "neg", "or_",
              "pos", "pow", "sub", "truediv", "xor")  # fmt: skip
_OTHERS = {"builtins.getattr": getattr, **{f"operator.{name}": getattr(operator, name) for name in _OPERATORS}}
_PLACES = {"torch": "torch", "torch.nn.functional": "functional", "torch.linalg": "linalg", "torch.fft": "fft",
           "torch.special": "special"}  # fmt: skip
# Attributes of tensors that a graph may read.
_ATTRIBUTES = frozenset(("T", "mT", "H", "mH", "real", "imag", "data"))


def packed(module: GraphModule) -> dict[str, Any]:
    """What is saved of a traced module."""
    numbers = {node: i for i, node in enumerate(module.graph.nodes)}
    nodes = [
        [n.op, _target_name(n), _packed(n.args, numbers), _packed(n.kwargs, numbers), n.name]
        for n in module.graph.nodes
    ]
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    return {
        "format": FORMAT,
        "name": getattr(module, "original_name", type(module).__name__),
        "training": module.training,
        "nodes": json.dumps(nodes),
        "parameters": [name for name, _ in module.named_parameters()],
        "tensors": {name: t.detach() for name, t in tensors.items()},
    }


def unpacked(data: Any) -> GraphModule:
    """The module that was saved."""
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise RuntimeError("this file holds no traced program of rushlight's: jit.load reads what jit.save wrote")
    load_all()
    graph = Graph()
    made: list[Node] = []
    for op, target, args, kwargs, name in json.loads(data["nodes"]):
        called = _target(op, target)
        values = _unpacked(args, made)
        if called is getattr and values[1] not in _ATTRIBUTES:
            raise RuntimeError(f"a traced program may not read the attribute {values[1]!r}")
        made.append(graph.create_node(op, called, values, _unpacked(kwargs, made), name))
    root = Module()
    for name, tensor in data["tensors"].items():
        _put(root, name, tensor, name in data["parameters"])
    module = GraphModule(root, graph, data["name"])
    return module.train(data["training"])


def _put(root: Module, path: str, tensor: Any, is_parameter: bool) -> None:
    from ..nn.parameter import Parameter

    *parents, last = path.split(".")
    for step in parents:
        if step not in root._modules:
            root.add_module(step, Module())
        root = root._modules[step]  # type: ignore[assignment]
    if is_parameter:
        root.register_parameter(last, Parameter(tensor, tensor.is_floating_point() or tensor.is_complex()))
    else:
        root.register_buffer(last, tensor)


def _target_name(node: Node) -> str:
    if node.op != "call_function":
        return node.target
    for name, fn in _OTHERS.items():
        if fn is node.target:
            return name
    found = resolve_name(node.target) or ""
    if _find(found) is not node.target:
        raise RuntimeError(f"jit.save: {node.target} is no public function, so a file cannot name it")
    return found


def _find(name: str) -> Any:
    place, _, last = name.rpartition(".")
    return NAMESPACES[_PLACES[place]].get(last) if place in _PLACES else None


def _target(op: str, name: str) -> Any:
    methods = NAMESPACES["Tensor"].keys() | {"size", "numel"}
    if op == "call_method" and (name not in methods or name.startswith("__reduce")):
        raise RuntimeError(f"a traced program may not call the method {name!r}")
    if op != "call_function":
        return name
    found = _OTHERS.get(name) or _find(name)
    if found is None or not builtins.callable(found):
        raise RuntimeError(f"a traced program names {name!r}, which is no public function")
    return found


def _packed(a: Any, numbers: dict[Node, int]) -> Any:
    if isinstance(a, Node):
        return {"node": numbers[a]}
    if a is None or isinstance(a, (bool, int, float, str)):
        return a
    for kind, label, show in _KINDS:
        if isinstance(a, kind):
            return {label: show(a)}
    if isinstance(a, (tuple, Size)):
        return {"tuple": [_packed(x, numbers) for x in a]}
    if isinstance(a, list):
        return {"list": [_packed(x, numbers) for x in a]}
    if isinstance(a, dict):
        return {"dict": [[_packed(k, numbers), _packed(v, numbers)] for k, v in a.items()]}
    if isinstance(a, slice):
        return {"slice": [_packed(x, numbers) for x in (a.start, a.stop, a.step)]}
    raise RuntimeError(f"jit.save: a {type(a).__name__} among the arguments of a step cannot be written to a file")


_KINDS: tuple[tuple[Any, str, Any], ...] = (
    (dtype, "dtype", lambda d: d.name),
    (device, "device", str),
    (memory_format, "memory_format", lambda f: f.name),
    (layout, "layout", lambda f: f.name),
    (complex, "complex", lambda c: [c.real, c.imag]),
    (type(...), "ellipsis", lambda e: True),
)
_BACK: dict[str, Any] = {
    "dtype": by_name,
    "device": device,
    "memory_format": format_by_name,
    "layout": layout_by_name,
    "complex": lambda c: complex(*c),
    "ellipsis": lambda e: ...,
}


def _unpacked(a: Any, made: list[Node]) -> Any:
    if not isinstance(a, dict):
        return a
    ((label, value),) = a.items()
    if label == "node":
        return made[value]
    if label in _BACK:
        return _BACK[label](value)
    if label == "dict":
        return {_unpacked(k, made): _unpacked(v, made) for k, v in value}
    parts = [_unpacked(x, made) for x in value]
    if label == "slice":
        return slice(*parts)
    return tuple(parts) if label == "tuple" else parts
