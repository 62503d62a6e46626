"""Python's own objects among a function's state: containers, instances, classes, modules."""

from __future__ import annotations

import operator
import sys
import types
from collections import OrderedDict, defaultdict, deque, namedtuple
from contextvars import ContextVar
from typing import Any

import numpy as np

from ...base.spelling import home_of
from ..record.effects import is_generator
from .found import TELLING
from .kinds import (
    MISSING,
    PLAIN,
    Attributes,
    ClassDict,
    InContext,
    OfClass,
    RawAttributes,
    class_table,
    functions_in,
    is_trusted,
    is_user_module,
    isinstance_of,
    look_of_array,
    lookup,
    other_parts,
    own_dict,
    peek,
    slot_is_set,
    unwrapped,
)
from .known import OF_TYPING, PACKAGE, PLAIN_BUILTINS, TYPES, is_known_type, may_call
from .library import Library

_LONG = 1024  # more entries than this are not compared before every call
_LARGE = 4096  # bytes of a NumPy array that are
_SEQUENCES = (list, tuple, set, frozenset, deque)
METHODS = (
    types.BuiltinFunctionType, types.MethodWrapperType, types.WrapperDescriptorType,
    types.MethodDescriptorType, types.ClassMethodDescriptorType, np.ufunc,
)  # fmt: skip
_TUPLE_GETTER = type(vars(namedtuple("_", "x"))["x"])
_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType, _TUPLE_GETTER)
_BY_C = (*METHODS, *_DESCRIPTORS)
# Names by which code comes to members of a class that another one hides.
_HIDING = frozenset(("super", "mro", "__mro__", "__base__", "__bases__"))
_PLAIN_MEMBERS = (types.FunctionType, property, staticmethod, classmethod)
_UNBOUND = (*_PLAIN_MEMBERS[:2], types.WrapperDescriptorType, types.MethodDescriptorType, *_DESCRIPTORS)
# What Python calls by itself: operators, conversions, protocols.
_SPECIAL = frozenset(
    [n for cls in (object, int, float, complex, list, dict, set, type) for n in dir(cls) if n[:2] == "__"]
) - {"__class__", "__doc__", "__dict__", "__module__", "__weakref__", "__new__"} | frozenset((
    "__call__ __get__ __set__ __delete__ __set_name__ __enter__ __exit__ __aenter__ __aexit__ __await__ __aiter__ "
    "__anext__ __next__ __getattr__ __missing__ __del__ __fspath__ __bytes__ __complex__ __length_hint__ __matmul__ "
    "__rmatmul__ __imatmul__ __copy__ __deepcopy__ __array__ __array_ufunc__ __array_function__ __torch_function__ "
    "__post_init__ __class_getitem__"
).split())  # fmt: skip
# What `type` keeps of a class beside its members.
_OF_CLASSES = frozenset(("__name__", "__qualname__", "__bases__", "__base__", "__mro__"))
# Objects without operators, iteration, calls or `with`: code can only use them by the name of a method.
_BY_METHODS = (np.random.Generator, np.random.RandomState, np.random.BitGenerator)
# Containers that have no attributes of their own.
_EXACT = frozenset((list, tuple, set, frozenset, deque, dict, OrderedDict, defaultdict))


class Objects(Library):
    """The part of a walk that knows Python's kinds of objects."""

    def _builtin(self, value: Any, label: str) -> None:
        """A function of C, whoever calls it; a bound one has an owner."""
        owner = getattr(value, "__self__", None)
        if any(value is plain for plain in PLAIN_BUILTINS.values()):
            self.refuse(f"{label} is {value.__name__}() by another name")
        self.by_identity |= value is operator.is_ or value is operator.is_not
        self.reflective |= getattr(value, "__name__", "") in TELLING
        if isinstance_of(value, types.BuiltinFunctionType) and not may_call(value):
            bound = owner is not None and not isinstance(owner, types.ModuleType)
            self.refuse(f"{label} is {f'a method of {_a(owner)}' if bound else 'not known'}")
        elif owner is not None and not isinstance(owner, (types.ModuleType, type)):
            self.visit(owner, label)

    def _container(self, value: Any, label: str) -> None:
        """Containers of Python and everything derived from them; other objects by their attributes."""
        cls = type(value)
        if is_generator(value):
            self.generators.append(value)
        if isinstance_of(value, (dict, *_SEQUENCES)) and _iterates_itself(cls):
            self.refuse(f"{label} says itself what it holds")
        elif isinstance_of(value, dict):
            self._dict(value, label)
            if isinstance_of(value, defaultdict):
                self._row(Attributes(value), "default_factory", value.default_factory, label)
        elif isinstance_of(value, _SEQUENCES):
            self._sequence(value, label)
        elif cls is ContextVar:
            now = value.get(MISSING)
            self.rows.append((label, InContext(value), "value", now))
            self.visit(now, label)
            return
        elif home_of(cls).partition(".")[0] == PACKAGE and not is_user_module(home_of(cls)):
            self._ours(value, label)
            return
        elif not self._is_comparable(value):
            if not self._is_untouched(value):
                self.refuse(f"{label} is {_a(value)}")
            return
        if cls not in _EXACT:
            self._instance(value, label)

    def _is_comparable(self, value: Any) -> bool:
        """Whether an object consists of its attributes."""
        cls = type(value)
        if cls is types.SimpleNamespace or cls is object:
            return True
        if cls in OF_TYPING:
            return not self._is_touched(value)
        return cls not in TYPES and is_known_type(cls) and not isinstance_of(value, BaseException)

    def _is_untouched(self, value: Any) -> bool:
        """Whether an object can only be used by its methods, and the code names none of them."""
        return issubclass(type(value), _BY_METHODS) and not self._is_touched(value)

    def _is_touched(self, value: Any) -> bool:
        """Whether the code may look at what the type of an object, one of C, keeps in it."""
        cls = type(value)
        names = self._names(value)
        return self._is_whole(value) or any(hasattr(cls, n) and not hasattr(object, n) for n in names)

    def _sequence(self, value: Any, label: str) -> None:
        if len(value) > _LONG:
            self.refuse(f"{label} has {len(value)} entries, more than are compared before a call")
            return
        items = tuple(value)
        if not isinstance_of(value, (tuple, frozenset)):
            self.contents.append((label, value, items))
        for i, item in enumerate(items):
            self.visit(item, f"{label}[{i}]")

    def _dict(self, value: dict, label: str) -> None:
        if len(value) > _LONG:
            self.refuse(f"{label} has {len(value)} entries, more than are compared before a call")
            return
        self.tables.append((label, value, tuple(value), tuple(value.values())))
        for key, item in list(value.items()):
            self.visit(key, f"a key of {label}")
            self.visit(item, f"{label}[{key!r}]" if key.__class__ in PLAIN else f"{label}[...]")

    def _array(self, value: np.ndarray, label: str) -> None:
        self.arrays.setdefault(id(value), (value, label))
        if value.dtype.hasobject or value.nbytes > _LARGE or type(value) is not np.ndarray:
            self.refuse(f"{label} is a NumPy array of {value.nbytes} bytes, more than are compared")
        else:
            self.bytes.append((label, value, look_of_array(value)))

    # -- objects of classes ---------------------------------------------------------------------

    def _instance(self, value: Any, label: str) -> None:
        """Attributes whose names occur in the code, wherever Python finds them."""
        cls = type(value)
        answers = isinstance(lookup(cls, "__getattribute__"), types.FunctionType)
        table = RawAttributes(value) if answers else Attributes(value)
        self.rows.append((f"the class of {label}", table, "__class__", cls))
        if answers:
            self._class_values(cls, label)
        if "__class__" in self._names(value) or "type" in self.mentioned:
            self.visit(cls, f"type({label})")
        if self.shows:
            self._says(cls, ("__qualname__",), f"type({label})")
        inside = own_dict(value)
        if inside is not None and inside is not value:
            self._dict_of(value, inside, label)
        if inside is not None and (answers or self._is_whole(value)):
            self.tables.append((label, inside, tuple(inside), tuple(inside.values())))
            for name, item in list(inside.items()):
                self.visit(item, f"{label}.{name}")
        own = self._asked(value)
        for name in sorted(self._names(value)):
            self._attribute(value, inside, name, label, name in own)
        self._methods(value, cls, label)

    def _kind_of_record(self, value: Any, label: str) -> None:
        """What an argument that is compared by what it holds has beside that: its class, and the methods that ran."""
        cls, inside = type(value), own_dict(value)
        self.visit(cls, f"type({label})")
        if self._is_whole(value):
            self._class_values(cls, label)
        for name in sorted(self._names(value)):
            member = lookup(cls, name)
            if name in inside and not hasattr(type(member), "__set__"):
                if member is not MISSING and hasattr(type(member), "__get__"):
                    self._class_names_of(type(member))
            elif (member is not MISSING or name in self._asked(value)) and not isinstance(member, _DESCRIPTORS):
                self._member(cls, name, member, f"{label}.{name}")
        self._methods(value, cls, label, is_record=True)

    def _class_values(self, cls: type, label: str) -> None:
        """Everything that a class holds beside functions, for code that looks it up by any name."""
        for base in cls.__mro__:
            if base not in TYPES and not is_trusted(home_of(base)):
                for name, member in list(vars(base).items()):
                    if not isinstance(member, (*_PLAIN_MEMBERS, *_BY_C)) and name[:2] != "__":
                        self._member(cls, name, lookup(cls, name), f"{label}.{name}")

    def _attribute(self, value: Any, inside: Any, name: str, label: str, asked: bool) -> None:
        cls = type(value)
        member = lookup(cls, name)
        at = f"{label}.{name}"
        if isinstance(member, types.MemberDescriptorType):
            there = member.__get__(value) if slot_is_set(member, value) else MISSING
            self._row(RawAttributes(value), name, there, at)
            return
        if cls in OF_TYPING and member is MISSING:  # its dict of attributes cannot be asked for
            raw = RawAttributes(value)
            self._row(raw, name, raw.get(name, MISSING), at)
            return
        data = member is not MISSING and hasattr(type(member), "__set__")
        if inside is not None and name in inside and not data:
            self._row(inside, name, inside[name], at)
            if member is not MISSING and hasattr(type(member), "__get__"):
                self._class_names_of(type(member))  # a `__set__` that it gets would come first
            return
        if member is MISSING and not asked:
            return
        if inside is not None and not data:
            self._row(inside, name, MISSING, at)
        if not isinstance(member, _DESCRIPTORS):
            self._member(cls, name, member, at)

    def _member(self, cls: type, name: str, member: Any, label: str) -> None:
        """What a class has under a name, for all of its objects."""
        if (id(cls), name) not in self.members:
            self.members.add((id(cls), name))
            table = ClassDict(cls) if member is MISSING else class_table(cls, name, member)
            self.rows.append((label, table, name, member))
            if type(member) not in _PLAIN_MEMBERS and not isinstance(member, _BY_C):
                self.visit(member, label)
            elif isinstance(member, types.BuiltinFunctionType):
                if not isinstance(member.__self__, type):
                    self.visit(member, label)  # a method of what the class does not show
            for part in other_parts(member):
                self.visit(part, label)
            for fn in functions_in(member):
                self._function_attributes(fn, label)
            if isinstance(member, property) and "__doc__" in self._names(member):
                self._row(Attributes(member), "__doc__", member.__doc__, f"{label}.__doc__")

    def _special(self, cls: type, name: str, member: Any, label: str) -> None:
        """A member that Python calls by itself, such as `__len__`; functions are noted where they run."""
        if isinstance(member, types.BuiltinFunctionType) and isinstance(member.__self__, type):
            self.visit(member.__self__, label)
        elif not isinstance(member, _UNBOUND) and (callable(member) or other_parts(member)):
            self._member(cls, name, member, label)
            if not isinstance(member, _PLAIN_MEMBERS):
                self.visit(member, label)

    def _methods(self, value: Any, cls: type, label: str, is_record: bool = False) -> None:
        """The functions of a class that ran, whatever called them."""
        for base in cls.__mro__:
            if is_trusted(home_of(base)) or base in TYPES:
                continue
            if self.seen is None and not is_user_module(home_of(base)):
                continue
            self._class_names(base)
            for name, member in list(vars(base).items()):
                if name in _SPECIAL and type(member) is not types.FunctionType:
                    self._special(base, name, member, f"{label}.{name}")
                if not _HIDING.isdisjoint(self.mentioned) and name in self._names(value):
                    if not functions_in(member) and not isinstance(member, _DESCRIPTORS):
                        self._member(base, name, member, f"{label}.{name}")
                for fn in functions_in(member):
                    if self._ran(fn, name, value):
                        at = f"{label}.{name}"
                        # One that another class hides was reached by super(), or by the name of its class.
                        owner = cls if lookup(cls, name) is member else base
                        self._member(owner, name, member, at)
                        inside = own_dict(value)
                        if inside is not None and isinstance(member, types.FunctionType) and not is_record:
                            if name not in inside and not name.startswith("__"):
                                self._row(inside, name, MISSING, at)
                        if isinstance(member, classmethod):
                            self.visit(cls, at)
                        self._function(fn, at, _bound(member, value))

    def _ran(self, fn: types.FunctionType, name: str, value: Any) -> bool:
        if self.seen is not None:
            return any(f.__code__ in self.seen.codes for f in unwrapped(fn))
        return name in self._names(value) or name in ("forward", "__call__")

    def _class_names(self, base: type) -> None:
        """A member that a class gets later may come before one that was found."""
        if id(base) not in self.classes:
            self.classes[id(base)] = (f"class {base.__name__}", base, tuple(vars(base)), None)

    def _class_names_of(self, cls: type) -> None:
        for base in cls.__mro__:
            if base not in TYPES and not is_trusted(home_of(base)):
                self._class_names(base)

    def _says(self, cls: type, names: Any, label: str) -> None:
        """What a class says of itself, which is no member of it. Of a type of C it says the same for ever, in new strings."""
        if not cls.__flags__ & 1 << 9:
            return
        for name in sorted(_OF_CLASSES.intersection(names)):
            if (id(cls), name) not in self.members:
                self.members.add((id(cls), name))
                table = OfClass(cls)
                self.rows.append((f"{label}.{name}", table, name, table.get(name, None)))

    def _class(self, cls: type, label: str) -> None:
        if cls in TYPES or is_trusted(home_of(cls)):
            self._our_classes(cls)
            return
        if not is_known_type(cls):
            self.refuse(f"{label} is the type {cls.__module__}.{cls.__name__}, which is not known")
            return
        if self.seen is None and not is_user_module(home_of(cls)):
            return
        if self._is_whole(cls):
            self._class_values(cls, label)
        self._says(cls, self._names(cls), label)
        if "__abstractmethods__" in vars(cls):  # nobody can make an object where some are left
            held = vars(cls)["__abstractmethods__"]
            self._member(cls, "__abstractmethods__", held, f"{label}.__abstractmethods__")
        for name in sorted(self._names(cls)):
            member = lookup(cls, name)
            if member is MISSING:
                member = lookup(type(cls), name)
                if member is not MISSING and not isinstance(member, _DESCRIPTORS):
                    self._member(type(cls), name, member, f"{label}.{name}")
            elif not isinstance(member, _DESCRIPTORS):
                self._member(cls, name, member, f"{label}.{name}")
                if functions_in(member):
                    for fn in functions_in(member):
                        self._function(fn, f"{label}.{name}")
        if self.shows:
            self._says(cls, ("__qualname__",), label)
        self._methods(cls, cls, label)
        self._methods(cls, type(cls), label)

    def _python_module(self, value: types.ModuleType, label: str) -> None:
        own = set(self._asked(value))
        if "__dict__" in own or id(value) in self.whole:
            self.refuse(f"all names of the module {value.__name__} are looked at")
        names = own if is_trusted(value.__name__) or _is_library(value) else self._names(value)
        table = vars(value)
        for name in sorted(names):
            item = table.get(name, MISSING)
            if item is MISSING:
                if name in own and not is_trusted(value.__name__):
                    self._row(table, name, MISSING, f"{label}.{name}")
                self.visit(peek(value, name), f"{label}.{name}")
            elif not isinstance(item, types.ModuleType) or not is_trusted(value.__name__):
                self._row(table, name, item, f"{label}.{name}")
            else:
                self.visit(item, f"{label}.{name}")


def _iterates_itself(cls: type) -> bool:
    """Whether a container's class has code of its own for what lies in it: looking there would run it."""
    return any(isinstance(lookup(cls, n), types.FunctionType) for n in _LOOKING)


_LOOKING = ("__iter__", "__len__", "values")


def _bound(member: Any, value: Any) -> Any:
    """The first argument of a method that is called on a value, where that is known."""
    if isinstance(member, staticmethod):
        return None
    if isinstance_of(value, type):
        return value if isinstance(member, classmethod) else None
    return type(value) if isinstance(member, classmethod) else value


def _is_library(module: types.ModuleType) -> bool:
    return module.__name__.partition(".")[0] in sys.stdlib_module_names


def _a(value: Any) -> str:
    """What a value is, in words."""
    cls = type(value)
    where = "" if cls.__module__ in ("builtins", "__main__") else f"{cls.__module__}."
    return f"a {where}{cls.__qualname__}"
