"""Scenes with functions that somebody exchanges: builtins, methods of tensors and modules, whole modules."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import L, scene, steps
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
            )
        finally:
            setattr(owner, attribute, before)

    make.__name__ = f"s_{name}_patched"
    scene(make)


def _net():
    return (nn.Sequential(nn.Linear(3, 3), nn.ReLU()),)


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


exchanged("functional", F, "relu", lambda x, inplace=False: x * 2, _net)
exchanged("optim_step", torch.optim.SGD, "step", lambda s, closure=None: None, _step)
