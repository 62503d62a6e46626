"""Scenes about attributes that nobody names, identity, gradients that share memory, derivatives in Python, tables of ours."""

from __future__ import annotations

import functools
import operator
import types

import rushlight as torch
import rushlight.nn.functional as F
from compile_scenes import L, X, linear, scene, see, steps, tell
from rushlight import nn, optim

NS = types.SimpleNamespace


# -- all attributes of an object ------------------------------------------------------------------


def _function():
    def fn():
        pass

    return fn


def _scheduler():
    return optim.lr_scheduler.StepLR(optim.SGD(linear().parameters(), lr=0.1), 3)


OWNERS = {
    "module": linear,
    "function": _function,
    "tensor": lambda: torch.ones(3),
    "parameter": lambda: nn.Parameter(torch.ones(3)),
    "optimizer": lambda: optim.SGD(linear().parameters(), lr=0.1),
    "scheduler": _scheduler,
    "partial": lambda: functools.partial(torch.add, alpha=2.0),
    "namespace": NS,
    "class": lambda: type("K", (), {}),
    "python_module": lambda: types.ModuleType("some_module_of_a_scene"),
}
LOOKS = {
    "vars": lambda o: len(vars(o)),
    "dict": lambda o: len(o.__dict__),
    "dir": lambda o: len([n for n in dir(o) if n.startswith("my_")]),
    "sum": lambda o: sum([v for v in vars(o).values() if isinstance(v, float)]),
    "hasattr": lambda o: 2 if hasattr(o, "my_b") else 1,
    "named": lambda o: o.my_a,
}


def attributes(owner, look):
    """One attribute more, another value, one less."""

    def make(c):
        o, count = OWNERS[owner](), LOOKS[look]
        o.my_a = 1.0

        def change(i):
            if i == 4:
                o.my_b = 4.0
            if i == 6:
                o.my_a = 3.0
            if i == 7:
                del o.my_b

        yield from steps(c(lambda x: x * count(o)), change, n=8)

    make.__name__ = f"attacked_{look}_of_{owner}"
    scene(make)


for owner in OWNERS:
    for look in LOOKS:
        attributes(owner, look)


# -- looking must not run code of the user's ------------------------------------------------------


@scene
def attacked_descriptor_that_counts(c):
    class Counts:
        n = 0

        def __get__(self, o, owner=None):
            self.n += 1
            return float(self.n)

    class K:
        v = Counts()

    o = K()
    yield from steps(c(lambda x: x * o.v), look=lambda: vars(K)["v"].n)


# -- identity -------------------------------------------------------------------------------------


def identity(name, one, other):
    def make(c):
        o = NS(v=one)
        yield from steps(c(lambda x: x * (1 if o.v is one else 2)), lambda i: setattr(o, "v", L(i, one, other)))

    make.__name__ = f"attacked_is_{name}"
    scene(make)


identity("str", "ab!", "".join(["a", "b!"]))


@scene
def attacked_argument_is_what_is_kept(c):
    w = torch.ones(4, 3)
    f = c(lambda x: x * (2 if x is w else 3))
    for i in range(9):
        yield tell(f, L(i, w, w.detach()))


def assigned(name, make_one, other):
    """`o.__class__ = ...` of a tensor."""

    def make(c):
        o = make_one()
        first = type(o)
        f = c(lambda x: x * o * (2 if type(o) is not first else 1))
        yield from steps(f, lambda i: operator.setitem({}, 0, setattr(o, "__class__", L(i, first, other))))

    make.__name__ = f"attacked_class_of_{name}"
    scene(make)


assigned("parameter", lambda: nn.Parameter(torch.ones(3)), type("Mine", (nn.Parameter,), {}))


# -- gradients that share memory ------------------------------------------------------------------


def shared(name, put):
    def make(c):
        a, b = linear(), linear()
        f = c(lambda x: (a(x) + b(x)).sum().backward())
        flat = torch.zeros(12)
        for i in range(9):
            put(i, a, b, flat)
            f(X(i))
            same = a.weight.grad is b.weight.grad
            yield see([p.grad for p in (a.weight, a.bias, b.weight)]), same, see([flat, a.weight])

    make.__name__ = f"attacked_gradients_{name}"
    scene(make)


def _one_for_two(i, a, b, flat):
    if i in (0, 5):
        a.weight.grad = b.weight.grad = torch.ones(3, 3)
    if i == 7:
        b.weight.grad = b.weight.grad.clone()


def _one_for_two_later(i, a, b, flat):
    if i == 5:
        b.weight.grad = a.weight.grad


def _parts_of_one(i, a, b, flat):
    if i in (0, 6):
        a.weight.grad, a.bias.grad = flat[:9].view(3, 3), flat[9:]


def _overlapping(i, a, b, flat):
    if i == 5:
        a.weight.grad, a.bias.grad = flat[:9].view(3, 3), flat[6:9]


def _own_memory(i, a, b, flat):
    if i == 5:
        a.weight.grad = a.weight.data
    if i == 7:
        a.weight.grad = a.weight.data.clone()


for put in (_one_for_two, _one_for_two_later, _parts_of_one, _overlapping, _own_memory):
    shared(put.__name__[1:], put)


# -- derivatives in Python ------------------------------------------------------------------------


def derivative(name, backward, change):
    """A function of the user's, differentiated outside of the compiled one."""

    def make(c):
        o = NS(k=2.0, calls=0)

        class Own(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2

            @staticmethod
            def backward(ctx, g):
                return backward(o, g)

        f = c(lambda x: Own.apply(x))
        for i in range(9):
            x = X(i).requires_grad_()
            y = f(x)
            change(i, o, Own)
            y.sum().backward()
            yield see(x), o.calls

    make.__name__ = f"attacked_derivative_{name}"
    scene(make)


def _counts(o, g):
    o.calls += 1
    return g * 2


derivative("reads", lambda o, g: g * o.k, lambda i, o, cls: setattr(o, "k", L(i, 2.0, 5.0)))
derivative("counts", _counts, lambda i, o, cls: None)


class Reversed(torch.autograd.Function):
    """A derivative that reads what it is given and nothing else."""

    @staticmethod
    def forward(ctx, x, by):
        ctx.by = by
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -ctx.by * g * (x.abs() <= 1), None


def plain_derivative(name, when):
    def make(c):
        class Own(Reversed):
            backward = staticmethod(Reversed.backward)

        o = NS(by=2.0)
        f = c(lambda x: Own.apply(x, o.by).tanh())
        for i in range(9):
            o.by = L(i, 2.0, 3.0)
            x = X(i).requires_grad_()
            if when == "before" and i == 6:
                Own.backward = staticmethod(lambda ctx, g: (g * 7, None))
            y = f(x)
            if when == "between" and i == 6:
                Own.backward = staticmethod(lambda ctx, g: (g * 7, None))
            y.sum().backward()
            yield see(x)

    make.__name__ = f"attacked_plain_derivative_{name}"
    scene(make)


plain_derivative("kept", "never")
plain_derivative("replaced_between", "between")


# -- settings and tables of ours ------------------------------------------------------------------


@scene
def attacked_divergence_registered_later(c):
    d = torch.distributions
    own = type("Own", (d.Normal,), {})
    f = c(lambda x: d.kl_divergence(own(x, 1.0), own(0.0, 1.0)))
    for i in range(8):
        if i == 5:
            d.register_kl(own, own)(lambda p, q: p.loc * 100)
        yield tell(f, X(i))


@scene
def attacked_ctc_lengths(c):
    f = c(lambda x, t, frames, letters: F.ctc_loss(x.log_softmax(-1), t, frames, letters))
    targets = torch.tensor([[1, 2, 3], [1, 1, 2]])
    for i in range(9):
        letters = torch.tensor([2, 9 if i in (5, 7) else 2])
        yield tell(f, X(i, 5, 2, 4), targets, torch.tensor([5, 6 if i == 8 else 4]), letters)
