"""`jit.trace`: a run of a function or module, written down as a graph of public functions.

A mode sees every public function while the example runs. Tensors it knows are steps of the graph, parameters and buffers are
attributes, others are constants; sizes are tensors, so that a program asks its input for them; what Python computed from values
is what it was, all as in PyTorch. The result is run on other inputs and compared, so that a step the mode did not see is told
and not hidden in a constant.
"""

from __future__ import annotations

import inspect
import itertools
import operator
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from ..base.dtypes import int64
from ..base.shapes import Size
from ..base.trees import tree_flatten, tree_map
from ..core.arming import asking
from ..core.modes import no_grad
from ..core.overriding import arming
from ..core.public import NAMESPACES
from ..core.tensor import Tensor, properties
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..nn.modules.module import Module
from ..operators.create.from_data import scalar_tensor
from ..operators.memory.query import numel
from ..overrides import TorchFunctionMode, is_tensor_method_or_property
from ..runtime.thread import here

__all__ = ["Recorded", "TracingCheckError", "is_tracing", "record"]

_tracing: list[Any] = []


class TracingCheckError(Exception):
    """A trace that does not compute what the function computes."""


def is_tracing() -> bool:
    """Whether a trace is being recorded."""
    return bool(_tracing)


class _TracedSize(Size):
    """A shape whose sizes are tensors that the trace knows."""

    def __new__(cls, sizes: Iterable[Any] = ()) -> _TracedSize:
        return tuple.__new__(cls, sizes)

    def __getitem__(self, key: Any) -> Any:
        item = tuple.__getitem__(self, key)
        return _TracedSize(item) if isinstance(key, slice) else item

    def __add__(self, other: Any) -> Size:
        return _TracedSize(tuple.__add__(self, tuple(other)))

    def __radd__(self, other: Any) -> Size:
        return _TracedSize(tuple.__add__(tuple(other), self))

    def numel(self) -> int:
        """The number of elements: a constant of the trace, as in PyTorch."""
        return prod(map(int, self))


class Recorded(TorchFunctionMode):
    """Writes down the public functions that are called in the block."""

    def __init__(self, root: Module) -> None:
        self.graph = Graph()
        self.root = root
        self.nodes: dict[int, Node] = {}
        self.kept: list[Any] = []  # so that no tensor takes the identity of one that has gone
        self.places = {id(t): name for name, t in root.named_buffers(remove_duplicate=False)}
        self.places |= {id(p): name for name, p in root.named_parameters(remove_duplicate=False)}
        self.constants = itertools.count()

    def know(self, tensor: Tensor, node: Node) -> None:
        self.nodes[id(tensor)] = node
        self.kept.append(tensor)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        recorded_args, recorded_kwargs = self.values(args), self.values(kwargs)
        out = func(*args, **kwargs)
        if func in _COUNTS:
            return self._counted(recorded_args, recorded_kwargs, out)
        leaves, _ = tree_flatten(out)
        if any(isinstance(o, Tensor) for o in leaves):
            self._note(func, recorded_args, recorded_kwargs, out)
        elif _writes(func):
            self._step(func, recorded_args, recorded_kwargs)
        return out

    def _note(self, func: Any, args: Any, kwargs: Any, out: Any) -> None:
        node = self._step(func, args, kwargs)
        if isinstance(out, Tensor):
            self.know(out, node)
            return
        for i, part in enumerate(out):  # a tuple, list or named tuple of tensors
            if isinstance(part, Tensor):
                self.know(part, self.graph.call_function(_getitem, (node, i)))

    def _counted(self, args: Any, kwargs: Any, out: Any) -> Any:
        """Sizes as tensors, so that the trace asks its own inputs for theirs, and computes with them."""
        if isinstance(out, Size):
            sizes = self.graph.call_method("size", (args[0],))
            parts = enumerate(out)
            return _TracedSize(self._number(n, self.graph.call_function(_getitem, (sizes, i))) for i, n in parts)
        name = "size" if args[1:] or kwargs else "numel"
        return self._number(out, self.graph.call_method(name, tuple(args), kwargs))

    def _number(self, value: int, node: Node) -> Tensor:
        number = scalar_tensor(value, dtype=int64)
        self.know(number, self.graph.call_function(scalar_tensor, (node,), {"dtype": int64}))
        return number

    def _step(self, func: Any, args: Any, kwargs: Any) -> Node:
        if func.__name__ in ("__get__", "__set__"):
            name = next(n for n, v in properties().items() if v is func.__self__)
            return self.graph.call_function(getattr, (args[0], name))
        if is_tensor_method_or_property(func):
            return self.graph.call_method(func.__name__, tuple(args), kwargs)
        return self.graph.call_function(func, tuple(args), kwargs)

    def values(self, a: Any) -> Any:
        """Arguments with nodes in the places of tensors."""
        if isinstance(a, Tensor):
            return self._node_of(a)
        if isinstance(a, slice):
            return slice(*[self.values(x) for x in (a.start, a.stop, a.step)])
        if isinstance(a, _TracedSize):
            return tuple(self.values(x) for x in a)
        if isinstance(a, (tuple, list)) and not hasattr(a, "_fields"):
            return type(a)([self.values(x) for x in a]) if type(a) in (tuple, list) else a
        if isinstance(a, dict):
            return {k: self.values(v) for k, v in a.items()}
        return a

    def _node_of(self, t: Tensor) -> Node:
        node = self.nodes.get(id(t))
        if node is None:
            place = self.places.get(id(t))
            if place is None:
                place = f"_constant{next(self.constants)}"
                self.root.register_buffer(place, t.detach(), persistent=True)
                self.places[id(t)] = place
            node = self.graph.get_attr(place)
            self.know(t, node)
        return node


_COUNTED = ("shape", "size", "numel", "nelement")
# What answers with sizes.
_COUNTS = frozenset((Tensor.size, Tensor.numel, Tensor.nelement, numel, properties()["shape"].__get__))


@contextmanager
def _sizes_asked() -> Iterator[None]:
    """Modes are asked for sizes, too, in the block."""
    before = {n: c.__dict__[n] for n in _COUNTED for c in Tensor.__mro__ if n in c.__dict__}
    for name, mine in before.items():
        setattr(Tensor, name, asking(mine))
    try:
        yield
    finally:
        for name in before:
            delattr(Tensor, name)


def _writes(func: Any) -> bool:
    return func.__name__ in ("__setitem__", "__set__")


def _getitem(values: Any, place: int) -> Any:
    return values[place]


_getitem.__module__ = "operator"
_getitem.__name__ = "getitem"


@contextmanager
def _everything_plain() -> Iterator[None]:
    """Modes are asked in the block, whatever block this one is inside of."""
    before, here.unasked = here.unasked, 0
    _tracing.append(True)
    try:
        yield
    finally:
        _tracing.pop()
        here.unasked = before


def record(fn: Callable, module: Module | None, args: tuple, kwargs: dict | None = None, name: str = "") -> GraphModule:
    """The graph of one run of `fn`; parameters and buffers are those of `module`."""
    arming.arm(None)
    holder = _holder(module)
    mode = Recorded(holder)
    inputs = _stand_ins(mode, args, kwargs or {}, fn)
    with _everything_plain(), _sizes_asked(), mode:
        out = fn(*inputs[0], **inputs[1])
    mode.graph.output(mode.values(out))
    for node in mode.graph.nodes:
        if node.target is _getitem:
            node.target = operator.getitem
    mode.graph.eliminate_dead_code()
    made = GraphModule(holder, mode.graph, name or getattr(fn, "__name__", "Traced"))
    return made.train(module.training) if module is not None else made


def _holder(module: Module | None) -> Module:
    """A module with the same parameters, buffers and paths, to which constants are added."""
    made = Module()
    if module is None:
        return made
    for path, part in module.named_modules():
        place = made
        for step in path.split(".") if path else ():
            if step not in place._modules:
                place.add_module(step, Module())
            place = place.get_submodule(step)
        for name, p in part._parameters.items():
            place.register_parameter(name, p)
        for name, b in part._buffers.items():
            place.register_buffer(name, b, persistent=name not in part._non_persistent_buffers_set)
    return made


def _stand_ins(mode: Recorded, args: tuple, kwargs: dict, fn: Callable) -> tuple[list, dict]:
    """The example's tensors, each an input of the graph; containers are taken apart by place."""
    names = _names(fn, args)
    given = [_input(mode, n, a) for n, a in zip(names, args)]
    return given, {k: _input(mode, k, v) for k, v in kwargs.items()}


def _input(mode: Recorded, name: str, value: Any) -> Any:
    node = mode.graph.placeholder(name)
    return _apart(mode, node, value)


def _apart(mode: Recorded, node: Node, value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value.view_as(value) if id(value) in mode.nodes else value  # each place of the example is an input
        mode.know(value, node)
        return value
    if isinstance(value, (tuple, list)):
        parts = [_apart(mode, mode.graph.call_function(_getitem, (node, i)), v) for i, v in enumerate(value)]
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    if isinstance(value, dict):
        return {k: _apart(mode, mode.graph.call_function(_getitem, (node, k)), v) for k, v in value.items()}
    return value


def _names(fn: Callable, args: tuple) -> list[str]:
    try:
        known = [
            p.name
            for p in inspect.signature(fn).parameters.values()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
    except (TypeError, ValueError):
        known = []
    return [known[i] if i < len(known) else f"input_{i}" for i in range(len(args))]


def check(fn: Callable, traced: Callable, args: tuple, kwargs: dict, rtol: float) -> None:
    """Compare the two on other inputs of the same shapes."""
    other = tree_map(_changed, (args, kwargs))
    with no_grad():
        state = NAMESPACES["torch"]["get_rng_state"]()
        want = fn(*other[0], **other[1])
        NAMESPACES["torch"]["set_rng_state"](state)
        got = traced(*tree_map(_copied, other[0]), **tree_map(_copied, other[1]))
    for a, b in zip(tree_flatten(want)[0], tree_flatten(got)[0]):
        if isinstance(a, Tensor) and not _close(a, b, rtol):
            raise TracingCheckError(
                "Tracing failed sanity checks! On inputs other than the example the trace computes something else: "
                "it holds a value, or went a way, that depends on the input. Pass check_trace=False if that is meant."
            )


def _copied(t: Any) -> Any:
    return t.detach().clone() if isinstance(t, Tensor) else t


def _changed(t: Any) -> Any:
    """Another tensor of the same kind: floats moved a little, the rest as it is."""
    if not isinstance(t, Tensor):
        return t
    t = t.detach().clone()
    return t * 0.75 + 0.0625 if t.is_floating_point() else t


def _close(a: Any, b: Any, rtol: float) -> bool:
    if not isinstance(b, Tensor) or a.shape != b.shape:
        return False
    return bool(NAMESPACES["torch"]["allclose"](a, b, rtol=rtol, atol=rtol, equal_nan=True))
