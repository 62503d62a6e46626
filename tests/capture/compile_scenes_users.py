"""Scenes of what step functions and modules of users do: caches, contexts, chains of calls, averages, other people's parameters."""

# ruff: noqa: E731 - scenes are about ways to write code
from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools
import io
import logging

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import L, X, scene, see, steps, tell
from rushlight import nn


def linear(a=3, b=3):
    torch.manual_seed(2)
    return nn.Linear(a, b)


# -- results that come back as arguments ----------------------------------------------------------


@scene
def user_recurrent_state(c):
    cell = nn.GRUCell(3, 3)
    f = c(lambda x, h: cell(x, h))
    h = torch.zeros(4, 3)
    for i in range(10):
        h = f(X(i), h)
        if i % 4 == 3:
            yield tell(h.sum().backward), see([p.grad for p in cell.parameters()])
            h = h.detach()
        yield see(h)


@scene
def user_argument_twice_in_other_ways(c):
    f = c(lambda a, b: (a.add_(1), b * 2, a + b))
    a, b = X(0), X(5)
    for pair in ((a, b), (a, b), (a, b), (a, a), (b, a), (a, b), (b, b), (a[:2], a[2:]), (a[:2], a[:2])):
        yield tell(f, *pair), see([a, b])


# -- modules --------------------------------------------------------------------------------------


@scene
def user_lazy_mask(c):
    class Causal(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mask", None)
            self.q = linear()

        def forward(self, x):
            if self.mask is None or self.mask.shape[0] != x.shape[0]:
                self.mask = torch.ones(x.shape[0], x.shape[0]).tril()
            a = self.q(x) @ x.t()
            return a.masked_fill(self.mask == 0, -1e9).softmax(-1) @ x

    m = Causal()
    f = c(m)

    def change(i):
        if i == 5:
            m.mask = torch.ones(4, 4)
        if i == 7:
            m.mask = None

    yield from steps(f, change, look=lambda: m.mask)


@scene
def user_vmap_inside(c):
    w = torch.ones(3, 3)
    f = c(lambda x: torch.vmap(lambda r: (w @ r).tanh())(x))
    yield from steps(f, lambda i: w.mul_(0.9))


@scene
def user_checkpoint_inside(c):
    net = nn.Sequential(linear(), nn.Tanh(), nn.Dropout(0.3), linear())
    flag = [True]

    def fn(x):
        if flag[0]:
            return torch.utils.checkpoint.checkpoint(net, x, use_reentrant=False).sum()
        return net(x).sum()

    f = c(fn)
    for i in range(9):
        flag[0] = i not in (5, 6)
        net.zero_grad()
        x = X(i).requires_grad_()
        y = f(x)
        yield tell(y.backward), see([x.grad, *[p.grad for p in net.parameters()]])


@scene
def user_straight_through(c):
    bits = [4]

    class Round(torch.autograd.Function):
        calls = 0

        @staticmethod
        def forward(ctx, x, n):
            Round.calls += 1
            return (x * n).round() / n

        @staticmethod
        def backward(ctx, g):
            return g, None

    scale = torch.ones(1, requires_grad=True)

    def fn(x):
        q = Round.apply(x * scale, bits[0])
        fake = x + ((x * bits[0]).round() / bits[0] - x).detach()
        return (q * fake).sum()

    f = c(fn)
    for i in range(9):
        bits[0] = L(i, 4, 2)
        scale.grad = None
        y = f(X(i))
        yield see(y), tell(y.backward), see(scale.grad), Round.calls


@scene
def user_observer(c):
    class Observer(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("low", torch.zeros(()))
            self.register_buffer("high", torch.zeros(()))
            self.on = True

        def forward(self, x):
            if self.on:
                self.low.copy_(torch.minimum(self.low, x.min()))
                self.high.copy_(torch.maximum(self.high, x.max()))
            return (x - self.low) / (self.high - self.low + 1)

    m = Observer()

    def change(i):
        m.on = L(i, True, False)

    yield from steps(c(m), change, look=lambda: (m.low, m.high))


@scene
def user_module_dict_route(c):
    net = nn.ModuleDict({"a": linear(), "b": nn.Sequential(linear(), nn.ReLU())})
    cfg = {"which": "a"}
    f = c(lambda x: net[cfg["which"]](x))

    def change(i):
        cfg["which"] = L(i, "a", "b")
        if i == 7:
            net["a"] = nn.Identity()

    yield from steps(f, change)


@scene
def user_post_accumulate_hook(c):
    net = linear()
    opts = {p: torch.optim.SGD([p], lr=0.05) for p in net.parameters()}

    def hook(p):
        opts[p].step()
        opts[p].zero_grad()

    f = c(lambda x: (net(x) ** 2).mean())
    for i in range(9):
        if i == 4:
            for p in net.parameters():
                p.register_post_accumulate_grad_hook(hook)
        y = f(X(i))
        yield tell(y.backward), see(list(net.parameters())), see([p.grad for p in net.parameters()])


@scene
def user_nested_compiled(c):
    a, b = linear(), linear()
    inner = c(lambda x: a(x).relu())
    outer = c(lambda x: b(inner(x)) + inner(x * 2))
    for i in range(10):
        if i == 5:
            a.weight.data.mul_(0.5)
        net = [*a.parameters(), *b.parameters()]
        y = outer(X(i)) if i % 2 else outer(inner(X(i)))
        y.sum().backward()
        yield see(y), see([p.grad for p in net])


# -- training loops -------------------------------------------------------------------------------


@scene
def user_gan(c):
    g, d = linear(), linear(3, 1)
    og, od = torch.optim.Adam(g.parameters(), lr=0.02), torch.optim.Adam(d.parameters(), lr=0.02)

    def step_d(x):
        od.zero_grad()
        value = F.softplus(-d(x)).mean() + F.softplus(d(g(torch.randn(4, 3)).detach())).mean()
        value.backward()
        od.step()
        return value

    def step_g():
        og.zero_grad()
        value = F.softplus(-d(g(torch.randn(4, 3)))).mean()
        value.backward()
        og.step()
        return value

    fd, fg = c(step_d), c(step_g)
    for i in range(9):
        yield (tell(fd, X(i)), tell(fg), see([*g.parameters(), *d.parameters()]), see([p.grad for p in d.parameters()]))


@scene
def user_scaler(c):
    net = linear()
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=3)

    def fn(x):
        opt.zero_grad()
        value = (net(x) ** 2).mean()
        scaler.scale(value).backward()
        scaler.step(opt)
        scaler.update()
        return value

    f = c(fn)
    for i in range(10):
        yield (tell(f, X(i) * (float("inf") if i == 6 else 1)), see(list(net.parameters())), scaler.get_scale())


@scene
def user_mixup(c):
    net, rng = linear(), np.random.default_rng(0)

    def fn(x):
        lam = float(rng.beta(0.4, 0.4))
        at = torch.randperm(x.shape[0])
        return net(lam * x + (1 - lam) * x[at])

    yield from steps(c(fn), look=lambda: rng.bit_generator.state["state"]["state"])


# -- Python ---------------------------------------------------------------------------------------


@dataclasses.dataclass
class Config:
    width: float = 2.0
    parts: list = dataclasses.field(default_factory=lambda: [1.0])

    @property
    def total(self):
        return self.width * sum(self.parts)

    @functools.cached_property
    def frozen(self):
        return self.width + 100


@scene
def user_dataclass_properties(c):
    cfg = Config()
    f = c(lambda x: x * cfg.total + cfg.frozen)

    def change(i):
        cfg.width = L(i, 2.0, 3.0)
        if i == 7:
            cfg.parts.append(0.5)
        if i == 8:
            vars(cfg).pop("frozen", None)

    yield from steps(f, change)


@scene
def user_exit_stack(c):
    flags = {"quiet": False}

    def fn(x):
        with contextlib.ExitStack() as stack:
            if flags["quiet"]:
                stack.enter_context(torch.no_grad())
            return (x * p).sum()

    p = torch.ones(3, requires_grad=True)
    f = c(fn)
    for i in range(9):
        flags["quiet"] = L(i, False, True)
        y = f(X(i))
        yield see(y), tell(y.backward), see(p.grad)


@scene
def user_logging(c):
    stream = io.StringIO()
    log = logging.Logger("scene")
    log.addHandler(logging.StreamHandler(stream))

    def fn(x):
        log.debug("shape %s", tuple(x.shape))
        return x * 2

    def change(i):
        log.setLevel(L(i, logging.WARNING, logging.DEBUG))

    yield from steps(c(fn), change, look=stream.getvalue)


@scene
def user_slots_layer(c):
    class Scale:
        __slots__ = ("by", "__weakref__")

        def __init__(self, by):
            self.by = by

        def __mul__(self, x):
            return x * self.by

        __rmul__ = __mul__

    s = Scale(2.0)
    f = c(lambda x: (s * x) + 1)

    yield from steps(f, lambda i: setattr(s, "by", L(i, 2.0, 3.0)))


# -- what functions are made of -------------------------------------------------------------------


def _made():
    value = 2.0

    def inner():
        return value

    def change(v):
        nonlocal value
        value = v

    return inner, change


def of_function(name, read):
    """Code that looks into a function which it does not call."""

    def make(c):
        inner, change = _made()
        space = {"k": 2.0}
        exec("def fn(a=2.0, *, b=2.0):\n    'ab'\n    return k\n", space)
        fn = space["fn"]
        f = c(lambda x: x * read(fn, inner))

        def turn(i):
            v = L(i, 2.0, 3.0)
            space["k"] = v
            change(v)
            fn.__defaults__, fn.__doc__, fn.__name__ = (v,), "x" * int(v), "f" * int(v)
            if i == 8:
                fn.__kwdefaults__["b"] = 9.0
                fn.__annotations__["a"] = 4.0

        yield from steps(f, turn)

    make.__name__ = f"user_function_{name}"
    scene(make)


of_function("globals", lambda fn, inner: fn.__globals__["k"])
of_function("closure", lambda fn, inner: inner.__closure__[0].cell_contents)
of_function("defaults", lambda fn, inner: fn.__defaults__[0])
of_function("kwdefaults", lambda fn, inner: fn.__kwdefaults__["b"])
of_function("annotations", lambda fn, inner: fn.__annotations__.get("a", 1.0))


# -- members that another class hides -------------------------------------------------------------


def hidden(name, of_base, use, later):
    """`use` reaches a member of a base class past the one of the object's own class; `later` replaces it."""

    def make(c, parent=object):
        base = type("Base", (parent,), of_base())

        class Own(base):
            k = 7.0

            def f(self, x):
                return super().f(x) + 1

            def forward(self, x):
                return use(self, x, super())

        o = Own()

        def turn(i):
            if i in (5, 8):
                setattr(base, *later(i))

        yield from steps(c(o if parent is nn.Module else o.forward), turn)

    for parent in (object, nn.Module):
        one = functools.partial(make, parent=parent)
        one.__name__ = f"user_hidden_{name}_{parent.__name__}"
        scene(one)


hidden("number", lambda: {"k": 2.0}, lambda o, x, up: x * up.k, lambda i: ("k", float(i)))
hidden("getattr", lambda: {"k": 2.0}, lambda o, x, up: x * getattr(up, "k"), lambda i: ("k", float(i)))
hidden("base", lambda: {"k": 2.0}, lambda o, x, up: x * type(o).__base__.k, lambda i: ("k", float(i)))
hidden("mro", lambda: {"k": 2.0}, lambda o, x, up: x * type(o).__mro__[1].k, lambda i: ("k", float(i)))


# -- other ways to change the world ---------------------------------------------------------------


def world(name, make):
    def run(c):
        fn, change, *look = make()
        yield from steps(c(fn), change, look=look[0] if look else None)

    run.__name__ = f"user_{name}"
    scene(run)


def _sent():
    def average():
        total, n, found = 0.0, 0, None
        while True:
            total, n = total + (yield found), n + 1
            found = total / n

    g, k = average(), [0.0]
    next(g)

    def fn(x):
        k[0] += 1.0
        return x * g.send(k[0])

    return fn, None, lambda: k[0]


def _name_goes():
    space = {}
    exec("def fn(x):\n    try:\n        return x * k\n    except NameError:\n        return x\n", space)
    space["k"] = 2.0
    return space["fn"], lambda i: space.pop("k", None) if i == 5 else space.update(k=4.0) if i == 7 else None


def _builtin_hidden():
    space = {}
    exec("def fn(x):\n    return x * max(1, 2)\n", space)
    return space["fn"], lambda i: space.update(max=min) if i == 5 else space.pop("max", None) if i == 7 else None


def _bases():
    one, two = type("One", (), {"k": 1.0}), type("Two", (), {"k": 2.0})
    three = type("Three", (one,), {})
    o = three()
    return lambda x: x * o.k, lambda i: setattr(three, "__bases__", L(i, (one,), (two,)))


def _by_hand():
    net, rate = linear(), [0.1]

    def fn(x):
        value = (net(x) ** 2).mean()
        gs = torch.autograd.grad(value, [p for p in net.parameters() if p.requires_grad])
        with torch.no_grad():
            for p, g in zip([p for p in net.parameters() if p.requires_grad], gs):
                p -= rate[0] * g
        return value, gs

    def change(i):
        rate[0] = L(i, 0.1, 0.01)
        net.bias.requires_grad_(i not in (6, 7))

    return fn, change, lambda: list(net.parameters())


def _frozen_inside():
    net = linear()

    def fn(x):
        net.bias.requires_grad_(False)
        value = net(x).sum()
        value.backward()
        net.bias.requires_grad_(True)
        return value

    return fn, lambda i: net.zero_grad(), lambda: [p.grad for p in net.parameters()]


def _copied_inside():
    net = linear()
    return lambda x: copy.deepcopy(net)(x), lambda i: net.bias.data.add_(0.1)


def _chained():
    a, b = {"k": 1.0}, {"k": 2.0, "j": 3.0}
    both = collections.ChainMap(a, b)

    def change(i):
        if i == 5:
            del a["k"]
        if i == 7:
            b["j"] = 7.0

    return lambda x: x * both["k"] + both["j"], change


def _reordered():
    d = {"a": 1.0, "b": 2.0}
    fold = lambda x: functools.reduce(lambda s, v: s * 2 + v, d.values(), x)
    return fold, lambda i: d.update(a=d.pop("a")) if i == 5 else None


for name, make in {
    "generator_sent_to": _sent, "name_goes": _name_goes, "builtin_hidden": _builtin_hidden, "bases": _bases,
    "sgd_by_hand": _by_hand, "frozen_inside": _frozen_inside, "copied_inside": _copied_inside,
    "chain_map": _chained, "dict_reordered": _reordered,
}.items():  # fmt: skip
    world(name, make)
