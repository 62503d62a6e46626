"""Tracer: runs a model's `forward` with stand-ins for its inputs and writes down what it does."""

from __future__ import annotations

import builtins
import inspect
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .._script_object import ScriptObject  # noqa: F401 - libraries take it from here
from ..core.overriding import notice
from ..core.tensor import Tensor
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ._compatibility import compatibility  # noqa: F401 - libraries take it from here
from .graph import Graph
from .graph_module import GraphModule
from .proxy import Attribute, Proxy, TracerBase

__all__ = [
    "PH",
    "PHBase",
    "ProxyableClassMeta",
    "Tracer",
    "is_fx_tracing",
    "symbolic_trace",
    "wrap",
]

_wrapped: dict[
    tuple[int, str], dict
] = {}  # functions that are not looked into: (globals, name) -> globals
_depth: list[Tracer] = []


class PHBase:
    """Marks a part of a concrete argument that stays an input."""

    def __repr__(self) -> str:
        return "PH"


PH = PHBase()


class ProxyableClassMeta(type):
    """The metaclass of classes whose objects may be made while tracing: making one of stand-ins becomes a node.

    Example:
        >>> class Pair(metaclass=torch.fx.ProxyableClassMeta):
        ...     def __init__(self, a, b):
        ...         self.a, self.b = a, b
        >>> graph = torch.fx.symbolic_trace(lambda x: Pair(x, x)).graph
        >>> [node.op for node in graph.nodes]
        ['placeholder', 'call_function', 'output']
    """

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        given = [a for a in (*args, *kwargs.values()) if isinstance(a, Proxy)]
        if not given:
            return super().__call__(*args, **kwargs)
        return given[0].tracer.create_proxy("call_function", cls, args, kwargs)


def is_fx_tracing() -> bool:
    """Whether a tracer is at work."""
    return bool(_depth)


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Let calls of a function be one node: it is not looked into while tracing.

    Args:
        fn_or_name: a function of the module that calls `wrap`, or its name.

    Raises:
        NotImplementedError: if it is not called at the top level of a module.

    Example:
        >>> torch.fx.wrap("len")
        'len'
        >>> graph = torch.fx.symbolic_trace(lambda x: x * len(x)).graph
        >>> [node.name for node in graph.nodes]
        ['x', 'len_1', 'mul', 'output']
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(
            "Unsupported type for global function! Must be either a callable or string name"
        )
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = frame.f_back if frame else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped[id(caller.f_globals), name] = caller.f_globals
    return fn_or_name


class Tracer(TracerBase):
    """Traces modules and functions; subclasses say which modules are looked into.

    Args:
        autowrap_modules: calls of their functions become nodes.
        autowrap_functions: calls of these become nodes.
        param_shapes_constant: a parameter's shape is a value and not a node.

    Example:
        >>> class Deep(torch.fx.Tracer):
        ...     def is_leaf_module(self, m, module_qualified_name):
        ...         return False
        >>> [node.op for node in Deep().trace(nn.ReLU()).nodes]
        ['placeholder', 'call_function', 'output']
    """

    def __init__(
        self,
        autowrap_modules: tuple = (math,),
        autowrap_functions: tuple = (),
        param_shapes_constant: bool = False,
    ) -> None:
        self._autowrap = {
            id(fn): fn for m in autowrap_modules for fn in vars(m).values() if callable(fn)
        }
        self._autowrap |= {id(fn): fn for fn in autowrap_functions}
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] = {}
        self.tensor_attrs: dict[int, str] = {}
        self.root: Any = None
        self.root_module_name = ""

    # -- what users override --------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a module is one node: those of the library are, but for Sequential."""
        library = m.__module__.startswith(
            ("torch.nn", "torch.ao.nn", f"{__name__.partition('.')[0]}.nn")
        )
        return library and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """Where a module is in the one that is traced."""
        path = self.submodule_paths.get(mod)
        if path is None:
            raise NameError("module is not installed as a submodule")
        return path

    def call_module(self, m: Module, forward: Callable, args: tuple, kwargs: dict) -> Any:
        """What a call of a submodule becomes."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def getattr(self, attr: str, attr_val: Any, parameter_proxy_cache: dict[str, Any]) -> Any:
        """What an attribute of a module becomes: parameters are nodes."""
        if isinstance(attr_val, Parameter) or (
            self.proxy_buffer_attributes and isinstance(attr_val, Tensor)
        ):
            path = self.tensor_attrs.get(id(attr_val))
            if path is not None:
                if path not in parameter_proxy_cache:
                    parameter_proxy_cache[path] = self.create_proxy("get_attr", path, (), {})
                return parameter_proxy_cache[path]
        return attr_val

    def create_arg(self, a: Any) -> Any:
        """A value as an argument: tensors become attributes of the module."""
        if isinstance(a, Tensor):
            return self.create_node("get_attr", self._place_of(a), (), {})
        if isinstance(a, Module) and a in self.submodule_paths:
            return self.create_node("get_attr", self.submodule_paths[a], (), {})
        return super().create_arg(a)

    def _place_of(self, a: Tensor) -> str:
        path = self.tensor_attrs.get(id(a))
        if path is None:
            number = 0
            while hasattr(self.root, f"_tensor_constant{number}"):
                number += 1
            path = self.tensor_attrs[id(a)] = f"_tensor_constant{number}"
            setattr(self.root, path, a)
        return path

    # -- tracing --------------------------------------------------------------------------------

    def trace(
        self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
    ) -> Graph:
        """The graph of a module or function; `concrete_args` are not stand-ins, but the values given."""
        if isinstance(root, Module):
            self.root, self.root_module_name = root, root._get_name()
            fn: Any = type(root).forward
            self.submodule_paths = {m: name for name, m in root.named_modules()}
        else:
            self.root, fn = Module(), root
            self.submodule_paths = {self.root: ""}
        self.graph = Graph(tracer_cls=type(self))
        self.tensor_attrs = {}
        for path, module in list(self.root.named_modules()):
            lead = f"{path}." if path else ""
            for name, value in (
                *module.__dict__.items(),
                *module._parameters.items(),
                *module._buffers.items(),
            ):
                if isinstance(value, Tensor):
                    self.tensor_attrs.setdefault(id(value), lead + name)
        notice(Proxy)
        notice(Attribute)
        args, kwargs = self._inputs(fn, isinstance(root, Module), concrete_args or {})
        with self._patched(fn):
            result = fn(*args, **kwargs)
        self.create_node("output", "output", (self.create_arg(result),), {})
        return self.graph

    def _inputs(self, fn: Callable, is_method: bool, concrete: dict[str, Any]) -> tuple[list, dict]:
        args: list[Any] = [self.root] if is_method else []
        kwargs: dict[str, Any] = {}
        parameters = list(inspect.signature(fn).parameters.values())[1 if is_method else 0 :]
        for p in parameters:
            stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
            value = self._input(p, stars, concrete)
            if p.kind is p.VAR_POSITIONAL:
                args.extend(
                    []
                    if p.name in concrete
                    else value
                    if isinstance(value, (tuple, list))
                    else [value]
                )
            elif p.kind is p.VAR_KEYWORD:
                kwargs.update({} if isinstance(value, Proxy) else value)
            elif p.kind is p.KEYWORD_ONLY:
                kwargs[p.name] = value
            else:
                args.append(value)
        return args, kwargs

    def _input(self, p: inspect.Parameter, stars: str, concrete: dict[str, Any]) -> Any:
        if p.name in concrete and not isinstance(concrete[p.name], PHBase):
            value = concrete[p.name]
            if value is None or isinstance(value, (bool, int, float, str)):
                self.create_proxy("placeholder", f"{p.name}_1", (value,), {})
            return value
        default = () if p.default is p.empty else (p.default,)
        return self.create_proxy("placeholder", stars + p.name, default, {}, type_expr=None)

    @contextmanager
    def _patched(self, fn: Callable) -> Iterator[None]:
        """Calls and attributes of modules, and wrapped functions, come to this tracer in the block."""
        call, look = Module.__call__, Module.__getattr__
        cache: dict[str, Any] = {}
        tracer = self

        def traced_call(mod: Module, *args: Any, **kwargs: Any) -> Any:
            forward = lambda *a, **k: call(mod, *a, **k)  # noqa: E731
            return tracer.call_module(mod, forward, args, kwargs)

        def traced_look(mod: Module, name: str) -> Any:
            return tracer.getattr(name, look(mod, name), cache)

        changed: list[tuple[dict, str, Any]] = []
        Module.__call__, Module.__getattr__ = traced_call, traced_look  # type: ignore[method-assign,assignment]
        _depth.append(self)
        try:
            self._wrap_functions(getattr(fn, "__globals__", {}), changed)
            yield
        finally:
            _depth.pop()
            Module.__call__, Module.__getattr__ = call, look  # type: ignore[method-assign]
            for space, name, old in reversed(changed):
                if old is _ABSENT:
                    space.pop(name, None)
                else:
                    space[name] = old

    def _wrap_functions(self, space: dict, changed: list) -> None:
        names = [(s, name) for (_, name), s in _wrapped.items()]
        names += [(space, n) for n, v in list(space.items()) if id(v) in self._autowrap]
        for where, name in names:
            old = where.get(name, _ABSENT)
            real = getattr(builtins, name, None) if old is _ABSENT else old
            if real is not None:
                changed.append((where, name, old))
                where[name] = _one_node(real)
        patched: set[int] = set()
        for module in {id(v): v for v in space.values() if inspect.ismodule(v)}.values():
            for name, value in list(vars(module).items()):
                if id(value) in self._autowrap and module is math and id(value) not in patched:
                    changed.append((vars(module), name, value))
                    vars(module)[name] = _one_node(value)
                    patched.add(id(value))


_ABSENT = object()


def _one_node(fn: Callable) -> Callable:
    """`fn`, but a call with a stand-in is a node."""

    def call(*args: Any, **kwargs: Any) -> Any:
        found = [a for a in (*args, *kwargs.values()) if isinstance(a, Proxy)]
        if not found:
            return fn(*args, **kwargs)
        return found[0].tracer.create_proxy("call_function", fn, args, kwargs)

    return call


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """A module that does what `root` does, step by step from a graph.

    Python's own `if` and `for` are run while tracing: what depends on a tensor's values raises `TraceError`.

    Args:
        root: a module or a function.
        concrete_args: values of arguments that are fixed.

    Example:
        >>> net = torch.fx.symbolic_trace(lambda x, y: torch.relu(x) + y)
        >>> print(net.code.strip())
        def forward(self, x, y):
            relu = torch.relu(x);  x = None
            add = relu + y;  relu = y = None
            return add
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
