"""Scenes with arguments, modes, transforms, threads, copies and methods."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import contextlib
import copy
import pickle
import threading

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import L, T, X, scene, see, steps, tell
from rushlight import nn


# ---- arguments of every kind
def args(name, fn, seq):
    def make(c):
        f = c(fn)
        for a in seq():
            k = {}
            if isinstance(a, tuple) and len(a) == 2 and isinstance(a[1], dict) and isinstance(a[0], tuple):
                a, k = a
            yield tell(f, *a, **k), see(list(a))

    make.__name__ = "args_" + name
    scene(make)


R = lambda *vs: [v for v in vs for _ in range(3)] + list(vs)
one = torch.ones(4, 3)
args(
    "scalars",
    lambda x, v: x * v,
    lambda: [
        (X(9), v)
        for v in R(
            2,
            2.0,
            True,
            np.float32(2),
            np.int64(2),
            torch.tensor(2.0),
            torch.tensor(2),
            2 + 0j,
            -0.0,
            0.0,
            float("nan"),
            2**70,
        )
    ],
)
args("popped", lambda d: d.pop("a") * 2, lambda: [({"a": X(9)},) for _ in range(7)])
args(
    "is_view",
    lambda x: x * (2 if x._is_view() else 3),
    lambda: [(t,) for t in R(X(9), X(9, 5, 3)[1:].clone(), X(9, 5, 3)[1:])],
)
args(
    "grad_fn",
    lambda x: x * len(x.grad_fn.name()),
    lambda: [(t,) for t in R(X(9).requires_grad_() * 2, X(9).requires_grad_().exp())],
)


class Sub(T):
    pass


args("subclass", lambda x: x * 2, lambda: [(t,) for t in R(X(9), X(9).as_subclass(Sub))])


def tagged(v, t=None):
    x = X(9)
    x.tag = v
    return x


args("tag_dict", lambda x: x * len(vars(x)), lambda: [(t,) for t in R(X(9), tagged(3.0))])


args("dim0", lambda x: x.sum() + x.ndim, lambda: [(t,) for t in R(torch.tensor(2.0), torch.ones(1), torch.ones(1, 1))])
args(
    "dtypes",
    lambda x: x * 2,
    lambda: [
        (X(9).to(d),)
        for d in R(
            torch.float32,
            torch.float64,
            torch.int64,
            torch.bool,
            torch.float16,
            torch.bfloat16,
            torch.complex64,
            torch.uint8,
        )
    ],
)


class It(list):
    n = 0

    def __iter__(self):
        It.n += 1
        return super().__iter__()


@scene
def args_iter_counted(c):
    It.n = 0
    f = c(lambda l: sum(t * 1 for t in l))
    for i in range(7):
        yield tell(f, It([X(9)])), It.n


# ---- modes
def modes(name, body, ctx, x=X):
    def make(c):
        f = c(body)
        for i in range(10):
            with ctx(i) or contextlib.nullcontext():
                r = tell(f, x(i))
            yield r

    make.__name__ = "mode_" + name
    scene(make)


W = nn.Parameter(torch.ones(3, 3))
on = lambda mk: (lambda i: mk() if i in (5, 6, 8) else None)


modes("autocast", lambda x: x @ W, on(lambda: torch.autocast("cpu", torch.bfloat16)))


class FM(torch.overrides.TorchFunctionMode):
    def __torch_function__(self, func, types_, args=(), kwargs=None):
        r = func(*args, **(kwargs or {}))
        return r * 2 if func in (torch.Tensor.mul, T.__mul__) else r


modes("function_mode", lambda x: x * 3, on(FM))
modes("dispatch_mode", lambda x: x * 3, on(lambda: _dm()))


def _dm():
    from rushlight.utils._python_dispatch import TorchDispatchMode

    class DM(TorchDispatchMode):
        def __torch_dispatch__(self, func, types_, args=(), kwargs=None):
            r = func(*args, **(kwargs or {}))
            return r + 1

    return DM()


modes("device_ctx", lambda x: torch.zeros(3).device.type, on(lambda: torch.device("meta")), lambda i: one)


@scene
def mode_deterministic_error(c):
    f = c(lambda x: torch.zeros(5).scatter_add_(0, torch.tensor([0, 1, 1]), x[0]))
    try:
        for i in range(10):
            torch.use_deterministic_algorithms(i in (5, 6, 8))
            yield tell(f, X(i))
    finally:
        torch.use_deterministic_algorithms(False)


@scene
def mode_sdpa(c):
    q = torch.randn(1, 2, 5, 4)
    f = c(lambda x: F.scaled_dot_product_attention(q, q, q))
    from rushlight.nn.attention import SDPBackend, sdpa_kernel

    for i in range(10):
        with sdpa_kernel(SDPBackend.MATH) if i in (5, 6, 8) else contextlib.nullcontext():
            yield tell(f, one)


@scene
def mode_set_inside(c):
    def fn(x):
        with torch.no_grad():
            y = x * W[0]
        with torch.enable_grad():
            z = x * W[0]
        return y.requires_grad, z.requires_grad, y, z

    f = c(fn)
    for i in range(10):
        with torch.set_grad_enabled(i % 2 == 0):
            yield tell(f, X(i))


# ---- torch.func


@scene
def func_vmap(c):
    f = c(lambda x: x * x.sum())
    for i in range(7):
        yield tell(f, X(i)[0]), tell(torch.func.vmap(f), X(i))


# ---- nesting, threads, copies


@scene
def threads(c):
    k = {"v": 2.0}
    f = c(lambda x: x * k["v"])
    for i in range(8):
        k["v"] = L(i, 2.0, 3.0)
        out = [None] * 3
        ts = [threading.Thread(target=lambda j=j: out.__setitem__(j, see(f(X(i) + j)))) for j in range(3)]
        [t.start() for t in ts]
        [t.join() for t in ts]
        yield ("t", out)


@scene
def deepcopied(c):
    net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    f = c(net)
    for i in range(4):
        yield tell(f, X(i))
    g = copy.deepcopy(f)
    with torch.no_grad():
        net[0].weight.mul_(2)
    for i in range(4):
        yield tell(f, X(i)), tell(g, X(i))


@scene
def state_dict_between(c):
    net = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3))
    f = c(net)
    sd = {k: v.clone() * 2 for k, v in net.state_dict().items()}
    for i in range(9):
        if i == 5:
            net.load_state_dict(sd)
        if i == 7:
            net.load_state_dict(sd, assign=True)
        yield tell(f, X(i)), see(net.state_dict())


@scene
def method_class(c):
    class A:
        k = 2.0

        @classmethod
        @c
        def go(cls, x):
            return x * cls.k

    return steps(lambda x: A.go(x), lambda i: setattr(A, "k", L(i, 2.0, 3.0)))


@scene
def method_copy(c):
    class A:
        def __init__(self):
            self.k = 2.0

        @c
        def go(self, x):
            return x * self.k

    a = A()
    for i in range(5):
        yield tell(a.go, X(i))
    b = copy.copy(a)
    b.k = 5.0
    d = copy.deepcopy(a)
    d.k = 7.0
    for i in range(5):
        yield tell(a.go, X(i)), tell(b.go, X(i)), tell(d.go, X(i))


@scene
def method_pickled(c):
    a = PickleMe()
    PickleMe.go = c(_go)
    for i in range(5):
        yield tell(a.go, X(i))
    b = pickle.loads(pickle.dumps(a))
    b.k = 5.0
    for i in range(5):
        yield tell(a.go, X(i)), tell(b.go, X(i))


class PickleMe:
    k = 2.0


def _go(self, x):
    return x * self.k


PickleMe.go = _go
