"""Tracer: runs a model's `forward` with stand-ins for its inputs and writes down what it does."""

from __future__ import annotations

import builtins
import functools
import inspect
import math
from collections.abc import Callable
from itertools import chain
from types import FunctionType
from typing import Any

from .._script_object import ScriptObject  # noqa: F401 - libraries take it from here
from ..core.tensor import Tensor
from ..nn.modules.container import Sequential
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ._compatibility import compatibility  # noqa: F401 - libraries take it from here
from .graph import Graph
from .graph_module import GraphModule
from .proxy import Proxy, TracerBase, find_tracers

__all__ = ["PH", "PHBase", "ProxyableClassMeta", "Tracer", "is_fx_tracing", "symbolic_trace", "wrap"]

# Functions that are not looked into: (id of the globals, name) -> globals.
_wrapped_fns_to_patch: dict[tuple[int, str], dict] = {}
_depth: list[Tracer] = []
# What tracers, also those that libraries write, hand over to while these two are patched.
_orig_module_call: Callable[..., Any] = Module.__call__
_orig_module_getattr: Callable[..., Any] = Module.__getattr__


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
        raise RuntimeError("Unsupported type for global function! Must be either a callable or string name")
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    frame = inspect.currentframe()
    caller = frame.f_back if frame else None
    if caller is None or caller.f_code.co_name != "<module>":
        raise NotImplementedError("wrap must be called at the top level of a module")
    _wrapped_fns_to_patch[id(caller.f_globals), name] = caller.f_globals
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
        self, autowrap_modules: tuple = (math,), autowrap_functions: tuple = (), param_shapes_constant: bool = False
    ) -> None:
        self._autowrap_search = list(autowrap_modules)
        own = [fn for m in autowrap_modules for n, fn in vars(m).items() if not n.startswith("_")]
        self._autowrap_function_ids = {id(fn) for fn in chain(own, autowrap_functions) if callable(fn)}
        self.param_shapes_constant = param_shapes_constant
        self.submodule_paths: dict[Module, str] = {}
        self.tensor_attrs: dict[Tensor, str] = {}
        self.root: Any = None
        self.root_module_name = ""

    # -- what users override --------------------------------------------------------------------

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a call of a module is one node: those of the library are, but for Sequential."""
        library = m.__module__.startswith(("torch.nn", "torch.ao.nn", f"{__name__.partition('.')[0]}.nn"))
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
        if isinstance(attr_val, Parameter) or (self.proxy_buffer_attributes and isinstance(attr_val, Tensor)):
            path = self._path_of_tensor(attr_val)
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

    def _path_of_tensor(self, a: Tensor) -> str | None:
        """Where a tensor is in the module that is traced."""
        if a not in self.tensor_attrs:
            named = chain(self.root.named_parameters(), self.root.named_buffers())
            path = next((name for name, t in named if t is a), None)
            if path is None:
                return None
            self.tensor_attrs[a] = path
        return self.tensor_attrs[a]

    def _place_of(self, a: Tensor) -> str:
        path = self._path_of_tensor(a)
        if path is None:
            number = 0
            while hasattr(self.root, f"_tensor_constant{number}"):
                number += 1
            path = self.tensor_attrs[a] = f"_tensor_constant{number}"
            setattr(self.root, path, a)
        return path

    # -- tracing --------------------------------------------------------------------------------

    def trace(self, root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> Graph:
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
            for name, value in (*module.__dict__.items(), *module._parameters.items(), *module._buffers.items()):
                if isinstance(value, Tensor):
                    self.tensor_attrs.setdefault(value, lead + name)
        if not isinstance(fn, FunctionType):
            raise AssertionError(f"Expected FunctionType, got {type(fn)}")
        space, result_type = fn.__globals__, fn.__annotations__.get("return")
        fn, args = self.create_args_for_root(fn, isinstance(root, Module), concrete_args)
        cache: dict[str, Any] = {}

        @functools.wraps(_orig_module_call)
        def call(mod: Module, *args: Any, **kwargs: Any) -> Any:
            forward = functools.partial(_orig_module_call, mod)
            its_globals = getattr(getattr(mod, "forward", mod), "__globals__", {})
            _autowrap_check(patcher, its_globals, self._autowrap_function_ids)
            return self.call_module(mod, forward, args, kwargs)

        @functools.wraps(_orig_module_getattr)
        def look(mod: Module, name: str) -> Any:
            return self.getattr(name, _orig_module_getattr(mod, name), cache)

        _depth.append(self)
        try:
            with _Patcher() as patcher:
                patcher.patch_method(Module, "__getattr__", look, deduplicate=False)
                patcher.patch_method(Module, "__call__", call, deduplicate=False)
                _patch_wrapped_functions(patcher)
                for names in (space, *[m.__dict__ for m in self._autowrap_search]):
                    _autowrap_check(patcher, names, self._autowrap_function_ids)
                result = self.create_arg(fn(*args))
            self.create_node("output", "output", (result,), {}, type_expr=result_type)
        finally:
            _depth.pop()
        return self.graph

    def create_args_for_root(
        self, root_fn: Callable, is_module: bool, concrete_args: dict[str, Any] | None = None
    ) -> tuple[Callable, list]:
        """The function, and a stand-in for each of its arguments, which it takes by position, `*args` and `**kwargs` as one value each."""
        args: list[Any] = [self.root] if is_module else []
        told = inspect.unwrap(root_fn)
        order = {name: i for i, name in enumerate(told.__code__.co_varnames)}
        parameters = list(inspect.signature(told).parameters.values())[len(args) :]
        for p in sorted(parameters, key=lambda p: order[p.name]):
            stars = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
            args.append(self._input(p, stars, concrete_args or {}, told.__annotations__))
        code = root_fn.__code__
        if code.co_kwonlyargcount or code.co_flags & _STARS:
            flags = code.co_flags & ~_STARS
            code = code.replace(co_argcount=len(args), co_posonlyargcount=0, co_kwonlyargcount=0, co_flags=flags)
            made = FunctionType(code, root_fn.__globals__, root_fn.__name__, None, root_fn.__closure__)
            root_fn = functools.wraps(root_fn)(made)
        return root_fn, args

    def _input(self, p: inspect.Parameter, stars: str, concrete: dict[str, Any], told: dict[str, Any]) -> Any:
        if p.name in concrete and not isinstance(concrete[p.name], PHBase):
            value = concrete[p.name]
            if value is None or isinstance(value, (bool, int, float, str)):
                self.create_proxy("placeholder", f"{p.name}_1", (value,), {})
            return value
        default = () if p.default is p.empty else (p.default,)
        return self.create_proxy("placeholder", stars + p.name, default, {}, type_expr=told.get(p.name))


_STARS = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
_ABSENT = object()


class _Patcher:
    """Puts functions in the place of others, and in the end, as a context manager, those back."""

    def __init__(self) -> None:
        self._undo: list[Callable[[], Any]] = []
        self._visited: set[int] = set()

    def patch(self, frame_dict: dict[str, Any], name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """`new_fn` under a name of a module's globals; once, unless `deduplicate` is False."""
        new_fn.__fx_already_patched = deduplicate
        old = frame_dict.get(name, _ABSENT)
        if getattr(old, "__fx_already_patched", False):
            return
        if old is _ABSENT:
            self._undo.append(functools.partial(frame_dict.pop, name))
        else:
            self._undo.append(functools.partial(frame_dict.__setitem__, name, old))
        frame_dict[name] = new_fn

    def patch_method(self, cls: type, name: str, new_fn: Any, deduplicate: bool = True) -> None:
        """`new_fn` as a method of a class; once, unless `deduplicate` is False."""
        new_fn.__fx_already_patched = deduplicate
        old = getattr(cls, name)
        if getattr(old, "__fx_already_patched", False):
            return
        self._undo.append(functools.partial(setattr, cls, name, old))
        setattr(cls, name, new_fn)

    def visit_once(self, thing: Any) -> bool:
        """Whether it is seen for the first time."""
        if id(thing) in self._visited:
            return False
        self._visited.add(id(thing))
        return True

    def __enter__(self) -> _Patcher:
        return self

    def __exit__(self, *error: object) -> None:
        while self._undo:
            self._undo.pop()()
        self._visited.clear()


def _patch_wrapped_functions(patcher: _Patcher) -> None:
    """Calls of the functions that were given to `wrap` become nodes."""
    for (_, name), space in list(_wrapped_fns_to_patch.items()):
        fn = space[name] if name in space else getattr(builtins, name, None)
        if fn is not None:
            patcher.patch(space, name, _one_node(fn))


def _autowrap_check(patcher: _Patcher, frame_dict: dict[str, Any], function_ids: set[int]) -> None:
    """Calls of some functions by the names that a module has for them become nodes."""
    if patcher.visit_once(frame_dict):
        for name, value in list(frame_dict.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                patcher.patch(frame_dict, name, _one_node(value))


def _one_node(fn: Callable) -> Callable:
    """`fn`, but a call with a stand-in is a node."""

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        found: dict[Any, None] = {}
        find_tracers((args, kwargs), found)
        if not found:
            return fn(*args, **kwargs)
        return next(iter(found)).create_proxy("call_function", fn, args, kwargs)

    return call


def symbolic_trace(root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None) -> GraphModule:
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
