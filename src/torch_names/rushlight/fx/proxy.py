"""Proxy: a stand-in for a value that is not there yet; what is done with it becomes nodes of a graph."""

from __future__ import annotations

import dis
import inspect
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..base.device import device
from ..base.dtypes import dtype
from ..base.formats import layout, memory_format
from ..core.overriding import notice
from ..overrides import is_tensor_method_or_property
from .codegen import MAGIC, ONE_SIDED
from .graph import Graph
from .node import Node

__all__ = ["Attribute", "GraphAppendingTracer", "Proxy", "TraceError", "TracerBase"]


class TraceError(ValueError):
    """A program asked a stand-in for what only a value has."""


class TracerBase:
    """What makes nodes: `Tracer` of a whole model, `GraphAppendingTracer` of one graph at hand."""

    graph: Graph
    record_stack_traces = False
    trace_asserts = False
    proxy_buffer_attributes = False

    def create_node(
        self,
        kind: str,
        target: Callable[..., Any] | str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        name: str | None = None,
        type_expr: Any = None,
    ) -> Node:
        """A node of the graph; tracers of users may do more."""
        return self.graph.create_node(kind, target, args, kwargs, name, type_expr)

    def proxy(self, node: Node) -> Proxy:
        return Proxy(node, self)

    def create_proxy(
        self, kind: str, target: Callable[..., Any] | str, args: tuple[Any, ...], kwargs: dict[str, Any], name: str | None = None, type_expr: Any = None,
        proxy_factory_fn: Callable | None = None,
    ) -> Any:  # fmt: skip
        """A node, and the stand-in for its value."""
        args, kwargs = self.create_arg(args), self.create_arg(kwargs)
        node = self.create_node(kind, target, args, kwargs, name, type_expr)
        return proxy_factory_fn(node) if proxy_factory_fn else self.proxy(node)

    def create_arg(self, a: Any) -> Any:
        """A value as an argument of a node."""
        if isinstance(a, Proxy):
            return a.node
        if hasattr(a, "__fx_create_arg__"):
            return a.__fx_create_arg__(self)
        if isinstance(a, tuple) and hasattr(a, "_fields"):
            return type(a)(*[self.create_arg(x) for x in a])
        if isinstance(a, (tuple, list)):
            return type(a)([self.create_arg(x) for x in a])
        if isinstance(a, dict):
            return {self._key(k): self.create_arg(v) for k, v in a.items()}
        if isinstance(a, slice):
            return slice(*[self.create_arg(x) for x in (a.start, a.stop, a.step)])
        if isinstance(a, range):
            return range(*[self.create_arg(x) for x in (a.start, a.stop, a.step)])
        plain = (str, int, float, bool, complex, dtype, device, memory_format, layout, type(None), type(...))
        if isinstance(a, (Node, *plain)) or isinstance(a, type):
            return a
        if inspect.isfunction(a) or inspect.ismethod(a):
            return a
        raise NotImplementedError(f"argument of type: {type(a)}")

    def _key(self, k: Any) -> Any:
        if isinstance(k, (Proxy, Node)):
            raise RuntimeError("Keys for dictionaries used as an argument cannot contain a Node. Got key: " + str(k))
        return k

    def to_bool(self, obj: Proxy) -> bool:
        """A stand-in has no truth: which way a program goes cannot depend on it."""
        raise TraceError("symbolically traced variables cannot be used as inputs to control flow")

    def iter(self, obj: Any) -> Iterator[Any]:
        """`a, b = value` is taken apart by number; nothing else knows how long a value is."""
        frame = inspect.currentframe()
        caller = frame.f_back.f_back if frame and frame.f_back else None
        if caller is not None:
            for instruction in dis.get_instructions(caller.f_code):
                if instruction.offset == caller.f_lasti and instruction.opname == "UNPACK_SEQUENCE":
                    return iter([obj[i] for i in range(instruction.argval)])
        raise TraceError(
            "Proxy object cannot be iterated. This can be attempted when the Proxy is used in a loop or as a *args or "
            "**kwargs function argument. See the torch.fx docs on pytorch.org for a more detailed explanation of what "
            "types of control flow can be traced, and check out the Proxy docstring for help troubleshooting Proxy "
            "iteration errors"
        )

    def keys(self, obj: Proxy) -> Any:
        return Attribute(obj, "keys")()


class GraphAppendingTracer(TracerBase):
    """Makes nodes at the end of a graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph


class Proxy:
    """Stands for the value of a node while a function is traced: what is done with it becomes nodes.

    Args:
        node: whose value it is.
        tracer: makes the new nodes; at the end of the node's graph if not given.

    Example:
        >>> graph = torch.fx.Graph()
        >>> x = torch.fx.Proxy(graph.placeholder("x"))
        >>> _ = graph.output((x * 2).node)
        >>> torch.fx.GraphModule({}, graph)(torch.tensor(3))
        tensor(6)
    """

    def __init__(self, node: Node, tracer: TracerBase | None = None) -> None:
        self.tracer = GraphAppendingTracer(node.graph) if tracer is None else tracer
        self.node = node
        notice(type(self))

    def __repr__(self) -> str:
        return f"Proxy({self.node.name})"

    def __getattr__(self, k: str) -> Any:
        if k.startswith("__") and k.endswith("__"):
            raise AttributeError(k)
        return Attribute(self, k)

    def __getstate__(self) -> Any:
        return self.__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        made = type(self).__new__(type(self))
        made.__dict__ = dict(self.__dict__)
        return made

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", "__call__", (self, *args), kwargs)

    def __iter__(self) -> Any:
        return self.tracer.iter(self)

    def __abs__(self) -> Any:
        return self.tracer.create_proxy("call_function", abs, (self,), {})

    def __bool__(self) -> bool:
        return self.tracer.to_bool(self)

    def keys(self) -> Any:
        """What `**proxy` asks for; a tracer says what it may be."""
        return self.tracer.keys(self)

    def __len__(self) -> int:
        raise RuntimeError(
            "'len' is not supported in symbolic tracing by default. If you want this call to be recorded, please call "
            "torch.fx.wrap('len') at module scope"
        )

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        tracers: dict[Any, None] = {}
        find_tracers((args, kwargs), tracers)
        if len(tracers) > 1:
            raise RuntimeError(f"Found multiple different tracers {list(tracers)} while trying to trace {func}")
        tracer = next(iter(tracers))
        if is_tensor_method_or_property(func) and func.__name__ not in ("__get__", "__set__"):
            return tracer.create_proxy("call_method", func.__name__, args, kwargs)
        return tracer.create_proxy("call_function", func, args, kwargs)


def find_tracers(a: Any, found: dict[Any, None]) -> None:
    if isinstance(a, Proxy):
        found[a.tracer] = None
    elif isinstance(a, (list, tuple)):
        for x in a:
            find_tracers(x, found)
    elif isinstance(a, dict):
        for x in a.values():
            find_tracers(x, found)
    elif isinstance(a, slice):
        find_tracers((a.start, a.stop, a.step), found)


class Attribute(Proxy):
    """`x.name` of a stand-in: a method when it is called, else an attribute, whose node is made when it is needed."""

    def __init__(self, root: Proxy, attr: str) -> None:
        self.root, self.attr, self.tracer = root, attr, root.tracer
        self._node: Node | None = None
        notice(Attribute)

    @property
    def node(self) -> Node:  # type: ignore[override]
        if self._node is None:
            self._node = self.tracer.create_proxy("call_function", getattr, (self.root, self.attr), {}).node
        return self._node

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tracer.create_proxy("call_method", self.attr, (self.root, *args), kwargs)


def _operator(name: str) -> Callable:
    target = getattr(operator, name)

    def method(*args: Any, **kwargs: Any) -> Any:
        return args[0].tracer.create_proxy("call_function", target, args, kwargs)

    return method


def _reflected(name: str) -> Callable:
    target = getattr(operator, name)

    def method(self: Proxy, other: Any) -> Any:
        return self.tracer.create_proxy("call_function", target, (other, self), {})

    return method


for _name in MAGIC:
    _bare = _name.strip("_")
    setattr(Proxy, f"__{_bare}__", _operator(_name))
    if _name not in ONE_SIDED and _name != "getitem":
        setattr(Proxy, f"__r{_bare}__", _reflected(_name))
