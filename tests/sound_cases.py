"""Small functions and the ways in which the Python state around them changes, for test_compile_sound.

A case makes a function of one tensor, what happens before call i, and perhaps what the function has done beside
computing. It says whether the function is one program afterwards ("program") or runs with Python ("traced").
"""

from __future__ import annotations

import abc
import argparse
import array
import collections
import contextvars
import copy
import dataclasses
import enum
import functools
import itertools
import math
import operator
import random
import threading
import types
import typing
import weakref

import numpy as np

import rushlight as torch
from rushlight import nn

CASES = {}


def case(kind, at=4):
    def add(make):
        assert make.__name__ not in CASES, make.__name__
        CASES[make.__name__] = (make, kind)
        return make

    return add


def late(i, a, b):
    """a in the first calls, which are recorded and replayed, b in later ones."""
    return a if i < 4 else b


# -- numbers and other plain values ------------------------------------------------------------------


def _plain(name, a, b, use=lambda x, v: x * v):
    def closure():
        v = a

        def fn(x):
            return use(x, v)

        def change(i):
            nonlocal v
            v = late(i, a, b)

        return fn, change  # fmt: skip

    CASES[f"plain_{name}"] = (closure, "program")


_plain("int", 2, 3)
_plain("int_to_float", 2, 2.0, lambda x, v: x.to(torch.int64) * v)
_plain("bool_to_int", True, 1, lambda x, v: x.to(torch.int64).bool() * v)
_plain("zero_sign", 0.0, -0.0, lambda x, v: torch.signbit(x * v))
_plain("nan", 1.0, math.nan)
_plain("inf", math.inf, -math.inf)
_plain("complex", 1 + 0j, 1 - 0.0j, lambda x, v: torch.tensor(v).imag + x)
_plain("str", "sum", "mean", lambda x, v: getattr(x, v)())
_plain("bytes", b"a", b"b", lambda x, v: x * v[0])
_plain("none", None, 2.0, lambda x, v: x if v is None else x * v)
_plain("big_int", 2**40, 2**41, lambda x, v: x * (v % 7))
_plain("tuple", (1, 2), (1, 3), lambda x, v: x * v[1])
_plain("tuple_type", (1, 2), (1, 2.0), lambda x, v: x.to(torch.int64) * v[1])
_plain("nested_tuple", (1, (2, 0.0)), (1, (2, -0.0)), lambda x, v: torch.signbit(x * v[1][1]))
_plain("range", range(3), range(4), lambda x, v: x * sum(v))
_plain("slice", slice(0, 2), slice(1, 3), lambda x, v: x[v])
_plain("frozenset", frozenset({1, 2}), frozenset({1, 5}), lambda x, v: x * max(v))
_plain("dtype", torch.float32, torch.float64, lambda x, v: x.to(v))
_plain("numpy_scalar", np.float32(2), np.float32(3), lambda x, v: x * float(v))
_plain("ellipsis", ..., None, lambda x, v: x[v] * 2)
_plain("function", math.sin, math.cos, lambda x, v: x * v(1.0))
_plain("lambda", lambda t: t * 2, lambda t: t * 3, lambda x, v: v(x))
_plain("builtin", max, min, lambda x, v: x * v(2, 3))
_plain("class", float, int, lambda x, v: x * v("3"))
_plain("partial", functools.partial(torch.add, alpha=2), functools.partial(torch.add, alpha=3),
       lambda x, v: v(x, x))  # fmt: skip


# -- containers ----------------------------------------------------------------------------------------


class _Proxy:
    def __init__(self, inner):
        self.inner, self.view = inner, types.MappingProxyType(inner)


class _List(list):
    extra = 2.0


_Point = collections.namedtuple("_Point", "x y")


def _container(name, make, change, use, kind="program"):
    def closure():
        c = make()

        def fn(x):
            return use(x, c)

        return fn, lambda i: change(c) if i == 4 else None  # fmt: skip

    CASES[f"container_{name}"] = (closure, kind)


def _set(key, value):
    return lambda c: c.__setitem__(key, value)


_container("list", lambda: [1.0, 2.0], _set(1, 5.0), lambda x, c: x * c[1])
_container("list_type", lambda: [2], _set(0, 2.0), lambda x, c: x.to(torch.int64) * c[0])
_container("list_zero", lambda: [0.0], _set(0, -0.0), lambda x, c: torch.signbit(x * c[0]))
_container("list_longer", lambda: [1.0], lambda c: c.append(2.0), lambda x, c: x * len(c))
_container("list_order", lambda: [1.0, 2.0], lambda c: c.reverse(), lambda x, c: x * c[0])
_container(
    "list_of_lists", lambda: [[1.0], [2.0]], lambda c: c[1].append(3.0), lambda x, c: x * sum(c[1])
)
_container("list_500", lambda: list(range(500)), _set(400, 9), lambda x, c: x * c[400])
_container(
    "list_5000", lambda: list(range(5000)), _set(4000, 9), lambda x, c: x * c[4000], "traced"
)
_container("dict", lambda: {"a": 1.0}, _set("a", 5.0), lambda x, c: x * c["a"])
_container("dict_added", lambda: {"a": 1.0}, _set("b", 5.0), lambda x, c: x * c.get("b", 2.0))
_container("dict_order", lambda: {"a": 1.0, "b": 2.0}, lambda c: c.update(a=c.pop("a")),
           lambda x, c: x * next(iter(c.values())))  # fmt: skip
_container("dict_key_type", lambda: {1: 2.0}, lambda c: (c.pop(1), c.update({1.0: 2.0})),
           lambda x, c: x.to(torch.int64) * next(iter(c)))  # fmt: skip
_container("dict_300", lambda: {i: i for i in range(300)}, _set(299, 1), lambda x, c: x * c[299])
_container(
    "dict_2000",
    lambda: {i: i for i in range(2000)},
    _set(1999, 1),
    lambda x, c: x * c[1999],
    "traced",
)
_container(
    "dict_of_dicts",
    lambda: {"a": {"b": 1.0}},
    lambda c: c["a"].update(b=3.0),
    lambda x, c: x * c["a"]["b"],
)
_container("set", lambda: {1, 2}, lambda c: c.add(7), lambda x, c: x * max(c))
_container(
    "set_replaced", lambda: {1, 2}, lambda c: (c.discard(2), c.add(9)), lambda x, c: x * max(c)
)
_container(
    "set_300",
    lambda: set(range(300)),
    lambda c: (c.discard(5), c.add(900)),
    lambda x, c: x * max(c),
)
_container(
    "set_type",
    lambda: {1},
    lambda c: (c.clear(), c.add(1.0)),
    lambda x, c: x.to(torch.int64) * max(c),
)
_container(
    "tuple_of_lists", lambda: ([1.0],), lambda c: c[0].append(2.0), lambda x, c: x * sum(c[0])
)
_container("ordered", lambda: collections.OrderedDict(a=1.0, b=2.0), lambda c: c.move_to_end("a"),
           lambda x, c: x * list(c.values())[0])  # fmt: skip
_container(
    "defaultdict",
    lambda: collections.defaultdict(float, a=1.0),
    _set("a", 2.0),
    lambda x, c: x * c["a"],
)
_container("default_factory", lambda: collections.defaultdict(lambda: 1.0, {"a": 1.0}),
           lambda c: setattr(c, "default_factory", lambda: 9.0), lambda x, c: x * copy.copy(c)["z"])  # fmt: skip
_container(
    "counter",
    lambda: collections.Counter("aab"),
    lambda c: c.update("bbbb"),
    lambda x, c: x * c["b"],
)
_container(
    "deque",
    lambda: collections.deque([1.0, 2.0], 5),
    lambda c: c.append(4.0),
    lambda x, c: x * c[-1],
)
_container(
    "chain_map",
    lambda: collections.ChainMap({}, {"a": 1.0}),
    _set("a", 3.0),
    lambda x, c: x * c["a"],
)
_container(
    "user_dict", lambda: collections.UserDict(a=1.0), _set("a", 3.0), lambda x, c: x * c["a"]
)
_container(
    "user_list",
    lambda: collections.UserList([1.0]),
    lambda c: c.append(3.0),
    lambda x, c: x * len(c),
)
_container("array", lambda: array.array("d", [1.0]), _set(0, 3.0), lambda x, c: x * c[0], "traced")
_container("bytearray", lambda: bytearray(b"a"), _set(0, 98), lambda x, c: x * c[0], "traced")
_container("ndarray", lambda: np.array([1.0, 2.0]), _set(1, 5.0), lambda x, c: x * float(c[1]))
_container(
    "ndarray_large", lambda: np.ones(5000), _set(1, 5.0), lambda x, c: x * float(c[1]), "traced"
)
_container("ndarray_objects", lambda: np.array([[1.0], [2]], object), lambda c: c[0].append(2.0) if isinstance(c[0], list) else _set(0, 9.0)(c),
           lambda x, c: x * (len(c[0]) if isinstance(c[0], list) else float(np.sum(c[0]))), "traced")  # fmt: skip
_container(
    "mapping_proxy",
    lambda: _Proxy({"a": 1.0}),
    lambda c: c.inner.update(a=4.0),
    lambda x, c: x * c.view["a"],
    "traced",
)
_container(
    "list_of_objects",
    lambda: [types.SimpleNamespace(s=1.0)],
    lambda c: setattr(c[0], "s", 4.0),
    lambda x, c: x * c[0].s,
)
_container(
    "list_of_tensors",
    lambda: [torch.ones(3), torch.ones(3)],
    _set(1, torch.zeros(3)),
    lambda x, c: x + c[1],
)
_container(
    "list_subclass",
    lambda: _List([1.0]),
    lambda c: setattr(c, "extra", 5.0),
    lambda x, c: x * c.extra,
)
_container(
    "named_tuple", lambda: [_Point(1.0, 2.0)], _set(0, _Point(1.0, 3.0)), lambda x, c: x * c[0].y
)
_container("heap", lambda: [3, 1, 2], _set(0, 9), lambda x, c: x * sorted(c)[0])
_container(
    "dict_of_functions", lambda: {"f": torch.sin}, _set("f", torch.cos), lambda x, c: c["f"](x)
)
_container(
    "memoryview", lambda: memoryview(bytearray(b"ab")), _set(0, 99), lambda x, c: x * c[0], "traced"
)


# -- objects -------------------------------------------------------------------------------------------


class Slots:
    __slots__ = ("other", "scale")

    def __init__(self, scale):
        self.scale = scale


@dataclasses.dataclass
class Data:
    scale: float = 1.0
    parts: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    scale: float = 1.0


class Mode(enum.Enum):
    SUM = 1
    MEAN = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


def _object(name, make, change, use, kind="program"):
    def closure():
        o = make()

        def fn(x):
            return use(x, o)

        return fn, lambda i: change(o) if i == 4 else None  # fmt: skip

    CASES[f"object_{name}"] = (closure, kind)


def _scale(value):
    return lambda o: setattr(o, "scale", value)


def _times_scale(x, o):
    return x * o.scale


_object("namespace", lambda: argparse.Namespace(scale=1.0), _scale(3.0), _times_scale)
_object("simple_namespace", lambda: types.SimpleNamespace(scale=1.0), _scale(3.0), _times_scale)
_object("slots", lambda: Slots(1.0), _scale(3.0), _times_scale)
_object(
    "slots_absent",
    lambda: Slots(1.0),
    lambda o: setattr(o, "other", 5.0),
    lambda x, o: x * getattr(o, "other", 2.0),
)
_object("dataclass", Data, _scale(3.0), _times_scale)
_object("dataclass_list", Data, lambda o: o.parts.append(2.0), lambda x, o: x * (1 + sum(o.parts)))
_object("frozen", Frozen, lambda o: object.__setattr__(o, "scale", 4.0), _times_scale)
_object(
    "replaced_frozen",
    lambda: [Frozen()],
    lambda o: o.__setitem__(0, Frozen(4.0)),
    lambda x, o: x * o[0].scale,
)
_object(
    "in_dict",
    lambda: types.SimpleNamespace(scale=1.0),
    lambda o: o.__dict__.update(scale=6.0),
    _times_scale,
)
_object(
    "vars", lambda: types.SimpleNamespace(scale=1.0), _scale(3.0), lambda x, o: x * vars(o)["scale"]
)
_object(
    "dunder_dict",
    lambda: types.SimpleNamespace(scale=1.0),
    _scale(3.0),
    lambda x, o: x * o.__dict__["scale"],
)
_object("getattr_name", lambda: types.SimpleNamespace(a=1.0, b=2.0), lambda o: setattr(o, "b", 7.0),
        lambda x, o: x * sum(getattr(o, n) for n in "ab"))  # fmt: skip
_object(
    "hasattr",
    lambda: types.SimpleNamespace(),
    _scale(3.0),
    lambda x, o: x * (2 if hasattr(o, "scale") else 1),
)
_object(
    "getattr_default",
    lambda: types.SimpleNamespace(),
    _scale(3.0),
    lambda x, o: x * getattr(o, "scale", 1.0),
)
_object(
    "deleted",
    lambda: types.SimpleNamespace(scale=2.0),
    lambda o: delattr(o, "scale"),
    lambda x, o: x * getattr(o, "scale", 1.0),
)
_object("nested", lambda: types.SimpleNamespace(a=types.SimpleNamespace(b=types.SimpleNamespace(c=1.0))),
        lambda o: setattr(o.a.b, "c", 3.0), lambda x, o: x * o.a.b.c)  # fmt: skip
_object("nested_replaced", lambda: types.SimpleNamespace(a=types.SimpleNamespace(b=1.0)),
        lambda o: setattr(o, "a", types.SimpleNamespace(b=4.0)), lambda x, o: x * o.a.b)  # fmt: skip
_object("enum", lambda: types.SimpleNamespace(m=Mode.SUM), lambda o: setattr(o, "m", Mode.MEAN),
        lambda x, o: x.sum() if o.m is Mode.SUM else x.mean())  # fmt: skip
_object(
    "enum_value",
    lambda: types.SimpleNamespace(m=Mode.SUM),
    lambda o: setattr(o, "m", Mode.MEAN),
    lambda x, o: x * o.m.value,
)
_object(
    "int_enum",
    lambda: types.SimpleNamespace(m=Level.LOW),
    lambda o: setattr(o, "m", Level.HIGH),
    lambda x, o: x * int(o.m),
)
_object(
    "weakref",
    lambda: _Weak(),
    lambda o: o.drop(),
    lambda x, o: x * (1 if o.ref() is None else 2),
    "traced",
)
_object("thread_local", lambda: _local(), _scale(3.0), _times_scale, "traced")
_object(
    "context_var",
    lambda: contextvars.ContextVar("v", default=1.0),
    lambda o: o.set(5.0),
    lambda x, o: x * o.get(),
    "program",
)
_object("iterator", lambda: itertools.count(1), lambda o: None, lambda x, o: x * next(o), "traced")
_object(
    "list_iterator",
    lambda: iter([1.0, 2.0, 3.0] * 9),
    lambda o: None,
    lambda x, o: x * next(o),
    "traced",
)
_object(
    "generator",
    lambda: (float(i) for i in range(99)),
    lambda o: None,
    lambda x, o: x * next(o),
    "traced",
)
_object(
    "cycle", lambda: itertools.cycle([1.0, 2.0]), lambda o: None, lambda x, o: x * next(o), "traced"
)
_object(
    "iterator_for",
    lambda: iter(range(99)),
    lambda o: None,
    lambda x, o: x * [v for v, _ in zip(o, "ab")][-1],
    "traced",
)
_object("event", threading.Event, lambda o: o.set(), lambda x, o: x * (2 if o.is_set() else 1))
_object("property", lambda: _Computed(), lambda o: setattr(o, "_s", 4.0), _times_scale)
_object("descriptor", lambda: _Described(), lambda o: o.store.update(v=5.0), _times_scale)
_object("getattr_hook", lambda: _Forwards(), lambda o: o.inner.update(scale=5.0), _times_scale)
_object(
    "getattribute_hook",
    lambda: _Intercepts(),
    lambda o: o.table.update(scale=5.0),
    _times_scale,
    "traced",
)
_object(
    "cached_property",
    lambda: _Cached(),
    lambda o: (setattr(o, "base", 9.0), o.__dict__.pop("scale", None)),
    _times_scale,
    "any",
)
_object("getitem", lambda: _Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: x * o[0])
_object("len", lambda: _Items(), lambda o: o.inner.append(5.0), lambda x, o: x * len(o))
_object("iter", lambda: _Items(), lambda o: o.inner.append(5.0), lambda x, o: x * sum(v for v in o))
_object(
    "contains",
    lambda: _Items(),
    lambda o: o.inner.append(5.0),
    lambda x, o: x * (2 if 5.0 in o else 1),
)
_object("bool", lambda: _Items(), lambda o: o.inner.clear(), lambda x, o: x * 2 if o else x)
_object("call", lambda: _Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: o(x))
_object(
    "with", lambda: _Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: _entered(x, o)
)
_object("add", lambda: _Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: x * (o + 1))
_object("radd", lambda: _Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: x * (1.0 + o))
_object(
    "compare",
    lambda: _Items(),
    lambda o: o.inner.__setitem__(0, 5.0),
    lambda x, o: x * 2 if o > 2 else x,
)
_object("index", lambda: _Items(), lambda o: o.inner.append(1.0), lambda x, o: x[operator.index(o)])
_object("float", lambda: _Items(), lambda o: o.inner.__setitem__(0, 5.0), lambda x, o: x * float(o))
_object("str", lambda: _Items(), lambda o: o.inner.append(5.0), lambda x, o: x * len(str(o)))
_object("format", lambda: _Items(), lambda o: o.inner.append(5.0), lambda x, o: x * len(f"{o}"))
_object(
    "class_changed",
    lambda: _Items(),
    lambda o: setattr(o, "__class__", _Other),
    lambda x, o: x * len(o),
)
_object(
    "method_on_instance",
    lambda: _Computed(),
    lambda o: setattr(o, "times", lambda x: x * 9),
    lambda x, o: o.times(x),
)
_object(
    "class_method",
    lambda: type("C", (_Computed,), {"table": {"a": 1.0}})(),
    lambda o: o.table.update(a=7.0),
    lambda x, o: o.of_class(x),
)
_object(
    "bound_method",
    lambda: [_Computed().times],
    lambda o: setattr(o[0].__self__, "_s", 8.0),
    lambda x, o: o[0](x),
)
_object("abc", lambda: _Concrete(), _scale(3.0), lambda x, o: o.run(x))
_object(
    "protocol",
    lambda: _Concrete(),
    _scale(3.0),
    lambda x, o: x * o.scale if isinstance(o, _HasScale) else x,
)
_object(
    "exception",
    lambda: ValueError(1.0),
    lambda o: setattr(o, "args", (3.0,)),
    lambda x, o: x * o.args[0],
    "any",
)
_object("lock", threading.Lock, lambda o: None, lambda x, o: _entered(x, o), "traced")
_object(
    "tensor_attribute",
    lambda: nn.Parameter(torch.ones(3)),
    lambda o: setattr(o, "scale", 4.0),
    lambda x, o: x * getattr(o, "scale", 2.0),
)
_object(
    "partial_keywords",
    lambda: functools.partial(torch.add, alpha=2),
    lambda o: o.keywords.update(alpha=5),
    lambda x, o: o(x, x),
)
_object(
    "itemgetter",
    lambda: (operator.itemgetter(0), [1.0]),
    lambda o: o[1].__setitem__(0, 4.0),
    lambda x, o: x * o[0](o[1]),
    "traced",
)
_object(
    "random_state", lambda: random.Random(3), lambda o: None, lambda x, o: x * o.random(), "traced"
)
_object(
    "numpy_rng",
    lambda: np.random.default_rng(3),
    lambda o: None,
    lambda x, o: x * float(o.random()),
    "traced",
)


def _local():
    found = threading.local()
    found.scale = 1.0
    return found


class _Weak:
    def __init__(self):
        self.kept = Slots.__new__(_Computed)
        self.ref = weakref.ref(self.kept)

    def drop(self):
        self.kept = None


class _Computed:
    table = {"a": 1.0}

    def __init__(self):
        self._s = 1.0

    @property
    def scale(self):
        return self._s * 2

    def times(self, x):
        return x * self._s

    @classmethod
    def of_class(cls, x):
        return x * cls.table["a"]


class _Descriptor:
    def __get__(self, instance, owner=None):
        return instance.store["v"]


class _Described:
    scale = _Descriptor()

    def __init__(self):
        self.store = {"v": 1.0}


class _Forwards:
    def __init__(self):
        self.inner = {"scale": 1.0}

    def __getattr__(self, name):
        if name == "inner":
            raise AttributeError(name)
        return self.inner[name]


class _Intercepts:
    def __init__(self):
        self.table = {"scale": 1.0}

    def __getattribute__(self, name):
        table = object.__getattribute__(self, "__dict__")["table"]
        return table if name == "table" else table[name]


class _Cached:
    base = 2.0

    @functools.cached_property
    def scale(self):
        return self.base * 2


class _Items:
    def __init__(self):
        self.inner = [1.0]

    def __getitem__(self, i):
        return self.inner[i]

    def __len__(self):
        return len(self.inner)

    def __iter__(self):
        return iter(self.inner)

    def __contains__(self, v):
        return v in self.inner

    def __bool__(self):
        return bool(self.inner)

    def __call__(self, x):
        return x * self.inner[0]

    def __enter__(self):
        return self.inner[0]

    def __exit__(self, *exc):
        return False

    def __add__(self, other):
        return self.inner[0] + other

    __radd__ = __add__

    def __gt__(self, other):
        return self.inner[0] > other

    def __index__(self):
        return len(self.inner)

    def __float__(self):
        return self.inner[0]

    def __str__(self):
        return "x" * len(self.inner)


class _Other(_Items):
    def __len__(self):
        return 42


def _entered(x, o):
    with o as v:
        return x * (v if isinstance(v, float) else 1.0)


class _Base(abc.ABC):
    @abc.abstractmethod
    def run(self, x): ...


class _Concrete(_Base):
    def __init__(self):
        self.scale = 1.0

    def run(self, x):
        return x * self.scale


@typing.runtime_checkable
class _HasScale(typing.Protocol):
    scale: float
