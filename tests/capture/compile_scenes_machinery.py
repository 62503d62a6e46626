"""Scenes about Python's machinery, where C calls what a class or an object holds without a name in any code."""

from __future__ import annotations

import collections
import functools
import itertools
import logging
import string
import sys
import threading
import types
import typing

import numpy as np

from compile_scenes import L, X, scene, steps, tell, worlds

NS = types.SimpleNamespace
world = worlds("machinery", n=9)


def of_class(name, members, use, change, make_object=None):
    """Objects of a class whose members are called by C, and what changes between calls."""

    def make(c):
        own = members()
        K = type("K", (), own)
        o = K() if make_object is None else make_object(K)
        yield from steps(c(lambda x: x * use(o)), lambda i: change(i, o, K, own), n=9)

    make.__name__ = f"machinery_{name}"
    scene(make)


# -- properties and methods that are not functions ------------------------------------------------


class Asks:
    def __init__(self, name):
        self.name = name

    def __call__(self, o):
        return getattr(o, self.name)


def _rename(i, o, K, own):
    o._x, o._y = 2.0, 3.0
    own["x"].fget.name = L(i, "_x", "_y")


of_class("property_by_an_object", lambda: {"x": property(Asks("_x"))}, lambda o: o.x, _rename)
of_class("getattr_of_a_dict", lambda: {"__getattr__": (store := {"scale": 2.0}).__getitem__, "store": store}, lambda o: o.scale,
         lambda i, o, K, own: own["store"].__setitem__("scale", L(i, 2.0, 3.0)))  # fmt: skip


def _bound_getattr():
    store = {"scale": 2.0}

    class K:
        __getattr__ = store.__getitem__

    o = K()
    return lambda x: x * o.scale, lambda i: store.update(scale=L(i, 2.0, 3.0))


_bound_getattr.__name__ = "getattr_of_a_hidden_dict"

for special, use in (
    ("__len__", len),
    ("__bool__", lambda o: 2 if o else 3),
    ("__int__", int),
    ("__float__", float),
    ("__index__", lambda o: [1, 2, 3, 4, 5][o]),
    ("__call__", lambda o: o()),
    ("__hash__", hash),
    ("__iter__", lambda o: sum(o)),
    ("__str__", lambda o: len(str(o))),
    ("__enter__", lambda o: o.__enter__()),
    ("__neg__", lambda o: -o),
    ("__contains__", lambda o: 2 if 2 in o else 3),
    ("__getitem__", lambda o: o[1]),
    ("__eq__", lambda o: 2 if o == 2 else 3),
):

    def _special(special=special, use=use):
        """A special method that is a bound method of a hidden object."""

        class Hidden:
            v = 2

            def look(self, *rest):
                v = self.v
                found = {"__bool__": v == 2, "__float__": float(v), "__iter__": iter([v])}
                found |= {"__str__": "a" * v, "__contains__": v == 2, "__eq__": v == 2}
                return found.get(special, v)

        hidden = Hidden()
        K = type("K", (), {special: hidden.look})
        o = K()
        return lambda x: x * use(o), lambda i: setattr(hidden, "v", L(i, 2, 3))

    _special.__name__ = f"special_by_a_hidden_method{special[1:-2]}"
    world(_special)

for special, make_member, use in (
    ("__len__", lambda held: held.__len__, len),
    ("__iter__", lambda held: held.__iter__, lambda o: sum(o)),
    ("__getitem__", lambda held: held.__getitem__, lambda o: o[0]),
    ("__contains__", lambda held: held.__contains__, lambda o: 2 if 3.0 in o else 3),
    ("__call__", lambda held: held.copy, lambda o: sum(o())),
    ("__eq__", lambda held: held.__eq__, lambda o: 2 if o == [2.0] else 3),
    ("__str__", lambda held: held.__repr__, lambda o: len(str(o))),
):

    def _special_of_c(make_member=make_member, special=special, use=use):
        """A special method that is a method of a list: no line of Python runs."""
        held = [2.0]
        K = type("K", (), {special: make_member(held)})
        o = K()

        def change(i):
            held[:] = L(i, [2.0], [3.0, 4.0])

        return lambda x: x * use(o), change

    _special_of_c.__name__ = f"special_by_a_list{special[1:-2]}"
    world(_special_of_c)


# -- functions of C that look at attributes -------------------------------------------------------


@world
def partial_shown():
    p = functools.partial(max, 1)
    return lambda x: x * len(repr(p)), lambda i: p.__setstate__((max, (L(i, 1, 2000),), {}, {}))


@world
def counter_most_common():
    n = collections.Counter("aab")

    def change(i):
        n["b"] = L(i, 1, 5)

    return lambda x: x * (2 if n.most_common(1)[0][0] == "a" else 3), change


@world
def string_template():
    t = string.Template("$a")

    def change(i):
        t.template = L(i, "$a", "$a$a")

    return lambda x: x * len(t.substitute(a="xy")), change


@world
def array_flags():
    a = np.ones(3)

    def change(i):
        a.flags.writeable = bool(L(i, 1, 0))

    return lambda x: x * (2 if a.flags.writeable else 3), change


@world
def array_strides():
    a = np.ones((2, 2))

    def change(i):
        a.strides = L(i, (16, 8), (8, 16))

    return lambda x: x * (2 if a.strides[0] == 16 else 3), change


# -- names of classes, functions and modules ------------------------------------------------------

for field in ("__name__", "__qualname__", "__doc__", "__module__"):

    def _class_field(field=field):
        class K:
            """a"""

        o = K()
        return (
            lambda x: x * len(getattr(type(o), field)) + len(o.__class__.__name__),
            lambda i: setattr(K, field, L(i, "a", "abcd")),
        )

    _class_field.__name__ = f"of_a_class_by_getattr{field}"
    world(_class_field)


@world
def object_shown():
    class K:
        pass

    o = K()
    return (
        lambda x: x * len(repr(o).partition(" object")[0]),
        lambda i: setattr(K, "__qualname__", L(i, "K", "Longer")),
    )


@world
def doc_of_a_property():
    class K:
        x = property(lambda self: 1, doc="a")

    def change(i):
        K.x.__doc__ = L(i, "a", "abc")

    return lambda x: x * len(K.x.__doc__), change


@world
def abstract_methods_of_a_class():
    class K:
        def a(self):
            return 1

    def change(i):
        K.__abstractmethods__ = frozenset(L(i, (), ("a",)))

    def fn(x):
        try:
            return x * K().a()
        except TypeError:
            return x * 5

    return fn, change


# -- what is called later, or somewhere else ------------------------------------------------------


@world
def cell_emptied():
    k = 2.0

    def fn(x):
        try:
            return x * k
        except NameError:
            return x * 7

    def change(i):
        nonlocal k
        if L(i, 0, 1):
            try:
                del k
            except NameError:
                pass
        else:
            k = 2.0

    return fn, change


@world
def islice_kept():
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])
    return lambda x: x * sum(itertools.islice(it, 1)), None


@world
def thread_local():
    here = threading.local()
    here.v = 2.0
    return lambda x: x * here.v, lambda i: setattr(here, "v", L(i, 2.0, 3.0))


@world
def logging_disabled():
    log = logging.getLogger("another logger of a scene")
    log.setLevel(logging.INFO)

    def change(i):
        logging.disable(L(i, logging.NOTSET, logging.CRITICAL) if i < 8 else logging.NOTSET)

    return lambda x: x * (2 if log.isEnabledFor(logging.INFO) else 3), change


def _handled(name, fn):
    def make(c):
        f = c(fn)
        for i in range(9):
            if L(i, 0, 1):
                try:
                    raise ValueError("of the caller")
                except ValueError:
                    yield tell(f, X(i))
            else:
                yield tell(f, X(i))

    make.__name__ = f"machinery_{name}"
    scene(make)


def _raise_again(x):
    try:
        raise  # noqa: PLE0704
    except RuntimeError:
        return x * 2
    except ValueError:
        return x * 3


_handled("what_the_caller_handles", lambda x: x * (2 if sys.exc_info()[0] is None else 3))
_handled("raised_again", _raise_again)


# -- copies, matches, generic classes -------------------------------------------------------------


@world
def match_args():
    class P:
        __match_args__ = ("a",)

        def __init__(self):
            self.a, self.b = 2.0, 3.0

    o = P()

    def fn(x):
        match o:
            case P(v):
                return x * v
        return x

    def change(i):
        P.__match_args__ = L(i, ("a",), ("b",))

    return fn, change


@world
def generic_alias_called():
    class Box(typing.Generic[typing.TypeVar("V")]):
        scale = 2.0

        def look(self):
            return self.scale

    return lambda x: x * Box[int]().look(), lambda i: setattr(Box, "scale", L(i, 2.0, 3.0))


@world
def descriptor_gets_a_setter():
    class D:
        def __get__(self, o, owner=None):
            return 2.0

    class K:
        v = D()

    o = K()
    o.__dict__["v"] = 3.0

    def change(i):
        if i == 5:
            D.__set__ = lambda self, o, v: None

    return lambda x: x * o.v, change


@world
def cmp_to_key_by_state():
    o = NS(sign=1)
    key = functools.cmp_to_key(lambda a, b: (a - b) * o.sign)
    return lambda x: x * sorted([2.0, 3.0], key=key)[0], lambda i: setattr(o, "sign", L(i, 1, -1))


@world
def mapping_proxy_kept():
    d = {"a": 2.0}
    p = types.MappingProxyType(d)
    return lambda x: x * p["a"], lambda i: d.update(a=L(i, 2.0, 3.0))


@world
def method_that_is_only_compared():
    def one(self):
        return 1

    def other(self):
        return 2

    class K:
        look = one

    o = K()
    return lambda x: x * (2 if o.look.__func__ is one else 3), lambda i: setattr(K, "look", L(i, one, other))
