"""Scenes with classes: abstract ones, enumerations, data classes, dispatch."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import abc
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
def s_partial_keywords(c):
    p = functools.partial(torch.mul, other=2.0)

    return steps(c(lambda x: p(x)), lambda i: p.keywords.__setitem__("other", L(i, 2.0, 3.0)))
