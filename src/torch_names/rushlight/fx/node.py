"""Node: one step of a graph - an input, a call, an attribute, the output - and who uses it."""

from __future__ import annotations

import builtins
import inspect
import operator
import types
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ..core.public import NAMESPACES
from ..overrides import resolve_name
from .immutable_collections import immutable_dict, immutable_list

if TYPE_CHECKING:
    from .graph import Graph

__all__ = ["Argument", "Node", "Target", "has_side_effect", "map_aggregate", "map_arg"]

Argument = Any
Target = Callable[..., Any] | str
BaseArgumentTypes = str | int | float | bool | complex
OPS = ("placeholder", "get_attr", "call_function", "call_method", "call_module", "output", "root")


class ArgsKwargsPair(NamedTuple):
    """The arguments of a call."""

    args: tuple
    kwargs: dict


_impure: set[Any] = {setattr, operator.setitem}
# They draw: what is drawn behind them depends on it.
_RANDOM = "rand randn randint randperm rand_like randn_like randint_like normal poisson bernoulli multinomial"


@cache
def _random() -> frozenset:
    return frozenset(NAMESPACES["torch"][name] for name in _RANDOM.split())


def has_side_effect(fn: Callable) -> Callable:
    """Keep calls of the function `fn` when calls that nobody uses are taken out of a graph.

    Example:
        >>> @torch.fx.has_side_effect
        ... def log(x):
        ...     print(x)
    """
    _impure.add(fn)
    return fn


def map_aggregate(a: Any, fn: Callable[[Any], Any]) -> Any:
    """`a` with `fn` of every leaf of its tuples, lists, dicts and slices."""
    if isinstance(a, tuple):
        parts = [map_aggregate(x, fn) for x in a]
        return type(a)(*parts) if hasattr(a, "_fields") else tuple(parts)
    if isinstance(a, list):
        return immutable_list([map_aggregate(x, fn) for x in a])
    if isinstance(a, dict):
        return immutable_dict({k: map_aggregate(v, fn) for k, v in a.items()})
    if isinstance(a, slice):
        return slice(*[map_aggregate(x, fn) for x in (a.start, a.stop, a.step)])
    return fn(a)


def map_arg(a: Any, fn: Callable[[Node], Any]) -> Any:
    """The arguments `a` with `fn(node)` in place of every node in them.

    Example:
        >>> node = next(iter(torch.fx.symbolic_trace(lambda x: x + 1).graph.nodes))
        >>> torch.fx.map_arg(((node, 1), {"k": node}), lambda n: n.name)
        (('x', 1), {'k': 'x'})
    """
    return map_aggregate(a, lambda x: fn(x) if isinstance(x, Node) else x)


def qualified_name(fn: Callable[..., Any]) -> str:
    """The dotted name under which generated code calls a function."""
    if isinstance(fn, str):
        return fn
    name: str = getattr(fn, "__name__", type(fn).__name__)
    if getattr(builtins, name, None) is fn:
        return name
    found = resolve_name(fn) if isinstance(fn, types.FunctionType) else None
    if found and found.startswith("torch.") and "<" not in found:
        return found
    module: str = getattr(fn, "__module__", None) or getattr(inspect.getmodule(fn), "__name__", "") or ""
    module = "operator" if module == "_operator" else module.replace("rushlight", "torch", 1)
    return f"{module}.{name}" if module else name


def _label(target: Callable[..., Any] | str) -> str:
    """A target as graphs print it."""
    if not callable(target):
        return str(target)
    name = qualified_name(target)
    return f"builtins.{name}" if getattr(builtins, name, None) is target else name


class Node:
    """A step of a graph; `args` and `kwargs` name the steps whose values it takes.

    Made by the methods of a `Graph`.

    Args:
        graph: where it stands.
        name: its value's name, which is unique in the graph.
        op: "placeholder", "get_attr", "call_function", "call_method", "call_module" or "output".
        target: what is called, or its name.
        args, kwargs: what it is called with.
        return_type: an annotation.

    Example:
        >>> graph = torch.fx.symbolic_trace(lambda x: torch.relu(x)).graph
        >>> [(node.op, node.name) for node in graph.nodes]
        [('placeholder', 'x'), ('call_function', 'relu'), ('output', 'output')]
    """

    target: Any  # a function where `op` is "call_function", else a name

    def __init__(
        self,
        graph: Graph,
        name: str,
        op: str,
        target: Callable[..., Any] | str,
        args: tuple,
        kwargs: dict,
        return_type: Any = None,
    ) -> None:
        if op not in OPS:
            raise AssertionError(f"op must be one of {OPS}, but got {op}")
        if op == "call_function" and not callable(target):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a Callable is "
                "expected"
            )
        if op not in ("call_function", "root") and not isinstance(target, str):
            raise ValueError(
                f"Node [graph = {graph}, name = '{name}'] target {target} has type {type(target)} but a str is expected"
            )
        self.graph, self.name, self.op, self.target, self.type = (graph, name, op, target, return_type)
        self.users: dict[Node, None] = {}
        self._input_nodes: dict[Node, None] = {}
        self._args: tuple = ()
        self._kwargs: dict = {}
        self._prev = self._next = self
        self._erased = False
        self._repr_fn: Callable | None = None
        self.meta: dict[str, Any] = {}
        self._update(args, kwargs)

    # -- what it takes --------------------------------------------------------------------------

    def _update(self, args: Any, kwargs: Any) -> None:
        for old in self._input_nodes:
            old.users.pop(self, None)
        self._input_nodes = {}
        self._args = map_aggregate(tuple(args), self._seen)
        self._kwargs = map_aggregate(dict(kwargs), self._seen)

    def _seen(self, a: Any) -> Any:
        if isinstance(a, Node):
            self._input_nodes[a] = None
            a.users[self] = None
        return a

    @property
    def args(self) -> tuple:
        return self._args

    @args.setter
    def args(self, args: tuple) -> None:
        self._update(args, self._kwargs)

    @property
    def kwargs(self) -> dict:
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: dict) -> None:
        self._update(self._args, kwargs)

    @property
    def all_input_nodes(self) -> list[Node]:
        """The nodes whose values it takes, each once."""
        return list(self._input_nodes)

    def update_arg(self, idx: int, arg: Any) -> None:
        """Another argument in place `idx`."""
        self.args = (*self.args[:idx], arg, *self.args[idx + 1 :])

    def insert_arg(self, idx: int, arg: Any) -> None:
        """One more argument in front of place `idx`."""
        if not 0 <= idx <= len(self.args):
            raise AssertionError("insert_args index must be between 0 and len(self.args)")
        self.args = (*self.args[:idx], arg, *self.args[idx:])

    def update_kwarg(self, key: str, arg: Any) -> None:
        """Another keyword argument `key`."""
        self.kwargs = {**self.kwargs, key: arg}

    def replace_input_with(self, old_input: Node, new_input: Node) -> None:
        """Take `new_input` wherever it takes `old_input`."""
        swap = lambda n: new_input if n is old_input else n  # noqa: E731
        self._update(map_arg(self.args, swap), map_arg(self.kwargs, swap))

    def replace_all_uses_with(
        self,
        replace_with: Node,
        delete_user_cb: Callable[[Node], bool] = lambda user: True,
        *,
        propagate_meta: bool = False,
    ) -> list[Node]:
        """Let whoever takes this node's value take that of `replace_with`; the users there were."""
        if propagate_meta:
            replace_with.meta.update(self.meta)
        chosen = [user for user in list(self.users) if delete_user_cb(user)]
        for user in chosen:
            user.replace_input_with(self, replace_with)
        return chosen

    # -- where it stands ------------------------------------------------------------------------

    @property
    def next(self) -> Node:
        return self._next

    @property
    def prev(self) -> Node:
        return self._prev

    def prepend(self, x: Node) -> None:
        """Put `x` in front of this node."""
        if x.graph is not self.graph:
            raise AssertionError("Attempting to move a Node into a different Graph")
        if x is self:
            return
        x._remove_from_list()
        before = self._prev
        before._next, x._prev = x, before
        x._next, self._prev = self, x

    def append(self, x: Node) -> None:
        """Put `x` behind this node."""
        self._next.prepend(x)

    def _remove_from_list(self) -> None:
        self._prev._next, self._next._prev = self._next, self._prev

    # -- in words -------------------------------------------------------------------------------

    @property
    def stack_trace(self) -> Any:
        """The user's line that made it, where the tracer keeps that."""
        return self.meta.get("stack_trace")

    @stack_trace.setter
    def stack_trace(self, trace: str | None) -> None:
        self.meta["stack_trace"] = trace

    def is_impure(self, impure_random: bool = True) -> bool:
        """Whether it does something beside giving a value."""
        if self.op in ("placeholder", "output"):
            return True
        if self.op == "call_function":
            if self.target in _impure or self.target in _random():
                return True
            return impure_random and bool(getattr(self.target, "_nondeterministic_seeded", False))
        if self.op == "call_method":
            bare = self.target.strip("_")
            if self.target.endswith("__"):
                return bare == "setitem" or (f"i{bare[1:]}" == bare and bare != "invert")
            return self.target.endswith("_")
        if self.op == "call_module" and self.graph.owning_module is not None:
            return bool(getattr(self.graph.owning_module.get_submodule(self.target), "_is_impure", False))
        return False

    def _pretty_print_target(self, target: Callable[..., Any] | str) -> str:
        return _label(target)

    def format_node(
        self, placeholder_names: list[str] | None = None, maybe_return_typename: list[str] | None = None, **kwargs: Any
    ) -> Any:
        """The line that printing the graph shows."""
        if self.op == "placeholder":
            if placeholder_names is not None:
                placeholder_names.append(str(self.target))
            default = f"(default={self.args[0]})" if self.args else ""
            return f"%{self.name} : [num_users={len(self.users)}] = placeholder[target={self.target}]{default}"
        if self.op == "get_attr":
            return f"%{self.name} : [num_users={len(self.users)}] = get_attr[target={self.target}]"
        if self.op == "output":
            return f"return {self.args[0]}"
        args, kwargs_shown = _shown(self.args), _shown(self.kwargs)
        return (
            f"%{self.name} : [num_users={len(self.users)}] = {self.op}[target={_label(self.target)}]"
            f"(args = {args}, kwargs = {kwargs_shown})"
        )

    def normalized_arguments(self, root: Any, *args: Any, **kwargs: Any) -> Any:
        """The arguments as keywords, by the signature of what is called; None where it has none."""
        called = self.target if self.op == "call_function" else None
        if self.op == "call_module":
            called = root.get_submodule(self.target).forward
        if called is None:
            return None
        bound = inspect.signature(called).bind(*self.args, **self.kwargs)
        return ArgsKwargsPair((), dict(bound.arguments))

    def __repr__(self) -> str:
        return self._repr_fn(self) if self._repr_fn else self.name


def _shown(a: object) -> str:
    if isinstance(a, Node):
        return f"%{a.name}"
    if isinstance(a, tuple):
        return "(" + ", ".join(map(_shown, a)) + ("," if len(a) == 1 else "") + ")"
    if isinstance(a, list):
        return "[" + ", ".join(map(_shown, a)) + "]"
    if isinstance(a, dict):
        return "{" + ", ".join([f"{k}: {_shown(v)}" for k, v in a.items()]) + "}"
    return str(a)
