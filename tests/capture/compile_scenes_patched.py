"""Scenes with functions that somebody exchanges: builtins, methods of tensors and modules, whole modules."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import importlib
import math
import sys
import types

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import L, T, scene, steps
from rushlight import nn


@scene
def s_builtin_module_dict(c):
    g = {"__builtins__": {"len": len, "two": 2.0}, "__name__": "odd"}
    exec("def fn(x): return x * two * len([1, 2])", g)

    return steps(c(g["fn"]), lambda i: g["__builtins__"].__setitem__("two", L(i, 2.0, 3.0)))


def exchanged(name, owner, attribute, other, compiled):
    """A function that is another one in some calls; `compiled` gives what is called, and what is looked at afterwards."""

    def make(c):
        before, (f, *look) = getattr(owner, attribute), compiled()
        try:
            yield from steps(
                c(f), lambda i: setattr(owner, attribute, L(i, before, other)), look=look[0] if look else None
            )  # fmt: skip
        finally:
            setattr(owner, attribute, before)

    make.__name__ = f"s_{name}_patched"
    scene(make)


def _net():
    return (nn.Sequential(nn.Linear(3, 3), nn.ReLU()),)


def _calls_a_net():
    (net,) = _net()
    return (lambda x: net(x),)


def _step():
    p = nn.Parameter(torch.ones(3))
    opt = torch.optim.SGD([p], lr=0.1)

    def fn(x):
        opt.zero_grad()
        l = (x * p).sum()
        l.backward()
        opt.step()
        return l

    return fn, lambda: p


exchanged("tensor_method", T, "relu", lambda self: self * 2, lambda: (lambda x: x.relu(),))
exchanged("tensor_operator", T, "__mul__", lambda self, o: self - o, lambda: (lambda x: x * 2 + 1,))
exchanged("functional", F, "relu", lambda x, inplace=False: x * 2, _net)
exchanged("linear", F, "linear", lambda x, w, b=None: x * 2, _net)
exchanged("linear_forward", nn.Linear, "forward", lambda s, x: x * 2, _net)
exchanged("module_call", nn.Module, "__call__", lambda s, x: s.forward(x) * 2, _calls_a_net)
exchanged("sequential_forward", nn.Sequential, "forward", lambda s, x: x * 2, _net)
exchanged("optim_step", torch.optim.SGD, "step", lambda s, closure=None: None, _step)
exchanged("torch_function", torch, "relu", lambda x: x * 2, lambda: (lambda x: torch.relu(x),))
exchanged("numpy", np, "mean", lambda v: 9.0, lambda: (lambda x: x * float(np.mean([1.0, 2.0])),))
exchanged("math", math, "sqrt", lambda v: 9.0, lambda: (lambda x: x * math.sqrt(4.0),))


def _imports(x):
    import rl_fake_mod

    return x * rl_fake_mod.k


for _name, _fn in (
    ("s_sysmodules", _imports),
    ("s_sysmodules_direct", lambda x: x * sys.modules["rl_fake_mod"].k),
    ("s_importlib", lambda x: x * importlib.import_module("rl_fake_mod").k),
):

    def _module_exchanged(c, fn=_fn):
        one, other = (types.ModuleType("rl_fake_mod") for _ in range(2))
        one.k, other.k = 2.0, 5.0
        try:
            yield from steps(
                c(fn), lambda i: sys.modules.__setitem__("rl_fake_mod", L(i, one, other))
            )
        finally:
            del sys.modules["rl_fake_mod"]

    _module_exchanged.__name__ = _name
    scene(_module_exchanged)


@scene
def s_module_getattr(c):
    m = types.ModuleType("rl_fake_mod")
    d = {"k": 2.0}
    m.__getattr__ = lambda n: d[n]

    return steps(c(lambda x: x * m.k), lambda i: d.__setitem__("k", L(i, 2.0, 3.0)))


@scene
def s_module_subclass(c):
    class M(types.ModuleType):
        v = 2.0

        @property
        def k(self):
            return self.v

    m = M("m")

    return steps(c(lambda x: x * m.k), lambda i: setattr(m, "v", L(i, 2.0, 3.0)))
