"""Loops with hooks, functions of the user, second derivatives, kept graphs, checkpoints and copies."""

# ruff: noqa: E731, E741, B023, B007, B904, B018, F841, E702, C408, N801, N806
from __future__ import annotations

import contextlib
import copy
import gc
import weakref

import rushlight as rl
from attacks_on_loops.common import attack, data, learn, mlp, see, step, train
from rushlight import nn, optim
from rushlight.nn import functional as F


@attack
def optimizer_hooks(net, log):
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def ch(i, w):
        if i == 8 and w == "begin":
            opt.register_step_pre_hook(lambda o, a, k: log.append(("pre", float(net[0].weight.grad.sum()))))
        if i == 12 and w == "begin":
            opt.register_step_post_hook(lambda o, a, k: log.append(("post", float(net[0].weight.sum()))))

    train(net, opt, log, ch)
    return (log, see(net, opt))


@attack
def vmaps():
    from rushlight.func import jacrev, vmap

    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    for i, (x, y) in enumerate(data(24)):
        opt.zero_grad()
        out = net(x)
        per = vmap(lambda o: o.softmax(0).log().sum())(out)
        loss = F.cross_entropy(out, y) - 0.01 * per.mean()
        loss.backward()
        opt.step()
        log.append(loss.item())
        if i % 6 == 5:
            log.append(jacrev(lambda v: net(v).sum())(x[0]))
    return (log, see(net, opt))


@attack
def hvp(net, log):
    opt = optim.SGD(net.parameters(), lr=0.05)
    ps = list(net.parameters())
    v = [rl.ones_like(p) for p in ps]
    for x, y in data(16):
        loss = F.cross_entropy(net(x).tanh(), y)
        g = rl.autograd.grad(loss, ps, create_graph=True)
        h = rl.autograd.grad(g, ps, v, allow_unused=True, materialize_grads=True)
        for p, a, b in zip(ps, g, h):
            p.grad = (a + 0.01 * b).detach()
        opt.step()
        log.append(loss.item())
        log.append([b.norm() for b in h])
    return (log, see(net, opt))


@attack
def function_state(net, opt, log):
    class Ste(rl.autograd.Function):
        t = 0.5
        seen = []

        @staticmethod
        def forward(ctx, x, k):
            ctx.k = k
            ctx.save_for_backward(x)
            ctx.mark_non_differentiable()
            ctx.t = Ste.t
            return (x > Ste.t).float() * k

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            Ste.seen.append(int((x > ctx.t).sum()))
            return (g * (x.abs() < 1 + Ste.t), None)

    class Dirty(rl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            x.mul_(2)
            return x

        @staticmethod
        def backward(ctx, g):
            return g * 2

    for i, (x, y) in enumerate(data(50)):
        if i == 20:
            Ste.t = 0.1
        opt.zero_grad()
        h = Ste.apply(net[0](x), 1 if i < 35 else 2)
        h = Dirty.apply(h * 1)
        loss = F.cross_entropy(net[3](h), y)
        loss.backward()
        opt.step()
        log.append(loss.item())
    return (log, Ste.seen, see(net, opt))


@attack
def hooks_on_off(net, opt, log):
    acts = {}
    for i, (x, y) in enumerate(data(60)):
        hs = []
        if i % 12 == 9:
            hs.append(net[1].register_forward_hook(lambda m, a, o: acts.__setitem__("r", o.detach())))
        if i % 12 == 10:
            hs.append(net[1].register_forward_hook(lambda m, a, o: o * 2))
        if i % 12 == 11:
            hs.append(net[0].weight.register_hook(lambda g: g.clamp(-0.1, 0.1)))
        if i == 40:
            nn.modules.module.register_module_forward_hook(lambda m, a, o: None).remove()
        opt.zero_grad()
        out = net(x)
        if i % 12 == 8:
            hs.append(out.register_hook(lambda g: log.append(g.clone())))
        if i % 12 == 7:
            hs.append(
                rl.autograd.graph.Node.register_hook(out.grad_fn, lambda a, b: log.append(len(a)))
                if False
                else out.grad_fn.register_hook(lambda a, b: log.append(len(a)))
            )
        loss = learn(opt, out, y)
        [h.remove() for h in hs]
        log.append(loss.item())
    return (log, acts, see(net, opt))


@attack
def multi_loss(net):
    a, b = (nn.Linear(3, 2), nn.Linear(3, 1))
    opt = optim.Adam([*net.parameters(), *a.parameters(), *b.parameters()], lr=0.01)
    log = []
    w = rl.tensor([1.0, 0.5])
    for i, (x, y) in enumerate(data(50)):
        h = net(x)
        l1 = F.cross_entropy(a(h), y % 2)
        l2 = b(h).pow(2).mean()
        opt.zero_grad()
        if i % 9 < 6:
            (w[0] * l1 + w[1] * l2).backward()
        elif i % 9 < 8:
            l1.backward(retain_graph=True)
            l2.backward()
        else:
            rl.autograd.backward([l1, l2], [rl.tensor(0.3), rl.tensor(0.7)])
        opt.step()
        w = w * 0.99 if i > 20 else w
        log.append((l1.item(), l2.item()))
    return (log, see(net, opt), see(a), see(b))


@attack
def global_hooks():
    from rushlight.optim.optimizer import register_optimizer_step_post_hook, register_optimizer_step_pre_hook

    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    hs = []
    M = nn.modules.module
    for i, (x, y) in enumerate(data(60)):
        if i == 10:
            hs = [register_optimizer_step_post_hook(lambda o, a, k: log.append(("post", float(net[0].bias.sum()))))]
        if i == 20:
            hs = [register_optimizer_step_pre_hook(lambda o, a, k: log.append(("pre", float(net[0].bias.grad.sum()))))]
        if i == 30:
            hs = [M.register_module_forward_hook(lambda m, a, o: o * 1.1 if isinstance(m, nn.ReLU) else None)]
        if i == 40:
            hs = [M.register_module_full_backward_hook(lambda m, a, b: log.append(type(m).__name__))]
        if i == 48:
            hs = [M.register_module_forward_pre_hook(lambda m, a: log.append(type(m).__name__))]
        loss = step(net, opt, x, y, log)
        if i in (15, 25, 35, 44, 52):
            [h.remove() for h in hs]
    return (log, see(net, opt))


@attack
def graph_tools():
    g = rl.autograd.graph
    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    for i, (x, y) in enumerate(data(60)):
        opt.zero_grad()
        k = i % 12
        h = None
        c = (
            g.save_on_cpu()
            if k == 7
            else contextlib.nullcontext()
            if k == 8
            else g.disable_saved_tensors_hooks("no")
            if k == 9
            else contextlib.nullcontext()
        )
        if k == 10:
            h = g.register_multi_grad_hook(list(net.parameters()), lambda gs: log.append([float(a.sum()) for a in gs]))
        if k == 11:
            h = g.register_multi_grad_hook(list(net.parameters()), lambda a: log.append(float(a.sum())), mode="any")
        with c:
            out = net(x)
            loss = F.cross_entropy(out, y)
        if k == 8:
            pass
        loss.backward()
        opt.step()
        log.append(loss.item())
        if h:
            h.remove()
    return (log, see(net, opt))


@attack
def forward_mode():
    import rushlight.autograd.forward_ad as fw

    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []
    for i, (x, y) in enumerate(data(30)):
        loss = step(net, opt, x, y, log)
        if i % 6 == 5:
            with fw.dual_level():
                d = fw.make_dual(x, rl.ones_like(x))
                log.append(fw.unpack_dual(net(d)).tangent.detach().clone())
        if i % 6 == 4:
            log.append(rl.func.jvp(lambda v: net(v).sum(), (x,), (rl.ones_like(x),))[1].detach())
    return (log, see(net, opt))


@attack
def weak_and_del(net, opt, log):
    D = weakref.WeakKeyDictionary()
    S = weakref.WeakSet()
    for i, (x, y) in enumerate(data(40)):
        opt.zero_grad()
        out = net(x)
        D[out] = i
        S.add(out)
        r = weakref.ref(out, lambda _: log.append("gone"))
        loss = F.cross_entropy(out, y)
        if i % 3 == 0:
            del out
        loss.backward()
        opt.step()
        out = None
        log.append((len(D), len(S)))
        log.append(loss.item())
    loss = None
    gc.collect()
    return (log, len(D), see(net, opt))


@attack
def copies_in_loop():
    net = mlp(bn=True)
    opt = optim.Adam(net.parameters(), lr=0.01)
    log = []
    best = None
    for i, (x, y) in enumerate(data(50)):
        loss = step(net, opt, x, y, log)
        if i % 6 == 5:
            best = copy.deepcopy(net)
            log.append(best(x).sum().item())
        if i == 20:
            net = best
            opt = optim.Adam(net.parameters(), lr=0.01)
        if i == 34:
            net, opt = copy.deepcopy((net, opt))
        if i == 40:
            opt = copy.deepcopy(opt)
    return (log, see(net, opt), see(best))
