"""Small functions and the ways in which the Python state around them changes, for test_compile_sound.

A case makes a function of one tensor, what happens before call i, and perhaps what the function has done beside
computing. It says whether the function is one program afterwards ("program") or runs with Python ("traced").
"""

from __future__ import annotations

import collections
import math

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

        return fn, change

    CASES[f"plain_{name}"] = (closure, "program")


_plain("bool_to_int", True, 1, lambda x, v: x.to(torch.int64).bool() * v)
_plain("function", math.sin, math.cos, lambda x, v: x * v(1.0))


# -- containers ----------------------------------------------------------------------------------------


_Point = collections.namedtuple("_Point", "x y")


def _container(name, make, change, use, kind="program"):
    def closure():
        c = make()

        def fn(x):
            return use(x, c)

        return fn, lambda i: change(c) if i == 4 else None

    CASES[f"container_{name}"] = (closure, kind)


def _set(key, value):
    return lambda c: c.__setitem__(key, value)


_container("list_5000", lambda: list(range(5000)), _set(4000, 9), lambda x, c: x * c[4000], "traced")
_container("set_replaced", lambda: {1, 2}, lambda c: (c.discard(2), c.add(9)), lambda x, c: x * max(c))
_container("ndarray", lambda: np.array([1.0, 2.0]), _set(1, 5.0), lambda x, c: x * float(c[1]))
_container("ndarray_objects", lambda: np.array([[1.0], [2]], object), lambda c: c[0].append(2.0) if isinstance(c[0], list) else _set(0, 9.0)(c),
           lambda x, c: x * (len(c[0]) if isinstance(c[0], list) else float(np.sum(c[0]))), "traced")  # fmt: skip
