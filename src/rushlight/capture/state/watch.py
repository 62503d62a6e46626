"""What Python state a function depends on: found by reading its code, checked before every replay."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from ..record.effects import is_generator
from .kinds import (
    MISSING,
    PLAIN,
    ClassDict,
    content,
    equal,
    group_shape,
    hooks_on,
    is_module,
    is_optimizer,
    is_scaler,
    is_user_module,
    peek,
    short,
)
from .names import attributes_used, codes, names_of
from .quick import Quick

_PACKAGE = __name__.split(".")[0]
_LONG = 256  # containers longer than this are watched by their length only


class NotReady(Exception):
    """The function depends on a lazy parameter that the call will give its shape."""


class Watch:
    """The state reachable from a function: checks of it, and the tensors that live in it.

    A check is (what it is, how to look, what was seen); looking must give the identical object.
    """

    def __init__(self, fn: Callable[..., Any], arguments: Iterable[Any] = ()) -> None:
        self.names: set[str] = set()  # attributes of whatever has them
        self.mentioned: set[str] = set()  # every name in the code
        self.asked: dict[int, tuple[Any, set[str]]] = {}  # attributes of one object each
        self.functions: dict[tuple[int, int], Any] = {}
        self.objects: dict[int, tuple[Any, str]] = {}
        self.tensors: dict[int, tuple[Tensor, str]] = {}
        self.arrays: dict[int, tuple[Any, str]] = {}
        self.rows: list[tuple[str, Any, str, Any]] = []  # label, dict, key, value
        self.lengths: list[tuple[str, Any, int]] = []
        self.contents: list[tuple[str, Any, tuple]] = []
        self.states: list[tuple[str, Any, list]] = []  # of optimisers, whatever the keys
        self.cells: list[tuple[str, Any, Any]] = []
        self.optimizers: list[Any] = []
        self.generators: list[Any] = []
        self.announced: set[int] = set()  # tables of modules: whoever changes them says so
        self._grow(fn, list(arguments))
        self.held = [t for t, _ in self.tensors.values()]
        self.groups = [(o, group_shape(o)) for o in self.optimizers]
        self.quick = Quick(self)

    def _grow(self, fn: Callable[..., Any], arguments: list[Any]) -> None:
        """Read functions until no new names turn up; names decide which attributes matter."""
        for _ in range(8):
            known = self._size()
            for table in (self.functions, self.objects, self.tensors, self.arrays):
                table.clear()
            for rows in (
                self.rows,
                self.lengths,
                self.contents,
                self.states,
                self.cells,
                self.optimizers,
                self.generators,
            ):
                rows.clear()
            self.visit(fn, getattr(fn, "__name__", type(fn).__name__))
            for value in arguments:
                if not isinstance(value, Tensor):
                    self.visit(value, f"argument {type(value).__name__}")
            if known == self._size():
                return

    def _size(self) -> tuple[int, ...]:
        asked = sum(len(names) for _, names in self.asked.values())
        return len(self.names), len(self.functions), asked

    def _names(self, value: Any) -> set[str]:
        """The attributes of an object that the code may look at."""
        own = self.asked.get(id(value))
        return self.names if own is None else self.names | own[1]

    # -- walking --------------------------------------------------------------------------------

    def visit(self, value: Any, label: str) -> None:
        """Note a value and what can be reached from it."""
        if isinstance(value, PLAIN):
            return
        if isinstance(value, Tensor):
            self._tensor(value, label)
        elif isinstance(value, np.ndarray):
            self.arrays.setdefault(id(value), (value, label))
        elif isinstance(value, types.FunctionType):
            self._function(value, label)
        elif is_generator(value):
            self.generators.append(value)
        elif isinstance(value, types.MethodType):
            if isinstance(value.__func__, types.FunctionType):
                self._function(value.__func__, label, value.__self__)
            self.visit(value.__self__, label)
        elif isinstance(value, functools.partial):
            for part in (value.func, list(value.args), value.keywords):
                self.visit(part, label)
        elif id(value) not in self.objects:
            self.objects[id(value)] = (value, label)
            self._object(value, label)

    def _tensor(self, t: Tensor, label: str) -> None:
        if id(t) not in self.tensors:
            if hasattr(t, "materialize"):
                raise NotReady(f"{label} has no shape yet")
            self.tensors[id(t)] = (t, label)

    def _object(self, value: Any, label: str) -> None:
        if is_optimizer(value):
            self._optimizer(value, label)
        elif is_scaler(value):
            for name, item in value.__dict__.items():
                self._row(value.__dict__, name, item, f"{label}.{name}")
        elif is_module(value):
            self._module(value, label)
        elif isinstance(value, (list, tuple, set, frozenset)):
            self._sequence(value, label)
        elif isinstance(value, dict):
            self._dict(value, label)
        elif isinstance(value, types.ModuleType):
            if is_user_module(value.__name__, getattr(value, "__file__", None)):
                self._named(value, vars(value), vars(value), label)
        elif isinstance(value, type):
            if is_user_module(value.__module__):
                self._named(value, vars(value), ClassDict(value), label)
        else:
            self._instance(value, label)

    def _instance(self, value: Any, label: str) -> None:
        inside = getattr(value, "__dict__", None)
        if inside is None:
            return
        cls = type(value)
        own = is_user_module(cls.__module__)
        call = getattr(value, "__wrapped__", None)
        if isinstance(call, types.FunctionType):
            self.visit(call, label)
        if own or cls.__module__.startswith(_PACKAGE):
            self._named(value, inside, inside, label)
        if own:
            self._methods(value, cls, label)

    def _methods(self, value: Any, cls: type, label: str) -> None:
        asked = self._names(value)
        for base in cls.__mro__:
            if not is_user_module(base.__module__):
                continue
            for name, member in vars(base).items():
                member = getattr(member, "fget", None) or getattr(member, "__func__", member)
                wanted = name in asked or name in ("forward", "__call__")
                if wanted and isinstance(member, types.FunctionType):
                    self._function(member, f"{label}.{name}", value)
                elif wanted and isinstance(member, PLAIN):
                    self.rows.append((f"{cls.__name__}.{name}", ClassDict(base), name, member))

    def _named(self, value: Any, inside: Any, table: Any, label: str) -> None:
        """Attributes whose names occur in the code."""
        for name in self._names(value).intersection(inside):
            self._row(table, name, inside[name], f"{label}.{name}")

    def _row(self, table: Any, name: str, value: Any, label: str) -> None:
        self.rows.append((label, table, name, value))
        self.visit(value, label)

    def _sequence(self, value: Any, label: str) -> None:
        if not isinstance(value, (tuple, frozenset)):
            self.lengths.append((label, value, len(value)))
        if len(value) <= _LONG:
            if isinstance(value, list):
                self.contents.append((label, value, tuple(value)))
            for i, item in enumerate(value):
                self.visit(item, f"{label}[{i}]")

    def _dict(self, value: dict, label: str) -> None:
        self.lengths.append((label, value, len(value)))
        if len(value) <= _LONG:
            for key, item in value.items():
                self._row(value, key, item, f"{label}[{key!r}]")

    def _function(self, fn: Any, label: str, owner: Any = None) -> None:
        key = (id(fn), id(owner))
        if key in self.functions:
            return
        self.functions[key] = (fn, owner)
        wrapped = getattr(fn, "__wrapped__", None)
        if isinstance(wrapped, types.FunctionType):
            self._function(wrapped, label, owner)
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
        for name, cell in cells.items():
            self.cells.append((name, cell, content(cell)))
            self.visit(content(cell), name)
        if not is_user_module(fn.__module__ or "", fn.__code__.co_filename):
            return
        for code in codes(fn.__code__):
            self._code(code, fn, cells, owner)
        for default in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()):
            self.visit(default, label)

    def _code(self, code: Any, fn: Any, cells: dict[str, Any], owner: Any) -> None:
        """Note what a piece of code names: variables, and attributes along their paths."""
        found = names_of(code)
        self.names.update(found.loose)
        self.mentioned.update(code.co_names)
        first = fn.__code__.co_varnames[:1]
        for kind, name, path in found.paths:
            if kind == "global":
                if name in fn.__globals__:
                    value = fn.__globals__[name]
                    if not path:
                        self._row(fn.__globals__, name, value, name)
                    self._follow(value, path)
            elif owner is not None and (name,) == first:
                self._follow(owner, path)
            elif name in cells:
                self._follow(content(cells[name]), path)
            else:
                self.names.update(path)

    def _follow(self, value: Any, path: tuple[str, ...]) -> None:
        """Note which attributes of which objects a path looks at."""
        for name in path:
            self.asked.setdefault(id(value), (value, set()))[1].add(name)
            value = peek(value, name)
            if value is MISSING:
                break

    def _module(self, m: Any, label: str) -> None:
        own = m.__dict__
        self.announced.add(id(own))
        asked = self._names(m) | attributes_used(type(m), "Module")  # type: ignore[arg-type]
        for name, value in own.items():
            if name in ("_parameters", "_buffers", "_modules"):
                self.announced.add(id(value))
                self.lengths.append((f"{label}.{name}", value, len(value)))
                for key, item in value.items():
                    self._row(value, key, item, f"{label}.{key}")
            elif name.endswith("hooks"):
                if "state_dict" in name:
                    continue
                self.announced.add(id(value))
                self.lengths.append((f"{label}.{name}", value, len(value)))
                for item in value.values():
                    self.visit(item, f"{label}.{name}")
            elif name in asked:
                self._row(own, name, value, f"{label}.{name}")
        if is_user_module(type(m).__module__):
            self._methods(m, type(m), label)

    def _optimizer(self, o: Any, label: str) -> None:
        self.optimizers.append(o)
        self.rows.append((f"{label}.state", o.__dict__, "state", o.state))
        self.rows.append((f"{label}.param_groups", o.__dict__, "param_groups", o.param_groups))
        for i, group in enumerate(o.param_groups):
            params = group["params"]
            self.contents.append((f"{label}.param_groups[{i}]", params, tuple(params)))
            for j, p in enumerate(params):
                self._tensor(p, f"{label}.param_groups[{i}].params[{j}]")
        self.states.append((f"{label}.state", o.state, list(o.state.values())))
        for held in list(o.state.values()):
            if isinstance(held, dict):
                for name, value in held.items():
                    if isinstance(value, Tensor):
                        self._row(held, name, value, f"{label}.{name}")
        for name in ("_pre_hooks", "_post_hooks"):
            hooks = getattr(o, name, {})
            self.announced.add(id(hooks))
            self.lengths.append((f"{label}.{name}", hooks, len(hooks)))
            for hook in hooks.values():
                self.visit(hook, f"{label}.{name}")

    # -- checking -------------------------------------------------------------------------------

    def intact(self) -> bool:
        """Whether everything is as it was, told quickly; False may be a false alarm."""
        return self.quick.unchanged()

    def changed(self) -> str | None:
        """What is no longer as it was, or None."""
        for label, table, key, value in self.rows:
            now = table.get(key, MISSING)
            if now is not value and not equal(now, value):
                return f"{label} changed from {short(value)} to {short(now)}"
        for label, container, n in self.lengths:
            if len(container) != n:
                return f"{label} had {n} entries and has {len(container)}"
        for label, container, items in self.contents:
            if len(container) != len(items) or any(
                a is not b and not equal(a, b) for a, b in zip(container, items)
            ):
                return f"the contents of {label} changed"
        for label, table, held in self.states:
            now = list(table.values())
            if len(now) != len(held) or any(a is not b for a, b in zip(now, held)):
                return f"{label} has other entries"
        for label, cell, value in self.cells:
            now = content(cell)
            if now is not value and not equal(now, value):
                return f"{label} changed from {short(value)} to {short(now)}"
        for o, shape in self.groups:
            if group_shape(o) != shape:
                return f"the options of {type(o).__name__} changed"
        return self._changed_tensor()

    def _changed_tensor(self) -> str | None:
        quick = self.quick
        for t, array, edge in zip(self.held, quick.arrays, quick.edges):
            label = self.tensors[id(t)][1]
            if t._a is not array:
                return f"{label} has new memory"
            if t._edge is not edge:
                return f"requires_grad or the history of {label} changed"
        if any(hooks_on(node) != hooks for node, hooks in quick.nodes):
            return "the hooks of a parameter changed"
        return None

    def owned_arrays(self) -> list[Any]:
        """NumPy arrays that the function can reach."""
        return [array for array, _ in self.arrays.values()]

    def owned(self) -> dict[int, str]:
        """Arrays that outlive the call, by id, with their names."""
        found = {id(t._a): label for t, label in self.tensors.values()}
        for array, label in self.arrays.values():
            found.setdefault(id(array), label)
        return found
