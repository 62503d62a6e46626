"""Scenes of what step functions and modules of users do: caches, contexts, chains of calls, averages, other people's parameters."""

# ruff: noqa: E731 - scenes are about ways to write code
from __future__ import annotations

import collections
import contextlib
import copy
import dataclasses
import functools
import io
import itertools
import logging
import weakref

import numpy as np

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import L, X, scene, see, steps, tell
from rushlight import nn


def linear(a=3, b=3):
    torch.manual_seed(2)
    return nn.Linear(a, b)


def stepper(net, opt, loss=lambda o: (o**2).mean()):
    def fn(x):
        opt.zero_grad()
        value = loss(net(x))
        value.backward()
        opt.step()
        return value

    return fn


def trained(f, net, n=10, change=None, x=X):
    for i in range(n):
        if change is not None:
            change(i)
        yield (
            tell(f, x(i)),
            see(list(net.state_dict().values())),
            see([p.grad for p in net.parameters()]),
        )


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
def user_result_is_kept_memory(c):
    state = torch.zeros(4, 3)
    f = c(lambda x: (state.add_(x), state * 2)[0])
    for i in range(9):
        out = f(X(i))
        out.mul_(0.5)
        yield see(state), out is state, state._version


@scene
def user_argument_twice_in_other_ways(c):
    f = c(lambda a, b: (a.add_(1), b * 2, a + b))
    a, b = X(0), X(5)
    for pair in (
        (a, b),
        (a, b),
        (a, b),
        (a, a),
        (b, a),
        (a, b),
        (b, b),
        (a[:2], a[2:]),
        (a[:2], a[:2]),
    ):
        yield tell(f, *pair), see([a, b])


@scene
def user_ring_buffer(c):
    ring, at = torch.zeros(5, 3), {"i": 0}

    def fn(x):
        ring[at["i"] % 5] = x.mean(0)
        at["i"] += 1
        return ring.sum()

    yield from steps(c(fn), look=lambda: (ring, at["i"]))


# -- modules --------------------------------------------------------------------------------------


@scene
def user_forward_with_cache(c):
    class Rotary(nn.Module):
        def __init__(self):
            super().__init__()
            self.cached = None
            self.n = -1

        def forward(self, x):
            if self.n != x.shape[0]:
                self.cached, self.n = torch.arange(float(x.shape[0])).sin()[:, None], x.shape[0]
            return x * self.cached

    m = Rotary()
    f = c(m)
    for i in range(10):
        yield tell(f, X(i, 4 if i < 5 or i == 8 else 6, 3)), m.n


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
def user_parametrized(c):
    class Symmetric(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).t()

    net = linear()
    opt = torch.optim.SGD(net.parameters(), lr=0.05)
    f = c(stepper(net, opt))

    def change(i):
        if i == 4:
            torch.nn.utils.parametrize.register_parametrization(net, "weight", Symmetric())
        if i == 8:
            torch.nn.utils.parametrize.remove_parametrizations(net, "weight")

    yield from trained(f, net, 11, change)


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
def user_ema(c):
    net = linear()
    ema = copy.deepcopy(net).requires_grad_(False)
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    decay = [0.9]

    def fn(x):
        opt.zero_grad()
        value = (net(x) ** 2).mean()
        value.backward()
        opt.step()
        with torch.no_grad():
            for a, b in zip(ema.parameters(), net.parameters()):
                a.lerp_(b, 1 - decay[0])
        return value, ema(x)

    def change(i):
        decay[0] = L(i, 0.9, 0.5)
        if i == 7:
            ema.load_state_dict(net.state_dict())

    yield from trained(c(fn), nn.ModuleList([net, ema]), change=change)


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
def user_accumulation(c):
    net = linear()
    opt = torch.optim.Adam(net.parameters(), lr=0.05)
    count = [0]

    def fn(x):
        value = (net(x) ** 2).mean() / 3
        value.backward()
        count[0] += 1
        if count[0] % 3 == 0:
            opt.step()
            opt.zero_grad()
        return value

    yield from trained(c(fn), net, 12)


@scene
def user_scheduler_inside(c):
    net = linear()
    opt = torch.optim.SGD(net.parameters(), lr=0.2)
    schedule = torch.optim.lr_scheduler.StepLR(opt, 2, 0.5)

    def fn(x):
        opt.zero_grad()
        value = (net(x) ** 2).mean()
        value.backward()
        opt.step()
        schedule.step()
        return value

    yield from trained(c(fn), net)
    yield opt.param_groups[0]["lr"], schedule.last_epoch


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
        yield (
            tell(fd, X(i)),
            tell(fg),
            see([*g.parameters(), *d.parameters()]),
            see([p.grad for p in d.parameters()]),
        )


@scene
def user_penalty_in_turns(c):
    d = nn.Sequential(linear(), nn.Tanh(), linear(3, 1))
    f = c(d)
    for i in range(12):
        d.zero_grad()
        x = X(i).requires_grad_()
        value = f(x).mean()
        if i % 4 == 3:
            (g,) = torch.autograd.grad(value, x, create_graph=True)
            value = value + (g.norm(dim=1) - 1).pow(2).mean()
        yield tell(value.backward), see([p.grad for p in d.parameters()])


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
        yield (
            tell(f, X(i) * (float("inf") if i == 6 else 1)),
            see(list(net.parameters())),
            scaler.get_scale(),
        )


@scene
def user_mixup(c):
    net, rng = linear(), np.random.default_rng(0)

    def fn(x):
        lam = float(rng.beta(0.4, 0.4))
        at = torch.randperm(x.shape[0])
        return net(lam * x + (1 - lam) * x[at])

    yield from steps(c(fn), look=lambda: rng.bit_generator.state["state"]["state"])


@scene
def user_metrics(c):
    losses, counts = collections.deque(maxlen=3), collections.Counter()
    net = linear()

    def fn(x):
        value = net(x).pow(2).mean()
        losses.append(value.detach())
        counts["steps"] += 1
        return value

    yield from steps(c(fn), look=lambda: (list(losses), counts["steps"]))


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
def user_exceptions_as_flow(c):
    class Stop(Exception):
        pass

    limit = [2]

    def layers(x):
        for i in itertools.count():
            if i >= limit[0]:
                raise Stop(i)
            x = x * 2
            yield x

    def fn(x):
        found = []
        try:
            for y in layers(x):
                found.append(y)
        except (Stop, RuntimeError) as error:
            found.append(type(error).__name__)
        return found

    yield from steps(c(fn), lambda i: limit.__setitem__(0, L(i, 2, 3)))


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
def user_print_values(c):
    out = io.StringIO()

    def fn(x):
        y = x.sum()
        with contextlib.redirect_stdout(out):
            print(f"sum {y:.2f} of {x.shape[0]}", y)
        return y

    yield from steps(c(fn), look=out.getvalue)


@scene
def user_setattr_inside(c):
    class Box:
        pass

    box = Box()

    def fn(x):
        setattr(box, "last", x.shape[0])
        box.seen = getattr(box, "seen", 0) + 1
        return x * box.seen

    yield from steps(c(fn), look=lambda: vars(box))


@scene
def user_globals_and_eval(c):
    space = {"k": 2.0, "torch": torch}
    exec("def fn(x):\n    return x * globals()['k'] + eval('k')\n", space)
    yield from steps(c(space["fn"]), lambda i: space.update(k=L(i, 2.0, 3.0)))


@scene
def user_weak_cache(c):
    class Key:
        pass

    table, key = weakref.WeakKeyDictionary(), Key()
    table[key] = 2.0
    f = c(lambda x: x * table.get(key, 1.0) + len(table))

    yield from steps(f, lambda i: table.__setitem__(key, L(i, 2.0, 4.0)))


@scene
def user_callable_schedule(c):
    class Ramp:
        def __init__(self):
            self.t = 0

        def __call__(self):
            self.t += 1
            return min(1.0, self.t / 4)

    ramp = Ramp()
    yield from steps(c(lambda x: x * ramp()), look=lambda: ramp.t)


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


@scene
def user_tensor_from_numbers(c):
    cfg = {"mean": [0.1, 0.2, 0.3]}
    f = c(lambda x: (x - torch.tensor(cfg["mean"])) / x.new_tensor(cfg["mean"]).sum())

    def change(i):
        if i == 5:
            cfg["mean"][0] = 0.9
        if i == 7:
            cfg["mean"] = [1, 2, 3]

    yield from steps(f, change)


@scene
def user_sizes(c):
    cfg = {"n": 3}
    f = c(lambda x: x[: cfg["n"]].repeat(2, 1).view(2, -1) + torch.arange(float(cfg["n"] * 3)))
    yield from steps(f, lambda i: cfg.update(n=L(i, 3, 2)))


@scene
def user_default_dtype(c):
    f = c(lambda x: x.sum() * torch.ones(2) + torch.tensor(0.1))
    for i in range(8):
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64 if i in (4, 6) else torch.float32)
        try:
            yield see(f(X(i).float()))
        finally:
            torch.set_default_dtype(before)


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
of_function("name", lambda fn, inner: len(fn.__name__))
of_function("doc", lambda fn, inner: len(fn.__doc__))
of_function("annotations", lambda fn, inner: fn.__annotations__.get("a", 1.0))
of_function("getattr", lambda fn, inner: getattr(fn, "__globals__").get("k"))


@scene
def user_made_by_exec(c):
    space = {"k": 2.0, "n": 0}
    exec(
        "def fn(x):\n    return x * k\ndef count(x):\n    global n\n    n += 1\n    return x * n\n",
        space,
    )
    f, g = c(space["fn"]), c(space["count"])
    for i in range(8):
        space["k"] = L(i, 2.0, 3.0)
        yield tell(f, X(i)), tell(g, X(i)), space["n"]


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


hidden("method", lambda: {"f": lambda s, x: x * 2}, lambda o, x, up: o.f(x),
       lambda i: ("f", lambda s, x: x * i))  # fmt: skip
hidden("number", lambda: {"k": 2.0}, lambda o, x, up: x * up.k, lambda i: ("k", float(i)))
hidden(
    "getattr", lambda: {"k": 2.0}, lambda o, x, up: x * getattr(up, "k"), lambda i: ("k", float(i))
)
hidden(
    "base", lambda: {"k": 2.0}, lambda o, x, up: x * type(o).__base__.k, lambda i: ("k", float(i))
)
hidden(
    "mro", lambda: {"k": 2.0}, lambda o, x, up: x * type(o).__mro__[1].k, lambda i: ("k", float(i))
)
hidden("property", lambda: {"k": property(lambda s: 2.0)}, lambda o, x, up: x * up.k,
       lambda i: ("k", property(lambda s: float(i))))  # fmt: skip


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
    exec(
        "def fn(x):\n    try:\n        return x * k\n    except NameError:\n        return x\n",
        space,
    )
    space["k"] = 2.0
    return space["fn"], lambda i: space.pop("k", None) if i == 5 else space.update(
        k=4.0
    ) if i == 7 else None


def _builtin_hidden():
    space = {}
    exec("def fn(x):\n    return x * max(1, 2)\n", space)
    return space["fn"], lambda i: space.update(max=min) if i == 5 else space.pop(
        "max", None
    ) if i == 7 else None


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
