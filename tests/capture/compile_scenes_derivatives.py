"""Scenes about callers who differentiate results in their own ways: some of them, one by one, twice, by functions."""

from __future__ import annotations

import rushlight as torch
from compile_scenes import X, scene, see, tell
from rushlight import nn

grad = torch.autograd.grad


def heads(kind="apart"):
    """A function with two results, and its parameters."""
    torch.manual_seed(3)
    a, b = nn.Linear(3, 3), nn.Linear(3, 3)
    extra = {"drop": nn.Dropout(0.5), "norm": nn.BatchNorm1d(3), "norm_eval": nn.BatchNorm1d(3).eval()}.get(
        kind, nn.Identity()
    )

    def apart(x):
        return extra(a(x)).tanh(), b(x).exp()

    def shared(x):
        h = extra(a(x)).tanh()
        return h * 2, b(h).exp()

    def table(x):
        h = a(x).relu()
        return {"out": b(h), "hidden": [h, h.detach()], "n": 2}

    def plain(x):
        return a(x).sum(0) + 1, x * 2

    def unused(x):
        return a(x), b(x).exp() ** 40  # infinite: zeros for its gradient would be NaN

    fns = {"apart": apart, "table": table, "plain": plain, "unused": unused}
    return fns.get(kind, shared), [*a.parameters(), *b.parameters(), *extra.parameters()]


def grads(ps):
    found = see([p.grad for p in ps])
    for p in ps:
        p.grad = None
    return found


def failed(outcome, leaves):
    """What is told of a backward pass. Behind an error the leaves of eager calls have what was ready, those of a program nothing."""
    if str(outcome).startswith(("('error'", "(('error'")):
        for leaf in leaves:
            leaf.grad = None
    return outcome


def pair(out):
    return (out["out"], out["hidden"][0]) if isinstance(out, dict) else out


def first(f, ps, x):
    pair(f(x))[0].sum().backward()
    return grads(ps)


def second(f, ps, x):
    pair(f(x))[1].sum().backward()
    return grads(ps)


def whole(f, ps, x):
    a, b = pair(f(x))
    (a.sum() + (b * b).mean()).backward()
    return grads(ps), see([a, b])


def in_turn(f, ps, x):
    a, b = pair(f(x))
    a.sum().backward()
    found = grads(ps)
    return found, failed(tell(b.sum().backward), ps), grads(ps)


def in_turn_kept(f, ps, x):
    a, b = pair(f(x))
    b.sum().backward(retain_graph=True)
    found = grads(ps)
    a.sum().backward(retain_graph=True)
    return found, grads(ps), tell((a.sum() + b.sum()).backward), grads(ps)


def again(f, ps, x):
    a, b = pair(f(x))
    (a.sum() + b.sum()).backward()
    return tell((a.sum() + b.sum()).backward), grads(ps)


def again_kept(f, ps, x):
    a, b = pair(f(x))
    (a.sum() + b.sum()).backward(retain_graph=True)
    (a.sum() - b.sum()).backward()
    return grads(ps)


def penalty(f, ps, x):
    x = x.requires_grad_()
    a, b = pair(f(x))
    (g,) = grad(a.sum() + b.sum(), x, create_graph=True)
    ((g.norm() - 1) ** 2 + a.mean()).backward()
    return grads(ps), see([x.grad, g])


def penalty_of_one(f, ps, x):
    x = x.requires_grad_()
    a, b = pair(f(x))
    (g,) = grad(b.sum(), x, create_graph=True)
    ((g**2).sum() + a.mean()).backward()
    return grads(ps), see([x.grad, g])


def of_a_result(f, ps, x):
    y = x.requires_grad_() * 3
    y.register_hook(lambda g: g * 2)
    a, b = pair(f(y))
    (g,) = grad(b.sum(), y, create_graph=True)
    (g.sum() + a.sum()).backward()
    return grads(ps), see([x.grad, g])


def hooked_leaf(f, ps, x):
    x, told = x.requires_grad_(), []
    a, b = pair(f(x))
    x.register_hook(lambda g: told.append(see(g)))
    a.sum().backward()
    return grads(ps), told, see(x.grad)


def jvp(f, ps, x):
    return see(torch.func.jvp(lambda v: tuple(pair(f(v))), (x,), (torch.ones_like(x),)))


def vjp(f, ps, x):
    out, pull = torch.func.vjp(lambda v: tuple(pair(f(v))), x)
    return see(out), see(pull(tuple(torch.ones_like(o) for o in out)))


def hessian(f, ps, x):
    return see(torch.func.hessian(lambda v: pair(f(v))[1].sum())(x))


def jacobian(f, ps, x):
    return see(torch.autograd.functional.jacobian(lambda v: pair(f(v))[1], x))


def written_since(f, ps, x):
    x = x.requires_grad_()
    y = x * 1
    a, b = pair(f(y))
    with torch.no_grad():
        ps[1].add_(0.5)
    return tell(b.sum().backward), grads(ps)


def unused_input(f, ps, x):
    a, b = pair(f(x))
    return tell(grad, a.sum(), [ps[0], ps[2]]), tell(grad, b.sum(), [ps[0], ps[2]], allow_unused=True)


def add(kind, name, before, after):
    """Used one way in the first five calls and in turns from then on."""

    def make(c):
        fn, ps = heads(kind)
        f = c(fn)
        for i in range(10):
            use = before if i < 5 or i == 7 else after
            yield tell(use, f, ps, X(i)), see(ps)

    make.__name__ = f"derivatives_{kind}_{name}"
    scene(make)


USES = (
    first, second, whole, in_turn, in_turn_kept, again, again_kept, penalty, penalty_of_one, of_a_result,
    hooked_leaf, jvp, vjp, hessian, jacobian, written_since, unused_input,
)  # fmt: skip
SAME = {
    "shared": USES,
    "apart": (first, in_turn, hooked_leaf, unused_input),
    "table": (first, second, in_turn),
    "plain": (again, in_turn, penalty),
    "drop": (first, in_turn, again, penalty),
    "norm": (first, in_turn, penalty),
    "unused": (first, second),
}
LATER = {
    "shared": USES,
    "apart": (first, in_turn, unused_input),
    "table": (second, penalty_of_one),
    "unused": (first,),
    "norm_eval": (penalty,),
}
for kind, uses in SAME.items():
    for use in uses:
        add(kind, use.__name__, use, use)
for kind, uses in LATER.items():
    for use in uses:
        add(kind, f"{use.__name__}_later", whole, use)
for use in (whole, second, in_turn, again):
    add("shared", f"first_then_{use.__name__}", first, use)


def written_later(name, body, write):
    """Somebody writes what the graph saved, between the call and its backward."""

    def make(c):
        torch.manual_seed(3)
        w, k = torch.randn(3, 3, requires_grad=True), torch.randn(3)
        f = c(lambda x: body(x, w, k))
        for i in range(8):
            x = X(i).requires_grad_()
            y = f(x)
            ys = y if isinstance(y, tuple) else (y,)
            with torch.no_grad():
                if i > 4:
                    write(x, w, k, ys)
            yield failed(tell(sum([v.sum() for v in ys]).backward), [x, w]), see([x.grad, w.grad, k, w])
            w.grad = None

    make.__name__ = f"written_later_{name}"
    scene(make)


WRITES = {
    "weight": lambda x, w, k, ys: w.add_(1),
    "row": lambda x, w, k, ys: w[0].mul_(2),
    "buffer": lambda x, w, k, ys: k.add_(1),
    "argument": lambda x, w, k, ys: x.add_(1),
    "result": lambda x, w, k, ys: ys[0].mul_(2),
    "last": lambda x, w, k, ys: ys[-1].detach().add_(2),
}
BODIES = {
    "by_view": lambda x, w, k: x @ w.t(),
    "by_row": lambda x, w, k: x * k.view(1, 3) * w[0],
    "by_copy": lambda x, w, k: (x.view(-1) ** 2).view(4, 3) @ (w * 2),
    "of_result": lambda x, w, k: ((h := (x * w[0]).sigmoid()), h[1]),
}
for how, body in BODIES.items():
    for what, write in WRITES.items():
        written_later(f"{what}_{how}", body, write)
