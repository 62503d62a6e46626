"""Scenes with state behind names: attributes found in every way, classes, patched functions."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import copy
import functools
import operator

from compile_scenes import L, scene, steps


def state(name, make_fn, change):
    """make_fn(o) -> fn; change(o, i) before every call."""

    def make(c):
        class O:
            pass

        o = O()
        fn = make_fn(o)
        return steps(c(fn), lambda i: change(o, i))

    make.__name__ = "s_" + name
    scene(make)


class Cfg:
    k = 1.0

    def __init__(self, scale=2.0):
        self.scale = scale


def cfgcase(name, use, attr="scale", a=2.0, b=3.0, cls=Cfg):
    def mk(o):
        o.cfg = cls()
        cfg = o.cfg

        def fn(x):
            return x * use(cfg)

        return fn

    state(name, mk, lambda o, i: setattr(o.cfg, attr, L(i, a, b)))


GET = object.__getattribute__
AG = operator.attrgetter("scale")
cfgcase("dunder_getattribute", lambda c: c.__getattribute__("sc" + "ale"))
cfgcase("alias_getattribute", lambda c: GET(c, "scale"))
cfgcase("type_getattribute", lambda c: type(c).__getattribute__(c, "scale"))
cfgcase("attrgetter", lambda c: AG(c))
cfgcase("attrgetter2", lambda c: operator.attrgetter("scale")(c))
cfgcase("format_attr", lambda c: float("{0.scale}".format(c)))
cfgcase("format_map", lambda c: float("{c.scale}".format_map({"c": c})))
cfgcase("fstring", lambda c: float(f"{c.scale}"))
cfgcase("getstate", lambda c: c.__getstate__()["scale"])
cfgcase("reduce", lambda c: c.__reduce_ex__(2)[2]["scale"])
cfgcase("copied_vars", lambda c: sum(vars(copy.copy(c)).values()))
cfgcase("deepcopied_vars", lambda c: sum(vars(copy.deepcopy(c)).values()))
cfgcase("copied_attr", lambda c: copy.copy(c).scale)
cfgcase("vars", lambda c: vars(c)["scale"])
cfgcase("dictitems", lambda c: sum(c.__dict__.values()))
cfgcase("dir", lambda c: len(dir(c)), "other")
cfgcase("methodcaller", lambda c: operator.methodcaller("__getattribute__", "scale")(c))
cfgcase("inspect_static", lambda c: __import__("inspect").getattr_static(c, "scale"))


def m1(c):
    match c:
        case Cfg(scale=2.0):
            return 1.0
        case Cfg(scale=s):
            return s


cfgcase("match_class", m1)


class Pos:
    __match_args__ = ("scale",)

    def __init__(self):
        self.scale = 2.0


def m2(c):
    match c:
        case Pos(2.0):
            return 1.0
        case Pos(s):
            return s


cfgcase("match_pos", m2, cls=Pos)


def m3(c):
    match c.scale:
        case 2.0:
            return 1.0
        case _:
            return 7.0


cfgcase("match_value", m3)


def m4(c):
    match [c.scale]:
        case [s] if s > 2.5:
            return 1.0
        case _:
            return 7.0


cfgcase("match_guard", m4)
cfgcase("walrus", lambda c: (s if (s := c.scale) > 2.5 else s * 10))
cfgcase("dict_of_class", lambda c: type(c).__dict__["k"], "scale")


def clscase(name, use, a=2.0, b=3.0):
    def mk(o):
        class C(Cfg):
            k = 2.0

        o.C = C
        o.c = C()
        o.n = 0

        def fn(x):
            return x * use(o.c, C)

        return fn

    state(name, mk, lambda o, i: setattr(o.C, "k", L(i, a, b)))


clscase("cls_dict", lambda c, C: C.__dict__["k"])
clscase("cls_vars", lambda c, C: vars(C)["k"])
clscase("cls_type_dict", lambda c, C: type(c).__dict__["k"])
clscase("cls_mro", lambda c, C: C.__mro__[0].k)
clscase("cls_mro_type", lambda c, C: type(c).__mro__[0].__dict__["k"])
clscase("cls_type_getattr", lambda c, C: type.__getattribute__(C, "k"))
clscase("cls_of", lambda c, C: c.__class__.k)
clscase("cls_super", lambda c, C: getattr(c, "k"))
clscase("cls_fmt", lambda c, C: float("{0.k}".format(c)))
clscase("cls_subclass", lambda c, C: Cfg.__subclasses__()[-1].k)
clscase("cls_match", lambda c, C: _mk(c))


def _mk(c):
    match c:
        case Cfg(k=k):
            return k


@scene
def s_cached_property(c):
    class A:
        def __init__(self):
            self.v = 2.0

        @functools.cached_property
        def k(self):
            return self.v * 2

    o = A()

    def ch(i):
        if i == 5:
            o.v = 3.0
        if i == 6:
            del o.k

    return steps(c(lambda x: x * o.k), ch)


@scene
def s_class_getitem(c):
    class A:
        v = 2.0

        def __class_getitem__(cls, i):
            return cls.v * i

    return steps(c(lambda x: x * A[2]), lambda i: setattr(A, "v", L(i, 2.0, 3.0)))


@scene
def s_new(c):
    class A:
        v = 2.0

        def __new__(cls):
            o = super().__new__(cls)
            o.k = cls.v
            return o

    return steps(c(lambda x: x * A().k), lambda i: setattr(A, "v", L(i, 2.0, 3.0)))
