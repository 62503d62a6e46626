"""Scenes of a second attack of 17 November: Python's machinery, where C calls what a class or an object holds without a name in any code."""

from __future__ import annotations

import collections
import enum
import functools
import itertools
import logging
import operator
import string
import sys
import threading
import types
import typing
import weakref

import numpy as np

import rushlight as torch
from compile_scenes import L, X, scene, see, steps, tell, worlds
from rushlight import nn

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


def _set(name):
    return lambda i, o, K, own: setattr(o, name, L(i, 2.0, 3.0))


# -- properties and methods that are not functions ------------------------------------------------

of_class(
    "property_by_attrgetter",
    lambda: {"x": property(operator.attrgetter("_x"))},
    lambda o: o.x,
    _set("_x"),
)
of_class("property_by_a_long_attrgetter", lambda: {"x": property(operator.attrgetter("a._x")), "a": NS(_x=2.0)},
         lambda o: o.x, lambda i, o, K, own: setattr(o.a, "_x", L(i, 2.0, 3.0)))  # fmt: skip
of_class("property_by_methodcaller", lambda: {"x": property(operator.methodcaller("look")), "look": lambda s: s._x},
         lambda o: o.x, _set("_x"))  # fmt: skip


class Asks:
    def __init__(self, name):
        self.name = name

    def __call__(self, o):
        return getattr(o, self.name)


def _rename(i, o, K, own):
    o._x, o._y = 2.0, 3.0
    own["x"].fget.name = L(i, "_x", "_y")


of_class("property_by_an_object", lambda: {"x": property(Asks("_x"))}, lambda o: o.x, _rename)
of_class("property_by_a_bound_method", lambda: {"x": property(dict.fromkeys("K", 2.0).get), "__hash__": lambda s: hash("K"),
         "__eq__": lambda s, other: other == s._x}, lambda o: o.x or 5, lambda i, o, K, own: setattr(o, "_x", L(i, "K", "J")))  # fmt: skip
of_class(
    "static_attrgetter",
    lambda: {"get": staticmethod(operator.attrgetter("_x"))},
    lambda o: o.get(o),
    _set("_x"),
)
of_class("static_itemgetter", lambda: {"get": staticmethod(operator.itemgetter(0)), "_x": [2.0]}, lambda o: o.get(o._x),
         lambda i, o, K, own: o._x.__setitem__(0, L(i, 2.0, 3.0)))  # fmt: skip
of_class("class_partial", lambda: {"get": classmethod(functools.partial(lambda k, cls: cls._x * k, 2.0)), "_x": 2.0},
         lambda o: o.get(), lambda i, o, K, own: setattr(K, "_x", L(i, 2.0, 3.0)))  # fmt: skip
of_class("getattr_of_a_dict", lambda: {"__getattr__": (store := {"scale": 2.0}).__getitem__, "store": store}, lambda o: o.scale,
         lambda i, o, K, own: own["store"].__setitem__("scale", L(i, 2.0, 3.0)))  # fmt: skip


def _bound_getattr():
    store = {"scale": 2.0}

    class K:
        __getattr__ = store.__getitem__

    o = K()
    return lambda x: x * o.scale, lambda i: store.update(scale=L(i, 2.0, 3.0))


_bound_getattr.__name__ = "getattr_of_a_hidden_dict"
world(_bound_getattr)

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
def attrgetter_made_inside():
    o = NS(scale=2.0)
    name = "".join(["sc", "ale"])
    return lambda x: x * operator.attrgetter(name)(o), lambda i: setattr(o, "scale", L(i, 2.0, 3.0))


@world
def attrgetter_kept():
    o, get = NS(a=NS(scale=2.0)), operator.attrgetter("a.scale")
    return lambda x: x * get(o), lambda i: setattr(o.a, "scale", L(i, 2.0, 3.0))


@world
def attrgetter_as_key():
    os = [NS(scale=2.0, v=5.0), NS(scale=1.0, v=7.0)]
    get = operator.attrgetter("scale")
    return lambda x: x * min(os, key=get).v, lambda i: setattr(os[0], "scale", L(i, 2.0, 0.5))


@world
def methodcaller_kept():
    class K:
        def look(self):
            return self.v

    o, call = K(), operator.methodcaller("look")
    return lambda x: x * call(o), lambda i: setattr(o, "v", L(i, 2.0, 3.0))


@world
def methodcaller_of_c():
    held, call = [1, 2], operator.methodcaller("__len__")
    return lambda x: x * call(held), lambda i: held.append(1) if i == 5 else None


@world
def partial_shown():
    p = functools.partial(max, 1)
    return lambda x: x * len(repr(p)), lambda i: p.__setstate__((max, (L(i, 1, 2000),), {}, {}))


@world
def exception_kept():
    e = ValueError("a")

    def change(i):
        e.args = (L(i, "a", "abc"),)

    return lambda x: x * len(str(e)), change


@world
def counter_most_common():
    n = collections.Counter("aab")

    def change(i):
        n["b"] = L(i, 1, 5)

    return lambda x: x * (2 if n.most_common(1)[0][0] == "a" else 3), change


@world
def user_dict():
    m = collections.UserDict(v=2.0)
    return lambda x: x * m["v"], lambda i: m.__setitem__("v", L(i, 2.0, 3.0))


@world
def user_list():
    m = collections.UserList([2.0])
    return lambda x: x * m[0], lambda i: m.__setitem__(0, L(i, 2.0, 3.0))


@world
def string_template():
    t = string.Template("$a")

    def change(i):
        t.template = L(i, "$a", "$a$a")

    return lambda x: x * len(t.substitute(a="xy")), change


@world
def void_scalar():
    a = np.zeros(2, [("v", "f8")])
    a["v"] = 2.0
    v = a[0]

    def change(i):
        a["v"][0] = L(i, 2.0, 3.0)

    return lambda x: x * float(v["v"]), change


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


@world
def array_of_zeros():
    a = np.zeros(3)

    def change(i):
        a[0] = L(i, 0.0, -0.0)

    return lambda x: x * (2 if np.signbit(a[0]) else 3), change


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
def qualified_name_of_a_kept_class():
    class K:
        pass

    return lambda x: x * len(K.__qualname__), lambda i: setattr(
        K, "__qualname__", L(i, "K", "Longer")
    )


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
def bases_of_a_class():
    class A:
        pass

    class B(A):
        pass

    class K(A):
        pass

    def change(i):
        K.__bases__ = (L(i, A, B),)

    return lambda x: x * len(K.__mro__), change


@world
def subclasses_of_a_class():
    class K:
        pass

    kept = []

    def change(i):
        if i == 5:
            kept.append(type("J", (K,), {}))

    return lambda x: x * (1 + len(K.__subclasses__())), change


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


# -- enums ----------------------------------------------------------------------------------------


@world
def enum_reached_by_value():
    class Kind(enum.Enum):
        A = 1
        B = 2

    o = NS(v=1)
    return lambda x: x * (2 if Kind(o.v) is Kind.A else 3), lambda i: setattr(o, "v", L(i, 1, 2))


@world
def enum_iterated():
    class Kind(enum.IntFlag):
        A = 1
        B = 2

    o = NS(v=Kind.A)
    return lambda x: x * (1 + len(list(o.v))), lambda i: setattr(
        o, "v", L(i, Kind.A, Kind.A | Kind.B)
    )


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
def generator_kept():
    def values():
        k = 1.0
        while True:
            k += 1
            yield k

    g = values()
    return lambda x: x * next(g), None


@world
def count_kept():
    n = itertools.count(1)
    return lambda x: x * next(n), None


@world
def islice_kept():
    it = iter([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0])
    return lambda x: x * sum(itertools.islice(it, 1)), None


@world
def zip_kept():
    it = zip(range(1, 20), range(2, 30))
    return lambda x: x * next(it)[0], None


@world
def reversed_kept():
    it = reversed([float(v) for v in range(1, 12)])
    return lambda x: x * next(it, 1.0), None


@world
def tee_kept():
    a, b = itertools.tee(range(1, 30))
    return lambda x: x * next(a), lambda i: next(b)


@world
def sentinel_iterator():
    rows = [5.0, 4.0, 3.0, 2.0, 1.0, 0.5, 0.25, 3.0, 2.0, 8.0, 1.0]
    it = iter(rows.pop, 0.25)
    return lambda x: x * next(it, 9.0), None


@world
def thread_local():
    here = threading.local()
    here.v = 2.0
    return lambda x: x * here.v, lambda i: setattr(here, "v", L(i, 2.0, 3.0))


@world
def thread_local_of_a_class():
    class Here(threading.local):
        v = 2.0

    here = Here()
    return lambda x: x * here.v, lambda i: setattr(here, "v", L(i, 2.0, 3.0))


@world
def thread_name():
    return (
        lambda x: x * len(threading.current_thread().name),
        lambda i: setattr(threading.current_thread(), "name", L(i, "MainThread", "Main")),
    )


@world
def weak_proxy():
    class K:
        v = 2.0

    o = K()
    p = weakref.proxy(o)
    return lambda x: x * p.v, lambda i: setattr(o, "v", L(i, 2.0, 3.0))


@world
def weak_reference_dies():
    class K:
        pass

    kept = [K()]
    r = weakref.ref(kept[0])

    def change(i):
        if i == 5:
            kept.clear()

    return lambda x: x * (2 if r() is not None else 3), change


@world
def weak_table():
    class K:
        v = 2.0

    kept = [K(), K()]
    table = weakref.WeakValueDictionary(enumerate(kept))

    def change(i):
        if i == 5:
            kept.pop()

    return lambda x: x * (1 + len(table)), change


@world
def weak_set():
    class K:
        pass

    kept = [K(), K()]
    table = weakref.WeakSet(kept)

    def change(i):
        if i == 5:
            kept.pop()

    return lambda x: x * (1 + len(list(table))), change


@world
def weak_method():
    class K:
        v = 2.0

        def look(self):
            return self.v

    o = K()
    m = weakref.WeakMethod(o.look)
    return lambda x: x * m()(), lambda i: setattr(o, "v", L(i, 2.0, 3.0))


@world
def finaliser_inside():
    log = []

    class K:
        def __del__(self):
            log.append(1)

    def fn(x):
        K()
        return x * 2

    return fn, lambda i: None


@world
def logger_level():
    log = logging.getLogger("a logger of a scene")
    log.propagate = False
    return (
        lambda x: x * (2 if log.isEnabledFor(logging.INFO) else 3),
        lambda i: log.setLevel(L(i, logging.INFO, logging.ERROR)),
    )


@world
def logging_disabled():
    log = logging.getLogger("another logger of a scene")
    log.setLevel(logging.INFO)

    def change(i):
        logging.disable(L(i, logging.NOTSET, logging.CRITICAL) if i < 8 else logging.NOTSET)

    return lambda x: x * (2 if log.isEnabledFor(logging.INFO) else 3), change


@world
def exception_of_the_caller():
    """`sys.exc_info()` and a bare `raise` see what the caller is handling."""

    def fn(x):
        return x * (2 if sys.exc_info()[0] is None else 3)

    return fn, None


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


def _context(x):
    try:
        raise KeyError("inner")
    except KeyError as e:
        return x * (2 if e.__context__ is None else 3)


_handled("what_the_caller_handles", lambda x: x * (2 if sys.exc_info()[0] is None else 3))
_handled("raised_again", _raise_again)
_handled("context_of_an_error", _context)


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
def init_subclass_inside():
    scale = [2.0]

    class Base:
        def __init_subclass__(cls, k=1.0, **kwargs):
            cls.k = k * scale[0]

    def fn(x):
        class Sub(Base, k=3.0):
            pass

        return x * Sub.k

    return fn, lambda i: scale.__setitem__(0, L(i, 2.0, 5.0))


@world
def set_name_inside():
    seen = NS(k=2.0)

    class D:
        def __set_name__(self, owner, name):
            self.name = name

        def __get__(self, o, owner=None):
            return len(self.name) * seen.k

    def fn(x):
        K = type("K", (), {"abc": D()})
        return x * K().abc

    return fn, lambda i: setattr(seen, "k", L(i, 2.0, 3.0))


@world
def data_descriptor_before_the_dict():
    class D:
        def __get__(self, o, owner=None):
            return o.__dict__["v"] * 2

        def __set__(self, o, v):
            o.__dict__["v"] = v

    class K:
        v = D()

    o = K()
    return lambda x: x * o.v, lambda i: setattr(o, "v", L(i, 2.0, 3.0))


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
def metaclass_property_by_attrgetter():
    class M(type):
        scale = property(operator.attrgetter("_scale"))

    class K(metaclass=M):
        _scale = 2.0

    return lambda x: x * K.scale, lambda i: setattr(K, "_scale", L(i, 2.0, 3.0))


@world
def metaclass_instancecheck():
    kinds = {"a"}

    class M(type):
        def __instancecheck__(cls, o):
            return o in kinds

    class K(metaclass=M):
        pass

    def change(i):
        kinds.clear()
        kinds.add(L(i, "a", "b"))

    return lambda x: x * (2 if isinstance("a", K) else 3), change


@world
def reduce_by_state():
    fns = [operator.add]

    def change(i):
        fns[0] = L(i, operator.add, operator.mul)

    return lambda x: x * functools.reduce(fns[0], [2.0, 3.0]), change


@world
def cmp_to_key_by_state():
    o = NS(sign=1)
    key = functools.cmp_to_key(lambda a, b: (a - b) * o.sign)
    return lambda x: x * sorted([2.0, 3.0], key=key)[0], lambda i: setattr(o, "sign", L(i, 1, -1))


@world
def cached_method():
    class K:
        v = 2.0

        @functools.cache  # noqa: B019
        def look(self):
            return self.v

    o = K()

    def change(i):
        o.v = L(i, 2.0, 3.0)
        if i == 6:
            K.look.cache_clear()

    return lambda x: x * o.look(), change


@world
def singledispatch_method():
    class K:
        @functools.singledispatchmethod
        def look(self, v):
            return 2.0

    o = K()

    def change(i):
        if i == 5:
            K.look.register(int)(lambda self, v: 3.0)

    return lambda x: x * o.look(1), change


@world
def print_to_a_buffer():
    import io

    out = io.StringIO()
    return lambda x: (print("a", file=out), x * len(out.getvalue()))[1], None


@world
def dict_views_kept():
    d = {"a": 2.0}
    values = d.values()
    return lambda x: x * sum(values), lambda i: d.update(a=L(i, 2.0, 3.0))


@world
def mapping_proxy_kept():
    d = {"a": 2.0}
    p = types.MappingProxyType(d)
    return lambda x: x * p["a"], lambda i: d.update(a=L(i, 2.0, 3.0))


@world
def memoryview_kept():
    b = bytearray(b"\x02\x03")
    m = memoryview(b)
    return lambda x: x * m[0], lambda i: b.__setitem__(0, L(i, 2, 5))


@world
def array_module():
    import array

    a = array.array("d", [2.0])
    return lambda x: x * a[0], lambda i: a.__setitem__(0, L(i, 2.0, 3.0))


@world
def module_attribute_of_a_net():
    class M(nn.Module):
        scale = property(operator.attrgetter("_scale"))

        def __init__(self):
            super().__init__()
            self._scale = 2.0

        def forward(self, x):
            return x * self.scale

    m = M()
    return m.forward, lambda i: setattr(m, "_scale", L(i, 2.0, 3.0))


@world
def tensor_in_a_property_of_c():
    class K:
        w = property(operator.attrgetter("_w"))

    o = K()
    a, b = torch.ones(3), torch.ones(3) * 5
    return lambda x: x * o.w, lambda i: setattr(o, "_w", L(i, a, b))


@scene
def machinery_returned_by_a_property(c):
    class K:
        w = property(operator.attrgetter("_w"))

    o = K()
    o._w = torch.ones(3)
    f = c(lambda x: (x * 2, o.w))
    for i in range(8):
        if i == 5:
            o._w = torch.zeros(3)
        y, w = f(X(i))
        yield see(y), see(w), w is o._w


@world
def attribute_of_a_method_that_does_not_run():
    class K:
        def look(self):
            return 1

    o = K()
    return lambda x: x * o.look.scale, lambda i: setattr(K.look, "scale", L(i, 2.0, 3.0))


@world
def method_that_is_only_compared():
    def one(self):
        return 1

    def other(self):
        return 2

    class K:
        look = one

    o = K()
    return lambda x: x * (2 if o.look.__func__ is one else 3), lambda i: setattr(
        K, "look", L(i, one, other)
    )


@world
def class_attribute_of_a_net_by_its_class():
    class Net(nn.Module):
        scale = 2.0

        def forward(self, x):
            return x * self.__class__.scale * type(self).scale

    m = Net()
    return m.forward, lambda i: setattr(Net, "scale", L(i, 2.0, 3.0))
