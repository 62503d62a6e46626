"""Scenes with classes: abstract ones, enumerations, data classes, dispatch."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import abc
import collections
import collections.abc
import dataclasses
import enum
import functools
import types
import typing

import rushlight as torch
from compile_scenes import L, scene, steps


@scene
def s_abc_register(c):
    class P(abc.ABC):
        pass

    class A:
        pass

    o = A()

    def ch(i):
        if i == 5:
            P.register(A)

    return steps(c(lambda x: x * (2 if isinstance(o, P) else 3)), ch)


@scene
def s_protocol(c):
    @typing.runtime_checkable
    class P(typing.Protocol):
        scale: float

    o = types.SimpleNamespace(scale=1)

    def ch(i):
        if i == 5:
            del o.scale

    return steps(c(lambda x: x * (2 if isinstance(o, P) else 3)), ch)


@scene
def s_subclasshook(c):
    k = {"v": True}

    class P(abc.ABC):
        @classmethod
        def __subclasshook__(cls, C):
            return k["v"]

    class A:
        pass

    o = A()

    def fn(x):
        return x * (2 if isinstance(o, P) else 3)

    return steps(c(fn), lambda i: k.update(v=L(i, True, False)))


@scene
def s_sized(c):
    class A:
        pass

    o = A()

    def ch(i):
        if i == 5:
            A.__len__ = lambda self: 1

    return steps(c(lambda x: x * (2 if isinstance(o, collections.abc.Sized) else 3)), ch)


@scene
def s_callable(c):
    class A:
        z = 1

    o = A()

    def ch(i):
        if i == 5:
            del A.z
            A.__call__ = lambda self: 1

    return steps(c(lambda x: x * (2 if callable(o) else 3)), ch)


@scene
def s_singledispatch(c):
    @functools.singledispatch
    def g(v):
        return 2.0

    def ch(i):
        if i == 5:
            g.register(int, lambda v: 5.0)

    return steps(c(lambda x: x * g(1)), ch)


@scene
def s_partialmethod(c):
    class A:
        def f(self, a):
            return a

        k = functools.partialmethod(f, 2.0)

    o = A()

    def ch(i):
        if i == 5:
            A.k = functools.partialmethod(A.f, 5.0)

    return steps(c(lambda x: x * o.k()), ch)


@scene
def s_partial_keywords(c):
    p = functools.partial(torch.mul, other=2.0)

    return steps(c(lambda x: p(x)), lambda i: p.keywords.__setitem__("other", L(i, 2.0, 3.0)))


@scene
def s_total_ordering(c):
    @functools.total_ordering
    class A:
        v = 1

        def __eq__(self, o):
            return self.v == o.v

        def __lt__(self, o):
            return self.v < o.v

        __hash__ = None

    a, b = A(), A()
    b.v = 2

    return steps(c(lambda x: x * (2 if a >= b else 3)), lambda i: setattr(a, "v", L(i, 1, 5)))


@scene
def s_flag(c):
    class Fl(enum.Flag):
        A = 1
        B = 2

    o = types.SimpleNamespace(f=Fl.A)

    def fn(x):
        return x * (2 if Fl.B in o.f else 3)

    return steps(c(fn), lambda i: setattr(o, "f", L(i, Fl.A, Fl.A | Fl.B)))


@scene
def s_dataclass_asdict(c):
    @dataclasses.dataclass
    class A:
        k: float = 2.0
        l: list = dataclasses.field(default_factory=lambda: [1.0])

    o = A()

    def ch(i):
        if i == 5:
            o.l.append(4.0)

    return steps(c(lambda x: x * sum(dataclasses.asdict(o)["l"])), ch)


@scene
def s_dataclass_replace(c):
    @dataclasses.dataclass
    class A:
        k: float = 2.0
        m: float = 1.0

    o = A()

    def fn(x):
        return x * dataclasses.replace(o, m=3.0).k

    return steps(c(fn), lambda i: setattr(o, "k", L(i, 2.0, 3.0)))


@scene
def s_dataclass_astuple(c):
    @dataclasses.dataclass
    class A:
        k: float = 2.0

    o = A()

    def fn(x):
        return x * dataclasses.astuple(o)[0]

    return steps(c(fn), lambda i: setattr(o, "k", L(i, 2.0, 3.0)))
