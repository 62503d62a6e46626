"""Scenes with arguments, modes, transforms, threads, copies and methods."""

# ruff: noqa: C416, C417, E742, UP030, UP031, UP032, E721 - scenes are about ways to write code
from __future__ import annotations

import contextlib
import copy
import os
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
            if (
                isinstance(a, tuple)
                and len(a) == 2
                and isinstance(a[1], dict)
                and isinstance(a[0], tuple)
            ):
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
args(
    "signs",
    lambda x, v: torch.signbit(x * v),
    lambda: [(X(9), v) for v in R(0.0, -0.0, 0, torch.tensor(-0.0), np.float64(-0.0))],
)
args("list_append", lambda x, out: out.append(x * 2), lambda: [(X(9), []) for _ in range(7)])
args("dict_set", lambda x, out: out.__setitem__("y", x * 2), lambda: [(X(9), {}) for _ in range(7)])
args("popped", lambda d: d.pop("a") * 2, lambda: [({"a": X(9)},) for _ in range(7)])
args(
    "storage_offset",
    lambda x: x * (x.storage_offset() + 1),
    lambda: [(t,) for t in R(X(9), X(9, 5, 3)[1:], X(9, 6, 3)[2:])],
)
args(
    "is_view",
    lambda x: x * (2 if x._is_view() else 3),
    lambda: [(t,) for t in R(X(9), X(9, 5, 3)[1:].clone(), X(9, 5, 3)[1:])],
)
args(
    "base_none",
    lambda x: x * (2 if x._base is None else 3),
    lambda: [(t,) for t in R(X(9), X(9, 5, 3)[1:])],
)
args(
    "grad_fn",
    lambda x: x * len(x.grad_fn.name()),
    lambda: [(t,) for t in R(X(9).requires_grad_() * 2, X(9).requires_grad_().exp())],
)


class Sub(T):
    pass


args("subclass", lambda x: x * 2, lambda: [(t,) for t in R(X(9), X(9).as_subclass(Sub))])
args("subclass_first", lambda x: x * 2, lambda: [(t,) for t in R(X(9).as_subclass(Sub), X(9))])


class Fun(T):
    @classmethod
    def __torch_function__(cls, func, types_, args=(), kwargs=None):
        return super().__torch_function__(func, types_, args, kwargs or {})


args(
    "function_subclass", lambda x: x * 2 + 1, lambda: [(t,) for t in R(X(9), X(9).as_subclass(Fun))]
)


def tagged(v, t=None):
    x = X(9)
    x.tag = v
    return x


args("tag_direct", lambda x: x * x.tag, lambda: [(t,) for t in R(tagged(2.0), tagged(3.0))])
args("tag_dict", lambda x: x * len(vars(x)), lambda: [(t,) for t in R(X(9), tagged(3.0))])
args(
    "tag_tensor",
    lambda x: x * x.tag,
    lambda: [(t,) for t in R(tagged(torch.tensor(2.0)), tagged(torch.tensor(3.0)))],
)


args(
    "dim0",
    lambda x: x.sum() + x.ndim,
    lambda: [(t,) for t in R(torch.tensor(2.0), torch.ones(1), torch.ones(1, 1))],
)
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
args(
    "inplace_overlap",
    lambda x, y: x.add_(y),
    lambda: [p for b in [torch.ones(6, 3) for _ in range(9)] for p in [(b[:3], b[3:])]]
    + [(b[:3], b[1:4]) for b in [torch.ones(6, 3) for _ in range(4)]]
    + [(lambda b: (b, b))(torch.ones(3, 3)) for _ in range(4)],
)
args(
    "ndarray",
    lambda x, a: x * float(a.sum()),
    lambda: [(X(9), a) for a in R(np.ones(3), np.ones(3) * 2)],
)
args("set", lambda x, s: x * len(s), lambda: [(X(9), s) for s in R({1}, {1, 2})])
args("none", lambda x, m: x if m is None else x * m, lambda: [(X(9), s) for s in R(None, X(8))])
args("str", lambda x, m: getattr(x, m)(), lambda: [(X(9), s) for s in R("sin", "cos")])
args("fn", lambda x, m: m(x), lambda: [(X(9), s) for s in R(torch.sin, torch.cos)])


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


class Dd(dict):
    n = 0

    def items(self):
        Dd.n += 1
        return super().items()


@scene
def args_items_counted(c):
    Dd.n = 0
    f = c(lambda l: sum(t * 1 for _, t in l.items()))
    for i in range(7):
        yield tell(f, Dd(a=X(9))), Dd.n


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
modes("inference_result", lambda x: (x * 2).is_inference(), on(torch.inference_mode))


@scene
def mode_inference_flag(c):
    f = c(lambda x: x * 2)
    for i in range(12):
        with torch.inference_mode(i % 2 == 1):
            r = f(X(i))
        yield r.is_inference(), see(r)


modes("no_grad", lambda x: x @ W, on(torch.no_grad))
modes("autocast", lambda x: x @ W, on(lambda: torch.autocast("cpu", torch.bfloat16)))
modes(
    "saved_hooks",
    lambda x: (x @ W).sum(),
    on(lambda: torch.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t)),
)


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


modes(
    "device_ctx",
    lambda x: torch.zeros(3).device.type,
    on(lambda: torch.device("meta")),
    lambda i: one,
)
modes("anomaly", lambda x: x * 3, on(lambda: torch.autograd.detect_anomaly(check_nan=False)))


@scene
def mode_default_device(c):
    f = c(lambda x: torch.zeros(3).device.type)
    try:
        for i in range(10):
            torch.set_default_device("meta" if i in (5, 6, 8) else None)
            yield tell(f, one)
    finally:
        torch.set_default_device(None)


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


@scene
def func_forward_ad(c):
    import rushlight.autograd.forward_ad as fwAD

    f = c(lambda x: x * x)
    for i in range(7):
        yield tell(f, X(i))
        with fwAD.dual_level():
            d = fwAD.make_dual(X(i), torch.ones(4, 3))
            yield tell(lambda: fwAD.unpack_dual(f(d)))


# ---- nesting, threads, copies
@scene
def nested(c):
    k = {"v": 2.0}
    inner = c(lambda x: x * k["v"])
    outer = c(lambda x: inner(x) + 1)

    return steps(lambda x: (inner(x), outer(x)), lambda i: k.update(v=L(i, 2.0, 3.0)))


@scene
def threads(c):
    k = {"v": 2.0}
    f = c(lambda x: x * k["v"])
    for i in range(8):
        k["v"] = L(i, 2.0, 3.0)
        out = [None] * 3
        ts = [
            threading.Thread(target=lambda j=j: out.__setitem__(j, see(f(X(i) + j))))
            for j in range(3)
        ]
        [t.start() for t in ts]
        [t.join() for t in ts]
        yield ("t", out)


@scene
def forked(c):
    k = {"v": 2.0}
    f = c(lambda x: x * k["v"])
    for i in range(6):
        yield tell(f, X(i))
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            k["v"] = 5.0
            os.write(w, f(X(9)).numpy().tobytes())
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    yield ("c", os.read(r, 1000)), tell(f, X(9))


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
def method_of_slots(c):
    class A:
        __slots__ = ("k",)

        @c
        def go(self, x):
            return x * self.k

    a = A()
    return steps(lambda x: a.go(x), lambda i: setattr(a, "k", L(i, 2.0, 3.0)))


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


@scene
def async_fn(c):
    import asyncio

    async def g(x):
        return x * 2

    f = c(g)
    for i in range(6):
        yield tell(lambda: asyncio.run(f(X(i))))
