"""What Python state a call depends on: found by walking from the function along what its code ran.

Everything the code can reach is either compared before each replay or named as the reason why there is none.
Which attributes of which objects matter is decided by names: those of a path (`self.cfg.scale`) on the object the
path leads to, those of values that are only known while the code runs on every object that can be reached.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import types
from collections.abc import Hashable
from typing import Any

import numpy as np

from ...core.tensor import Tensor
from .found import TELLING
from .kinds import (
    MISSING,
    PLAIN,
    Attributes,
    content,
    is_module,
    is_optimizer,
    is_scaler,
    is_trusted,
    is_user_module,
    isinstance_of,
    lookup,
    peek,
    unwrapped,
)
from .names import codes, names_of
from .objects import METHODS, Objects

# What an abstract class keeps of classes that it took in is asked by `isinstance` alone, whose answers are watched.
_LEAVES = (
    range, slice, type(...), type(NotImplemented), np.dtype, np.number, np.bool_, np.character, np.datetime64,
    types.CodeType, type(vars(Hashable)["_abc_impl"]),
)  # fmt: skip
_AROUND = (types.FunctionType, types.MethodType, functools.partial, Tensor)
# Builtins that other functions stand in for while a call is recorded.
_PATCHED = frozenset("getattr hasattr setattr delattr vars dir print input open".split())

MOST_OBJECTS = 4_000  # of a function's state: comparing more before each call would cost more than it saves
# What a function has beside its attributes: by value, and what leads on to all that it can see.
_FIELDS = (
    "__annotations__", "__code__", "__defaults__", "__doc__", "__kwdefaults__", "__module__", "__name__", "__qualname__",
)  # fmt: skip
_INSIDES = ("__builtins__", "__closure__", "__globals__")


class Walk(Objects):
    """The part of a walk that reads code.

    `seen` is what earlier calls ran. Without it the whole code of the function is taken to run, as a first
    guess, and nothing is refused.
    """

    def _code(self, code: Any, fn: Any, cells: dict[str, Any], owner: Any) -> None:
        """Note what a piece of code names: variables, and attributes along their paths."""
        ran = None if self.seen is None else frozenset(self.seen.codes.get(code, ()))
        found = names_of(code, ran)
        self.names.update(found.loose)
        self.mentioned.update(found.all)
        self.by_identity |= found.by_identity
        self.shows |= found.shows
        self.raises_again |= found.raises_again
        self.reflective |= not TELLING.isdisjoint(found.all)
        first = fn.__code__.co_varnames[:1]
        for kind, name, path in sorted(found.paths):
            if kind == "global":
                self._global(fn, name, path)
            elif kind == "local" and owner is not None and (name,) == first and code is fn.__code__:
                self._follow(owner, path)
            elif kind == "cell" and name in cells:
                cell = cells[name]
                if name == "__class__" and "super" in found.all:
                    continue  # what super() asks for; the class of an object is compared with it
                if not path:
                    self.cells.setdefault(id(cell), (name, cell, content(cell)))
                    self.visit(content(cell), name)
                self._follow(content(cell), path)
            else:
                self.names.update(path)
        for level, name, wanted in sorted(found.imports):
            self._import(fn.__globals__, level, name, wanted)

    def _global(self, fn: Any, name: str, path: tuple[str, ...]) -> None:
        table, below = fn.__globals__, fn.__builtins__
        value = table.get(name, MISSING)
        if not path:
            self._row(table, name, value, name)
        if value is MISSING:
            value = below.get(name, MISSING)
            if not path and value is not MISSING and name not in _PATCHED:
                self._row(below, name, value, name)
        self._follow(value, path)

    def _follow(self, value: Any, path: tuple[str, ...]) -> None:
        """Note which attributes of which objects a path looks at."""
        for i, name in enumerate(path):
            if value is MISSING:
                self.names.update(path[i:])
                return
            if value is object or value is type:
                self.reflective |= name in ("__getattribute__", "__setattr__", "__delattr__")
            if type(value) not in PLAIN:
                self.asked.setdefault(id(value), (value, set()))[1].add(name)
            value = peek(value, name)

    def _import(self, table: dict, level: int, name: str, wanted: tuple[str, ...]) -> None:
        """An import statement inside a function gives what is imported already."""
        if level:
            package = table.get("__package__") or table.get("__name__", "").rpartition(".")[0]
            name = importlib.util.resolve_name("." * level + name, package)
        for part in (name, name.partition(".")[0]):
            self._row(sys.modules, part, sys.modules.get(part, MISSING), f"import {part}")
        for attribute in wanted:
            self._follow(sys.modules.get(name, MISSING), (attribute,))

    # -- walking --------------------------------------------------------------------------------

    def visit(self, value: Any, label: str) -> None:
        """Note a value and what can be reached from it."""
        cls = type(value)
        if cls in PLAIN or issubclass(cls, _LEAVES) or value is MISSING:
            return
        if not self._is_answering(value):
            self.refuse(f"{label} answers for its attributes by itself")
        elif isinstance_of(value, Tensor):
            self._tensor(value, label)
        elif isinstance_of(value, types.FunctionType):
            self._function(value, label)
        elif isinstance_of(value, types.MethodType):
            if isinstance(value.__func__, types.FunctionType):
                self._function(value.__func__, label, value.__self__)
            else:
                self.visit(value.__func__, label)
            self.visit(value.__self__, label)
        elif id(value) not in self.objects:
            if len(self.objects) >= MOST_OBJECTS:
                self.refuse(f"what it can reach is more than {MOST_OBJECTS:,} objects")
                return
            self.objects[id(value)] = (value, label)
            self._object(value, label)

    def _is_answering(self, value: Any) -> bool:
        """Whether attributes are found as usual; code of a class that finds them is read as well."""
        cls = type(value)
        finds = lookup(cls, "__getattribute__")
        if not isinstance(finds, types.FunctionType):
            return True
        if lookup(cls, "__class__") is not object.__dict__["__class__"]:
            return False
        return "__class__" not in finds.__code__.co_consts

    def _object(self, value: Any, label: str) -> None:
        if isinstance_of(value, np.ndarray):
            self._array(value, label)
        elif isinstance_of(value, np.generic):  # it may lie in the memory of an array
            self.refuse(f"{label} is a {type(value).__name__} of NumPy")
        elif isinstance_of(value, functools.partial):
            for name in ("func", "args", "keywords"):
                self._row(Attributes(value), name, getattr(value, name), f"{label}.{name}")
            self._instance(value, label)
        elif is_optimizer(value):
            self._optimizer(value, label)
        elif is_scaler(value):
            self._whole(value, label)
        elif is_module(value):
            self._module(value, label)
        elif isinstance_of(value, types.ModuleType):
            self._python_module(value, label)
        elif isinstance_of(value, type):
            self._class(value, label)
        elif isinstance_of(value, METHODS):
            self._builtin(value, label)
        else:
            self._container(value, label)

    # -- functions ------------------------------------------------------------------------------

    def _function(self, fn: Any, label: str, owner: Any = None) -> None:
        key = (id(fn), id(owner))
        if key in self.functions:
            return
        self.functions[key] = (fn, owner)
        for inner in unwrapped(fn)[1:]:
            self._function(inner, label, owner)
        cells = dict(zip(fn.__code__.co_freevars, fn.__closure__ or ()))
        if not is_trusted(fn.__module__ or ""):
            self._function_attributes(fn, label)
        if is_trusted(fn.__module__ or "") or self._unread(fn):
            for cell in cells.values():  # a decorator of ours around a function, a module, a tensor
                inside = content(cell)
                if isinstance(inside, _AROUND) or is_module(inside):
                    self.visit(inside, label)
            return
        if self.seen is not None:
            self._parts(fn, label)
        else:  # a guess needs what lives in defaults: networks and their optimisers
            for value in (*(fn.__defaults__ or ()), *(fn.__kwdefaults__ or {}).values()):
                self.visit(value, label)
        for code in codes(fn.__code__):
            if self.seen is None or code in self.seen.codes:
                self.read.add(code)
                self._code(code, fn, cells, owner)

    def _function_attributes(self, fn: Any, label: str) -> None:
        if self._is_whole(fn):
            self._all_of(vars(fn), label)
        for name, item in list(vars(fn).items()):
            if name != "__wrapped__" and name in self._names(fn):
                self._row(vars(fn), name, item, f"{label}.{name}")
        wanted = self._names(fn)
        if vars(fn) and not wanted.isdisjoint(vars(fn)):
            self._dict_of(fn, vars(fn), label)
        for name in _FIELDS:
            if name in wanted:
                self._row(Attributes(fn), name, getattr(fn, name), f"{label}.{name}")
        for name in _INSIDES:
            if name in wanted:
                self.refuse(f"{label}.{name} is asked for")
        for name in sorted(self.asked.get(id(fn), (None, ()))[1]):
            if name not in vars(fn) and not hasattr(types.FunctionType, name):
                self._row(vars(fn), name, MISSING, f"{label}.{name}")

    def _unread(self, fn: Any) -> bool:
        if self.seen is None:
            return not is_user_module(fn.__module__ or "", fn.__code__.co_filename)
        return fn.__code__ not in self.seen.codes

    def _parts(self, fn: Any, label: str) -> None:
        """A function's code and defaults, which can be replaced while it stays the same object."""
        table = Attributes(fn)
        self.rows.append((f"the code of {label}", table, "__code__", fn.__code__))
        for name in ("__defaults__", "__kwdefaults__"):
            value = getattr(fn, name)
            self.rows.append((f"{label}.{name}", table, name, value))
            self.visit(value, f"{label}.{name}")
