"""Scenes with state behind names: attributes found in every way, classes, patched functions."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

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


AG = operator.attrgetter("scale")
cfgcase("attrgetter", lambda c: AG(c))
cfgcase("format_map", lambda c: float("{c.scale}".format_map({"c": c})))
cfgcase("getstate", lambda c: c.__getstate__()["scale"])
cfgcase("reduce", lambda c: c.__reduce_ex__(2)[2]["scale"])
cfgcase("dir", lambda c: len(dir(c)), "other")
cfgcase("inspect_static", lambda c: __import__("inspect").getattr_static(c, "scale"))


def m1(c):
    match c:
        case Cfg(scale=2.0):
            return 1.0
        case Cfg(scale=s):
            return s


cfgcase("match_class", m1)
