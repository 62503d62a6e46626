"""Scenes about dicts of objects replaced, builtins by other names, warnings, arguments, results and constants."""

from __future__ import annotations

import builtins
import functools
import types

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import L, X, linear, scene, see, steps, tell, worlds
from rushlight import nn

NS = types.SimpleNamespace
world = worlds("values")


class K:
    """An object with a dict."""

    def __init__(self, **own):
        self.__dict__.update(own)


# -- an object's dict -----------------------------------------------------------------------------


@world
def dict_that_is_the_object():
    class Attributes(dict):
        def __init__(self, **own):
            super().__init__(**own)
            self.__dict__ = self

    o = Attributes(v=2.0)

    def change(i):
        if i < 7:
            o["v"] = L(i, 2.0, 3.0)
        else:
            o.v = 5.0

    return lambda x: x * o.v * o["v"], change


@world
def slots_deleted():
    class S:
        __slots__ = ("v",)

    o = S()

    def change(i):
        if L(i, 1, 0):
            o.v = 2.0
        elif hasattr(o, "v"):
            del o.v

    def fn(x):
        try:
            return x * o.v
        except AttributeError:
            return x * 7

    return fn, change


# -- builtins by other names ----------------------------------------------------------------------

GET, HAS, VARS, DIR, SET = getattr, hasattr, vars, dir, setattr


@world
def getattr_in_map():
    os, names = [K(v=2.0)], ["".join(["v"])]
    return lambda x: x * sum(map(GET, os, names)), lambda i: setattr(os[0], "v", L(i, 2.0, 3.0))


@world
def getattr_of_the_module():
    o, name = K(v=2.0), "".join(["v"])
    return lambda x: x * builtins.getattr(o, name), lambda i: setattr(o, "v", L(i, 2.0, 3.0))


# -- warnings of this package's own code ----------------------------------------------------------

WARNS = {
    "broadcast_loss": lambda x: F.mse_loss(x, x[:1] * 2),
    "l1_loss": lambda x: F.l1_loss(x, x[:1] * 2),
    "smooth_l1_loss": lambda x: F.smooth_l1_loss(x, x[:1] * 2),
    "implicit_dim": lambda x: F.softmax(x),
    "kl_mean": lambda x: F.kl_div(x.log_softmax(1), x.softmax(1)),
    "grid": lambda x: F.grid_sample(x.reshape(1, 1, 4, 3), torch.zeros(1, 2, 2, 2)),
    "dropout1d": lambda x: F.dropout2d(x, training=False),
    "transposed": lambda x: x.reshape(2, 2, 3).T,
    "complex_real": lambda x: (x * (1 + 1j)).to(torch.float32),
    "out_resized": lambda x: torch.add(x, 1, out=torch.ones(2)),
    "range": lambda x: x * torch.range(0, 2),
    "tensor_of_tensor": lambda x: torch.tensor(x) * 2,
    "floor_of_clip": lambda x: nn.utils.clip_grad_norm([nn.Parameter(x)], 1.0),
}


def warned(name, fn):
    def make(c):
        f = c(lambda x: fn(x))
        for i in range(7):
            yield tell(f, X(i))

    make.__name__ = f"values_warning_{name}"
    scene(make)


for _name, _fn in WARNS.items():
    warned(_name, _fn)


# -- constants that are handed out ----------------------------------------------------------------

CONSTANTS = {
    "ones": lambda x: torch.ones(3),
    "sum": lambda x: torch.zeros(3) + 1,
    "range": lambda x: torch.arange(3) * 2,
    "tensor": lambda x: torch.tensor([1.0, 2.0, 3.0]),
    "number": lambda x: torch.tensor(5.0),
    "eye": lambda x: torch.eye(3)[1],
    "full_like": lambda x: torch.full_like(x, 2.0),
    "twice": lambda x: (lambda c: (c, c))(torch.ones(3))[1],
    "mask": lambda x: torch.tril(torch.ones(3, 3)) == 0,
    "view": lambda x: torch.ones(2, 3).t(),
    "expanded": lambda x: torch.ones(1, 3).expand(2, 3),
    "empty": lambda x: torch.ones(0, 3),
    "numpy": lambda x: torch.from_numpy(np.ones(3)),
    "as_tensor": lambda x: torch.as_tensor([1, 2, 3]),
    "linspace": lambda x: torch.linspace(0, 1, 3),
    "parts": lambda x: torch.arange(6).chunk(2),
    "written": lambda x: torch.tensor([1.0, 2.0, 3.0]).add_(x.sum()),
    "part_written": lambda x: _part(x),
    "column": lambda x: torch.tensor([[1.0, 2.0], [3.0, 4.0]])[:, 1],
    "transposed": lambda x: torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t(),
}


def _part(x):
    c = torch.tensor([1.0, 2.0, 3.0])
    c[:2].add_(x.sum())
    return c


def constant(name, fn):
    """The caller writes into what it is given, keeps it, and calls again."""

    def make(c):
        f, kept = c(lambda x: (x * 2, fn(x))), []
        for i in range(8):
            y, k = f(X(i))
            kept.append(k)
            yield see(y), see(k), k._version if isinstance(k, torch.Tensor) else len(k)
            for part in k if isinstance(k, tuple) else (k,):
                try:
                    part.mul_(0)
                except RuntimeError as error:
                    yield str(error)
            yield see(kept)

    make.__name__ = f"values_constant_{name}"
    scene(make)


for _name, _fn in CONSTANTS.items():
    constant(_name, _fn)


# -- arguments ------------------------------------------------------------------------------------


def given(name, fn, args, n=9):
    """`args(i)` are the arguments of call i; what they are afterwards is told, too."""

    def make(c):
        f = c(fn)
        for i in range(n):
            values = args(i)
            yield tell(f, *values), see(list(values))
            yield [getattr(v, "_version", None) for v in values]

    make.__name__ = f"values_given_{name}"
    scene(make)


given("empty", lambda a: (a * 2, a.sum(0), a.mean()), lambda i: (L(i, X(i), X(i)[:0]),))
given("inference", lambda a: a * 2, lambda i: (L(i, X(i), _inferred(i)),))
given("devices", lambda x, d: x.to(d), lambda i: (X(i), L(i, torch.device("cpu"), "cpu")))
given("sizes", lambda x, s: x.reshape(s), lambda i: (X(i), L(i, torch.Size([12]), (12,))))
given("ellipsis", lambda x, k: x[k], lambda i: (X(i), L(i, ..., slice(1, 3))))
given("slices", lambda x, k: x[k], lambda i: (X(i), L(i, slice(0, 2), slice(0, 2, None))))
given("ranges", lambda x, k: x[list(k)], lambda i: (X(i), L(i, range(2), range(0, 2, 1))))
given("arrays", lambda x, k: x * float(k[0]), lambda i: (X(i), np.array([L(i, 2.0, 3.0)])))
given("functions", lambda x, g: g(x), lambda i: (X(i), L(i, lambda v: v * 2, lambda v: v * 3)))
given("generators", lambda x, g: x * sum(g), lambda i: (X(i), (k for k in (1, L(i, 2, 3)))))


def _inferred(i):
    with torch.inference_mode():
        return X(i)


@scene
def values_given_by_keyword(c):
    f = c(lambda x, **kw: {k: x * v for k, v in kw.items()})
    for i in range(10):
        yield tell(f, X(i), **L(i, {"a": 1.0, "b": 2.0}, {"b": 2.0, "a": 1.0}))


# -- functions of users inside of ours ------------------------------------------------------------

INSIDE = {
    "vmap": lambda x, o: torch.func.vmap(lambda r: r * o.k)(x),
    "grad": lambda x, o: torch.func.grad(lambda v: (v * o.k).sum())(x),
    "jacrev": lambda x, o: torch.func.jacrev(lambda v: v * o.k)(x[0]),
    "jvp": lambda x, o: torch.func.jvp(lambda v: v * o.k, (x,), (x,)),
    "functional_jacobian": lambda x, o: torch.autograd.functional.jacobian(lambda v: v * o.k, x[0]),
    "checkpoint": lambda x, o: torch.utils.checkpoint.checkpoint(
        lambda v: v * o.k, x.clone().requires_grad_(), use_reentrant=False
    ),
    "module_apply": lambda x, o: (o.net.apply(lambda m: setattr(m, "k", o.k)), x * o.net.k)[1],
    "apply_": lambda x, o: x.clone().apply_(lambda v: v * o.k),
    "distance": lambda x, o: nn.TripletMarginWithDistanceLoss(
        distance_function=lambda a, b: (a - b).abs().sum(-1) * o.k
    )(x, x + 1, x - 2),
    "saved_hooks": lambda x, o: _saved(x, o),
    "sorted_by": lambda x, o: torch.stack(sorted(x.unbind(0), key=lambda r: o.order)),
    "reduced": lambda x, o: functools.reduce(lambda a, b: a * o.k + b, x.unbind(0)),
    "map": lambda x, o: torch.stack(list(map(functools.partial(torch.mul, o.k), x))),
    "tree_map": lambda x, o: torch.utils._pytree.tree_map(lambda v: v * o.k, {"a": x, "b": [x]}),
    "filtered": lambda x, o: torch.stack(list(filter(lambda r: o.order < 2, x))) if o.order < 2 else x,
    "hooked": lambda x, o: _hooked(x, o),
}


def _saved(x, o):
    x = x.clone().requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * o.k, lambda t: t):
        y = (x * x).sum()
    y.backward()
    return x.grad


def _hooked(x, o):
    x = x.clone().requires_grad_()
    y = x * 2
    y.register_hook(lambda g: g * o.k)
    y.sum().backward()
    return x.grad


def inside(name, fn):
    def make(c):
        o = NS(k=2.0, order=1, net=linear())

        def change(i):
            o.k, o.order = L(i, 2.0, 3.0), L(i, 1, 2)

        yield from steps(c(lambda x: fn(x, o)), change, n=10)

    make.__name__ = f"values_inside_{name}"
    scene(make)


for _name, _fn in INSIDE.items():
    inside(_name, _fn)


# -- kept tensors ---------------------------------------------------------------------------------


@world
def kept_storage():
    w = torch.ones(3)
    s = w.untyped_storage()

    def change(i):
        w.fill_(L(i, 1.0, 2.0))

    return lambda x: x * (1 + s[3]), change


@world
def lazy_layer():
    m = nn.LazyLinear(2)

    def change(i):
        if i == 5:
            with torch.no_grad():
                m.weight.mul_(2)

    return lambda x: m(x), change


@world
def packed_sequence():
    lengths = [3, 2]
    net = nn.GRU(3, 2)

    def fn(x):
        packed = nn.utils.rnn.pack_padded_sequence(x.reshape(2, 2, 3).repeat(2, 1, 1), lengths)
        out, h = net(packed)
        return nn.utils.rnn.pad_packed_sequence(out)[0], h

    def change(i):
        lengths[1] = L(i, 2, 1)

    return fn, change
