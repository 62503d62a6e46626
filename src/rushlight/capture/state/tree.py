"""Arguments and results as trees: their tensors in order, and the rest as a hashable shape."""

from __future__ import annotations

from abc import ABCMeta
from collections import OrderedDict
from collections.abc import Callable, Container, Iterable
from enum import Enum
from functools import lru_cache
from types import FunctionType, MemberDescriptorType
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from ...base.spelling import home_of
from ...core.tensor import Tensor
from .kinds import is_module, is_optimizer, is_trusted, own_dict
from .known import OF_TYPING, made_by_python

_OURS = __name__.partition(".")[0] + ".base."  # dtypes, devices, sizes
_PLAIN = (bool, int, float, complex, str, bytes, type(None))


class Same:
    """Stands for an object that can only be compared by identity; keeps it alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Same) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def flatten(value: Any, tensors: list[Tensor], leaf: Callable[[Any], Any] = Same) -> Any:
    """Append the tensors of `value` to the list and return what is left, hashable.

    Two trees with equal rests are the same to any code: numbers by type and bit, objects by identity, or by what `leaf`
    makes of them.
    """
    cls = type(value)  # isinstance() and `__class__` would run a `__getattribute__` of the user's
    if issubclass(cls, Tensor):
        tensors.append(value)
        return Tensor
    if cls is float:
        return (cls, value.hex())  # 0.0 equals -0.0, and NaN not even itself
    if cls is complex:
        return (cls, value.real.hex(), value.imag.hex())
    if cls in _PLAIN:
        return (cls, value)
    if is_container(cls):
        if issubclass(cls, dict):
            items = [(flatten(k, tensors, leaf), flatten(v, tensors, leaf)) for k, v in _entries(value)]
        else:
            items = [flatten(v, tensors, leaf) for v in _entries(value)]
        return (cls, tuple(items), _rest(value, tensors, leaf))
    if cls is slice:
        return (cls, flatten((value.start, value.stop, value.step), tensors, leaf))
    if cls is range or home_of(cls).startswith(_OURS):
        return (cls, value) if cls.__hash__ is not None else Same(value)
    if issubclass(cls, np.generic):
        return (cls, value.tobytes())
    return leaf(value)


_BARE = (tuple, list, dict, OrderedDict)
_containers: WeakKeyDictionary[type, bool] = WeakKeyDictionary()


def is_container(cls: type) -> bool:
    """Whether objects of a class are tuples, lists or dicts with nothing beside their entries and a dict of attributes.

    Slots, the factory of a `defaultdict` and the hidden fields of `time.struct_time` are more than that.
    """
    if cls in _BARE:
        return True
    if not issubclass(cls, _BARE):
        return False
    found = _containers.get(cls)
    if found is None:
        own = [base for base in cls.__mro__ if base not in _BARE and base is not object]
        found = _containers[cls] = all(map(_adds_no_fields, own))
    return found


def _adds_no_fields(cls: type) -> bool:
    return made_by_python(cls) and not any(isinstance(member, MemberDescriptorType) for member in vars(cls).values())


def _entries(value: Any) -> Any:
    """What a container holds, of dicts the items, whatever a class of its own makes of being asked."""
    cls = type(value)
    if issubclass(cls, dict):
        return (OrderedDict if issubclass(cls, OrderedDict) else dict).items(value)
    return (tuple if issubclass(cls, tuple) else list).__iter__(value)


def _rest(value: Any, tensors: list[Tensor], leaf: Callable[[Any], Any]) -> Any:
    """The attributes of a container of a class of its own."""
    own = own_dict(value)
    return flatten(own, tensors, leaf) if own else None


class Records:
    """A tree some of whose objects are compared by what they hold: batches, caches, of classes that come as ever new objects."""

    def __init__(self, given: Any, tensors: list[Tensor], anew: Container[type]) -> None:
        self.tensors, self.anew = tensors, anew
        self.objects: list[Any] = []  # those, in order
        self._places: dict[int, int] = {}
        self.shape = flatten(given, tensors, self._leaf if anew else Same)

    def _leaf(self, value: Any) -> Any:
        return self._described(value) if type(value) in self.anew else Same(value)

    def _inside(self, value: Any) -> Any:
        return self._described(value) if is_record(value) else Same(value)

    def _described(self, value: Any) -> Any:
        at = self._places.setdefault(id(value), len(self.objects))
        if at < len(self.objects):
            return (type(value), at)
        self.objects.append(value)
        own = own_dict(value)
        return (type(value), tuple(own), tuple([flatten(v, self.tensors, self._inside) for v in own.values()]))

    def contents(self) -> list[Any]:
        """What the objects hold beside each other."""
        return [v for o in self.objects for v in own_dict(o).values() if id(v) not in self._places]

    def place(self, value: Any) -> int | None:
        """Which of the objects a value is."""
        return self._places.get(id(value))


_PARTS = frozenset(("__getattribute__", "__new__"))  # members of a class that make its objects more than what they hold


def is_record(value: Any) -> bool:
    """Whether an object consists of its attributes alone, none of which is hidden: of a class of the user's, no part of ours."""
    cls: Any = type(value)
    return _makes_records(cls) and own_dict(value) is not None and not (is_module(value) or is_optimizer(value))


@lru_cache(maxsize=512)
def _makes_records(cls: type) -> bool:
    bases = [base for base in cls.__mro__ if base is not object and base not in OF_TYPING]
    return (
        type(cls) in (type, ABCMeta)
        and all(map(_adds_no_fields, bases))
        and not any(_PARTS & vars(base).keys() or is_trusted(home_of(base)) for base in bases)
        and not issubclass(cls, (BaseException, *_BARE))
    )


def holds_values(value: Any, seen: set[int] | None = None) -> bool:
    """Whether a record holds tensors, plain values, classes, functions and records like it, so that an equal one can stand for it."""
    seen = set() if seen is None else seen
    cls = type(value)
    if (
        id(value) in seen
        or issubclass(cls, (Tensor, type, FunctionType, np.generic, Enum))
        or cls in (*_PLAIN, slice, range)
    ):
        return True
    seen.add(id(value))
    if is_container(cls):
        parts = [p for e in _entries(value) for p in (e if issubclass(cls, dict) else (e,))]
        return all(holds_values(p, seen) for p in (*parts, *(own_dict(value) or {}).values()))
    if home_of(cls).startswith(_OURS):
        return True
    return is_record(value) and all(holds_values(p, seen) for p in own_dict(value).values())


def by_value(values: Iterable[Any], found: list[Any]) -> None:
    """Append everything in trees that `flatten` compares by what it is and not by which object it is, containers included."""
    for value in values:
        cls = type(value)
        if cls in _PLAIN or cls in (slice, range):
            found.append(value)
        elif issubclass(cls, Tensor):
            continue
        elif is_container(cls):
            found.append(value)
            if issubclass(cls, dict):
                by_value([part for entry in _entries(value) for part in entry], found)
            else:
                by_value(_entries(value), found)
            if cls not in _BARE:
                by_value((own_dict(value) or {}).values(), found)
        elif issubclass(cls, np.generic) or home_of(cls).startswith(_OURS):
            found.append(value)


def rebuild(value: Any, leaf: Callable[[Any], Any], made: Container[type] = ()) -> Any:
    """A copy of a tree with `leaf(v)` in place of everything that is not a container, or a record of the classes `made`."""
    parts = _parts(value)
    cls: Any = type(value)
    if parts is None and cls not in made:
        return leaf(value)
    if cls is list:
        return [rebuild(v, leaf, made) for v in parts]
    if cls is dict:
        return {key: rebuild(v, leaf, made) for key, v in parts}
    if issubclass(cls, tuple):
        return tuple.__new__(cls, [rebuild(v, leaf, made) for v in parts])
    again = cls.__new__(cls)
    put = OrderedDict.__setitem__ if issubclass(cls, OrderedDict) else dict.__setitem__
    for key, v in parts or ():
        put(again, key, rebuild(v, leaf, made))
    own = own_dict(value)
    if own:
        again.__dict__.update({key: rebuild(v, leaf, made) for key, v in own.items()})
    return again


def new_records(value: Any, is_known: Callable[[Any], bool]) -> frozenset[type]:
    """Classes of those objects in a result that it alone has: they are made anew for each call, of what they hold."""
    found: set[type] = set()
    others: set[type] = set()
    seen: set[int] = set()
    stack = [value]
    while stack:
        value = stack.pop()
        cls, parts = type(value), _parts(value)
        if parts is not None:
            stack += [p[1] for p in parts] if issubclass(cls, dict) else parts
            stack += (own_dict(value) or {}).values() if issubclass(cls, dict) else ()
        elif is_record(value):
            (others if id(value) in seen or is_known(value) else found).add(cls)
            if id(value) not in seen:
                seen.add(id(value))
                stack += own_dict(value).values()
    return frozenset(found - others)


def _parts(value: Any) -> Any:
    """What a container of a kind that can be made again holds (of dicts the items); None for everything else."""
    cls = type(value)
    if cls is tuple or cls is list:
        return value
    if cls is dict or cls is OrderedDict:
        return list(value.items())
    if issubclass(cls, tuple):
        whole = hasattr(cls, "_fields") and not own_dict(value)
        return tuple.__iter__(value) if whole else None
    if issubclass(cls, dict) and not isinstance(cls.__new__, FunctionType):
        base = OrderedDict if issubclass(cls, OrderedDict) else dict
        plain = cls.__basicsize__ - base.__basicsize__ <= 16 and not hasattr(cls, "__slots__")
        known = cls.__mro__[-2] is dict and all(map(_is_of_python, cls.__mro__[: cls.__mro__.index(base)]))
        return list(base.items(value)) if plain and known else None
    return None


def _is_of_python(cls: type) -> bool:
    """Whether a class statement made it: no fields beside a dict. `defaultdict` has one, and is no static type from 3.12 on."""
    grown = cls.__base__ is None or cls.__basicsize__ != cls.__base__.__basicsize__
    return bool(cls.__flags__ & 1 << 9) and ("__dict__" in vars(cls) or not grown)


def leaves(value: Any, made: Container[type] = ()) -> list[Any]:
    """Everything in a tree that is not a container, or a record of the classes `made`, in order."""
    found: list[Any] = []
    rebuild(value, found.append, made)
    return found


def containers(value: Any, made: Container[type] = ()) -> list[Any]:
    """The lists, dicts and records of a tree, which can be changed."""
    parts = _parts(value)
    if parts is None and type(value) not in made:
        return []
    has_names = issubclass(type(value), dict) or parts is None
    found = [] if issubclass(type(value), tuple) else [value]
    for part in parts or ():
        found += containers(part[1] if has_names else part, made)
    for part in (own_dict(value) or {}).values() if has_names else ():
        found += containers(part, made)
    return found
