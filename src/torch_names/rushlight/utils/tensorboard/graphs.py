"""The graph of a network for TensorBoard: its operators as they run, in the modules that call them."""

from __future__ import annotations

from typing import Any

from ...core.modes import no_grad
from ...core.tensor import Tensor
from ...nn.modules._global_hooks import register_module_forward_hook, register_module_forward_pre_hook
from .._python_dispatch import TorchDispatchMode
from .._pytree import tree_leaves
from .events import integer, message


class _Drawer(TorchDispatchMode):
    """Sees a forward pass and writes a node for each operator."""

    def __init__(self, model: Any, inputs: tuple) -> None:
        super().__init__()
        self.nodes: list[bytes] = []
        self.origin: dict[int, str] = {}  # by the memory of a tensor: the node it comes from
        self.kept: list[Any] = []  # so that no memory is used twice
        self.used: dict[str, int] = {}
        self.scopes = [type(model).__name__]
        self.names = {id(model): type(model).__name__}
        for path, module in model.named_modules():
            for name, child in module.named_children():
                self.names[id(child)] = f"{type(child).__name__}[{name}]"
            own = [*module._parameters.items(), *module._buffers.items()]
            for name, t in own:
                if isinstance(t, Tensor):
                    self._leaf(t, f"{self._path(model, path)}/{name}", "prim::GetAttr")
        for i, t in enumerate(tree_leaves(inputs)):
            if isinstance(t, Tensor):
                self._leaf(t, f"input/input{i + 1 if i else ''}", "IO Node")

    def _path(self, model: Any, path: str) -> str:
        parts, module = [type(model).__name__], model
        for name in path.split(".") if path else ():
            module = module._modules[name]
            parts.append(f"{type(module).__name__}[{name}]")
        return "/".join(parts)

    def _leaf(self, t: Tensor, name: str, kind: str) -> None:
        self.kept.append(t)
        self.origin[id(t._a)] = name
        self.nodes.append(_node(name, kind, [], [t]))

    def into(self, module: Any, args: Any) -> None:
        if len(self.scopes) > 1 or (id(module) in self.names and self.names[id(module)] != self.scopes[0]):
            self.scopes.append(self.names.get(id(module), type(module).__name__))
        else:
            self.scopes.append("")

    def out_of(self, module: Any, args: Any, output: Any) -> None:
        self.scopes.pop()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        scope = "/".join([s for s in self.scopes if s])
        base = f"{scope}/{func._overloadpacket.__name__}"
        number = self.used[base] = self.used.get(base, -1) + 1
        name = f"{base}_{number}" if number else base
        given = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
        results = [t for t in tree_leaves(out) if isinstance(t, Tensor)]
        inputs = [self.origin[id(t._a)] for t in given if id(t._a) in self.origin]
        kind = f"{func.namespace}::{func._overloadpacket.__name__}"
        self.nodes.append(_node(name, kind, inputs, results))
        for t in results:
            self.kept.append(t)
            self.origin[id(t._a)] = name
        return out


def _node(name: str, kind: str, inputs: list[str], results: list[Tensor]) -> bytes:
    shapes = b"".join([message(7, _shape(t)) for t in results])
    attr = message(5, message(1, "_output_shapes") + message(2, message(1, shapes)))
    links = b"".join([message(3, source) for source in inputs])
    return message(1, message(1, name) + message(2, kind) + links + attr)


def _shape(t: Tensor) -> bytes:
    return b"".join([message(2, integer(1, n)) for n in t.shape])


def graph(model: Any, inputs: Any) -> bytes:
    """The operators of one forward pass as TensorBoard's description of a graph."""
    args = tuple(inputs) if isinstance(inputs, list | tuple) else (inputs,)
    drawer = _Drawer(model, args)
    handles = [
        register_module_forward_pre_hook(drawer.into),
        register_module_forward_hook(drawer.out_of, always_call=True),
    ]
    try:
        with no_grad(), drawer:
            out = model(*args)
    finally:
        for handle in handles:
            handle.remove()
    for i, t in enumerate(t for t in tree_leaves(out) if isinstance(t, Tensor)):
        source = drawer.origin.get(id(t._a))
        name = f"output/output.{i + 1}"
        drawer.nodes.append(_node(name, "IO Node", [source] if source else [], [t]))
    return b"".join(drawer.nodes) + message(4, integer(1, 22))
