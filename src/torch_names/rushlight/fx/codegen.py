"""The Python text of a graph: one line a node, names let go after their last use."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..base.device import device
from ..base.dtypes import dtype
from ..base.formats import layout, memory_format
from ..base.shapes import Size
from .node import Node, qualified_name

if TYPE_CHECKING:
    from .graph import Graph

ROOT = __name__.partition(".")[0]

MAGIC = {
    "eq": "{} == {}", "ne": "{} != {}", "lt": "{} < {}", "gt": "{} > {}", "le": "{} <= {}", "ge": "{} >= {}",
    "pos": "+{}", "neg": "-{}", "invert": "~{}", "add": "{} + {}", "sub": "{} - {}", "mul": "{} * {}",
    "floordiv": "{} // {}", "truediv": "{} / {}", "mod": "{} % {}", "pow": "{} ** {}", "lshift": "{} << {}",
    "rshift": "{} >> {}", "and_": "{} & {}", "or_": "{} | {}", "xor": "{} ^ {}", "getitem": "{}[{}]",
    "matmul": "{} @ {}",
}  # fmt: skip
ONE_SIDED = ("eq", "ne", "lt", "gt", "le", "ge", "pos", "neg", "invert")
ASSIGNING = {
    "iadd": "{} += {}", "iand": "{} &= {}", "ifloordiv": "{} //= {}", "ilshift": "{} <<= {}", "imod": "{} %= {}",
    "imul": "{} *= {}", "imatmul": "{} @= {}", "ior": "{} |= {}", "ipow": "{} **= {}", "irshift": "{} >>= {}",
    "isub": "{} -= {}", "itruediv": "{} /= {}", "ixor": "{} ^= {}", "setitem": "{}[{}] = {}",
}  # fmt: skip


@dataclass
class PythonCode:
    """A program's text and what its global names stand for."""

    src: str
    globals: dict[str, Any]


class CodeGen:
    """Writes a graph's `forward` as Python.

    Example:
        >>> graph = torch.fx.symbolic_trace(lambda x: x + 1).graph
        >>> print(torch.fx.CodeGen().generate(graph, "self").src.strip())
        def forward(self, x):
            add = x + 1;  x = None
            return add
    """

    def generate(self, graph: Graph, root: str) -> PythonCode:
        """The text of a graph whose module is called `root`."""
        return _Writer(graph, root).write()


class _Writer:
    def __init__(self, graph: Graph, root: str) -> None:
        self.graph, self.root = graph, root
        self.globals: dict[str, Any] = {"torch": importlib.import_module(ROOT), "inf": math.inf, "nan": math.nan,
                                        "NoneType": type(None), "device": device}  # fmt: skip
        self.inputs: list[str] = []
        self.lines: list[str] = []
        last = {used: node for node in graph.nodes for used in node.all_input_nodes}
        self.ends: dict[Node, list[Node]] = {}
        for used, node in last.items():
            self.ends.setdefault(node, []).append(used)

    def write(self) -> PythonCode:
        for node in self.graph.nodes:
            self._line(node)
        body = "\n".join([f"    {line}" for line in self.lines]) or "    pass"
        given = ", ".join(["self", *self.inputs] if self.root else self.inputs)
        return PythonCode(f"\n\n\ndef forward({given}):\n{body}\n    ", self.globals)

    def _line(self, node: Node) -> None:
        if node.op == "placeholder":
            default = f" = {self.value(node.args[0])}" if node.args else ""
            self.inputs.append(f"{node.target}{default}")
            bare = node.target.replace("*", "")
            if bare != node.name:
                self.lines.append(f"{node.name} = {bare}")
        elif node.op == "output":
            self.lines.append(f"return {self.value(node.args[0])}")
        else:
            text = self._call(node)
            assigned = text if node.op == "call_function" and node.target.__name__ in ASSIGNING and (
                node.target.__module__ == "_operator") else f"{node.name} = {text}"  # fmt: skip
            self.lines.append(assigned + self._let_go(node, assigned is text))

    def _let_go(self, node: Node, assigned: bool) -> str:
        ends = self.ends.get(node, ())
        done = [n.name for n in node.all_input_nodes if n in ends]
        if not node.users and not assigned:
            done.append(node.name)
        return f";  {' = '.join(done)} = None" if done else ""

    def _call(self, node: Node) -> str:
        if node.op == "get_attr":
            return _attribute(self.root, node.target)
        args = self.arguments(node.args, node.kwargs)
        if node.op == "call_module":
            return f"{_attribute(self.root, node.target)}({args})"
        if node.op == "call_method":
            return f"{self.value(node.args[0])}.{node.target}({self.arguments(node.args[1:], node.kwargs)})"
        name = node.target.__name__
        if node.target.__module__ == "_operator" and name in (MAGIC | ASSIGNING) and not node.kwargs:
            text = (MAGIC | ASSIGNING)[name].format(*map(self.value, node.args))
            return f"{text};  {node.name} = {self.value(node.args[0])}" if name in ASSIGNING and name != "setitem" else (
                f"{text};  {node.name} = None" if name == "setitem" else text)  # fmt: skip
        if (
            node.target is getattr
            and isinstance(node.args[1], str)
            and node.args[1].isidentifier()
            and len(node.args) == 2
        ):
            return f"{self.value(node.args[0])}.{node.args[1]}"
        return f"{self.name_of(node.target)}({args})"

    def name_of(self, fn: Any) -> str:
        """The name of a function in the text; what is not the library's gets a global of its own."""
        name = qualified_name(fn)
        if name.startswith("torch.") and _find(name) is fn:
            return name
        if "." not in name and name in vars(importlib.import_module("builtins")):
            return name
        hint = name.replace(".", "_").replace("<", "_").replace(">", "_")
        free = hint
        count = 0
        while self.globals.get(free, fn) is not fn:
            count += 1
            free = f"{hint}_{count}"
        self.globals[free] = fn
        return free

    def arguments(self, args: tuple, kwargs: dict) -> str:
        shown = [self.value(a) for a in args]
        shown += [f"{k} = {self.value(v)}" for k, v in kwargs.items()]
        return ", ".join(shown)

    def value(self, a: Any) -> str:
        """An argument as Python writes it."""
        if isinstance(a, Node):
            return a.name
        if isinstance(a, Size):
            return f"torch.Size({list(a)})"
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return f"{self.name_of(type(a))}({', '.join(map(self.value, a))})"
        if isinstance(a, tuple):
            return "(" + ", ".join(map(self.value, a)) + ("," if len(a) == 1 else "") + ")"
        if isinstance(a, list):
            return "[" + ", ".join(map(self.value, a)) + "]"
        if isinstance(a, dict):
            return "{" + ", ".join([f"{k!r}: {self.value(v)}" for k, v in a.items()]) + "}"
        if isinstance(a, slice):
            return f"slice({', '.join([self.value(x) for x in (a.start, a.stop, a.step)])})"
        if isinstance(a, (dtype, layout, memory_format)):
            return f"torch.{a.name}"
        if isinstance(a, device):
            return repr(a)
        if callable(a) and not isinstance(a, type(...)):
            return self.name_of(a)
        return repr(a)


def _attribute(root: str, path: str) -> str:
    text = root
    for part in path.split("."):
        text = f"{text}.{part}" if part.isidentifier() else f'getattr({text}, "{part}")'
    return text


def _find(name: str) -> Any:
    """What a dotted name of the library stands for."""
    owner: Any = importlib.import_module(ROOT)
    for part in name.split(".")[1:]:
        owner = getattr(owner, part, None)
    return owner
