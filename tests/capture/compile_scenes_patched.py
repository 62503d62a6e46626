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

    def ch(i):
        g["__builtins__"]["two"] = L(i, 2.0, 3.0)

    return steps(c(g["fn"]), ch)


@scene
def s_builtin_len(c):
    g = {"__builtins__": {"len": len}, "__name__": "odd"}
    exec("def fn(x): return x * len([1, 2])", g)

    def ch(i):
        g["__builtins__"]["len"] = L(i, len, lambda v: 7)

    return steps(c(g["fn"]), ch)


@scene
def s_tensor_method_patched(c):
    def fn(x):
        return x.relu()

    before = T.relu

    def ch(i):
        T.relu = L(i, before, lambda self: self * 2)

    f = c(fn)
    try:
        yield from steps(f, ch)
    finally:
        T.relu = before


@scene
def s_tensor_operator_patched(c):
    def fn(x):
        return x * 2 + 1

    before = T.__mul__

    def ch(i):
        T.__mul__ = L(i, before, lambda self, o: self - o)

    f = c(fn)
    try:
        yield from steps(f, ch)
    finally:
        T.__mul__ = before


@scene
def s_functional_patched(c):
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    before = F.relu

    def ch(i):
        F.relu = L(i, before, lambda x, inplace=False: x * 2)

    f = c(net)
    try:
        yield from steps(f, ch)
    finally:
        F.relu = before


@scene
def s_linear_patched(c):
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    before = F.linear

    def ch(i):
        F.linear = L(i, before, lambda x, w, b=None: x * 2)

    f = c(net)
    try:
        yield from steps(f, ch)
    finally:
        F.linear = before


@scene
def s_linear_forward_patched(c):
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    before = nn.Linear.forward

    def ch(i):
        nn.Linear.forward = L(i, before, lambda s, x: x * 2)

    f = c(net)
    try:
        yield from steps(f, ch)
    finally:
        nn.Linear.forward = before


@scene
def s_module_call_patched(c):
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    before = nn.Module.__call__

    def ch(i):
        nn.Module.__call__ = L(i, before, lambda s, x: s.forward(x) * 2)

    f = c(lambda x: net(x))
    try:
        yield from steps(f, ch)
    finally:
        nn.Module.__call__ = before


@scene
def s_sequential_forward_patched(c):
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    before = nn.Sequential.forward

    def ch(i):
        nn.Sequential.forward = L(i, before, lambda s, x: x * 2)

    f = c(net)
    try:
        yield from steps(f, ch)
    finally:
        nn.Sequential.forward = before


@scene
def s_optim_step_patched(c):
    p = nn.Parameter(torch.ones(3))
    opt = torch.optim.SGD([p], lr=0.1)

    def fn(x):
        opt.zero_grad()
        l = (x * p).sum()
        l.backward()
        opt.step()
        return l

    before = torch.optim.SGD.step

    def ch(i):
        torch.optim.SGD.step = L(i, before, lambda s, closure=None: None)

    f = c(fn)
    try:
        yield from steps(f, ch, look=lambda: p)
    finally:
        torch.optim.SGD.step = before


@scene
def s_torch_function_patched(c):
    def fn(x):
        return torch.relu(x)

    before = torch.relu

    def ch(i):
        torch.relu = L(i, before, lambda x: x * 2)

    f = c(fn)
    try:
        yield from steps(f, ch)
    finally:
        torch.relu = before


@scene
def s_numpy_patched(c):
    def fn(x):
        return x * float(np.mean([1.0, 2.0]))

    before = np.mean

    def ch(i):
        np.mean = L(i, before, lambda v: 9.0)

    f = c(fn)
    try:
        yield from steps(f, ch)
    finally:
        np.mean = before


@scene
def s_math_patched(c):
    def fn(x):
        return x * math.sqrt(4.0)

    before = math.sqrt

    def ch(i):
        math.sqrt = L(i, before, lambda v: 9.0)

    f = c(fn)
    try:
        yield from steps(f, ch)
    finally:
        math.sqrt = before


@scene
def s_sysmodules(c):
    m = types.ModuleType("rl_fake_mod")
    m.k = 2.0
    m2 = types.ModuleType("rl_fake_mod")
    m2.k = 5.0

    def fn(x):
        import rl_fake_mod

        return x * rl_fake_mod.k

    def ch(i):
        sys.modules["rl_fake_mod"] = L(i, m, m2)

    return steps(c(fn), ch)


@scene
def s_sysmodules_direct(c):
    m = types.ModuleType("rl_fake_mod")
    m.k = 2.0
    m2 = types.ModuleType("rl_fake_mod")
    m2.k = 5.0

    def fn(x):
        return x * sys.modules["rl_fake_mod"].k

    def ch(i):
        sys.modules["rl_fake_mod"] = L(i, m, m2)

    return steps(c(fn), ch)


@scene
def s_importlib(c):
    m = types.ModuleType("rl_fake_mod")
    m.k = 2.0
    m2 = types.ModuleType("rl_fake_mod")
    m2.k = 5.0

    def fn(x):
        return x * importlib.import_module("rl_fake_mod").k

    def ch(i):
        sys.modules["rl_fake_mod"] = L(i, m, m2)

    return steps(c(fn), ch)


@scene
def s_module_getattr(c):
    m = types.ModuleType("rl_fake_mod")
    d = {"k": 2.0}
    m.__getattr__ = lambda n: d[n]

    def fn(x):
        return x * m.k

    def ch(i):
        d["k"] = L(i, 2.0, 3.0)

    return steps(c(fn), ch)


@scene
def s_module_subclass(c):
    class M(types.ModuleType):
        v = 2.0

        @property
        def k(self):
            return self.v

    m = M("m")

    def fn(x):
        return x * m.k

    def ch(i):
        m.v = L(i, 2.0, 3.0)

    return steps(c(fn), ch)
