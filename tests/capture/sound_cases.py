"""Small functions and the ways in which the Python state around them changes, for test_compile_sound.

A case makes a function of one tensor, what happens before call i, and perhaps what the function has done beside
computing. It says whether the function is one program afterwards ("program") or runs with Python ("traced").
"""

from __future__ import annotations

import array
import collections
import copy
import functools
import math
import types

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


def small_net():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))


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
