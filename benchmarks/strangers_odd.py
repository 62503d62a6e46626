"""Scripts with a step of their own kind that stood in no table when they were measured; see strangers_rows.py."""

from __future__ import annotations

import itertools
import math
import random

from strangers_rows import _kept, _step


def _mlp(torch, *s, act="ReLU"):
    nn = torch.nn
    l = []
    for a, b in itertools.pairwise(s):
        l += [nn.Linear(a, b), getattr(nn, act)()]
    return nn.Sequential(*l[:-1])


def springs(torch):
    """Springs that are simulated thirty steps long; their lengths are learnt through all of it."""
    nn = torch.nn
    x0 = torch.rand(8, 2)
    i, j = torch.triu_indices(8, 8, 1)
    rest = nn.Parameter((x0[i] - x0[j]).norm(dim=1) * 1.1)
    k = nn.Parameter(torch.tensor(20.0))
    goal = torch.tensor([2.0, 0.5])
    opt = torch.optim.SGD([rest, k], lr=0.01)

    def step():
        x, v = x0.clone(), torch.zeros(8, 2)
        traj = []
        for _ in range(30):
            d = x[i] - x[j]
            n = d.norm(dim=1).clamp_min(0.0001)
            f = (-k * (n - rest) / n)[:, None] * d
            F_ = torch.zeros(8, 2).index_add(0, i, f).index_add(0, j, -f) + torch.tensor(
                [0.0, -0.5]
            )
            v = (v + 0.02 * F_) * 0.98
            x = x + 0.02 * v
            low = x[:, 1] < 0
            v = torch.where(low[:, None], v * torch.tensor([0.5, -0.3]), v)
            x = torch.stack([x[:, 0], x[:, 1].clamp(min=0)], 1)
            traj.append(x)
        T = torch.stack(traj)
        l = ((T[-1].mean(0) - goal) ** 2).sum() + 0.01 * (T[1:] - T[:-1]).pow(2).sum()
        opt.zero_grad()
        l.backward()
        opt.step()
        with torch.no_grad():
            rest.clamp_(0.1, 2.0)
        return l.detach()

    return _kept(step, [rest, k])


def quantised(torch):
    """Weights and inputs on a grid: a learnt step, observers in buffers, fake quantisation."""
    nn, F = torch.nn, torch.nn.functional

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, s, lo, hi, g):
            ctx.save_for_backward(x, s)
            ctx.o = (lo, hi, g)
            return torch.clamp(torch.round(x / s), lo, hi) * s

        @staticmethod
        def backward(ctx, gy):
            x, s = ctx.saved_tensors
            lo, hi, g = ctx.o
            q = x / s
            a, b = (q < lo).float(), (q > hi).float()
            m = 1 - a - b
            gs = (a * lo + b * hi + m * (q.round() - q)) * gy * g
            return (m * gy, gs.sum().reshape(s.shape), None, None, None)

    class Q(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.l = nn.Linear(i, o)
            self.sw = nn.Parameter(self.l.weight.detach().abs().mean() * 2 / math.sqrt(7))
            self.register_buffer("lo", torch.tensor(0.0))
            self.register_buffer("hi", torch.tensor(0.0))
            self.register_buffer("on", torch.tensor(False))

        def forward(self, x):
            if self.training:
                with torch.no_grad():
                    a, b = torch.aminmax(x.detach())
                    self.lo.copy_(torch.where(self.on, 0.9 * self.lo + 0.1 * a, a))
                    self.hi.copy_(torch.where(self.on, 0.9 * self.hi + 0.1 * b, b))
                    self.on.fill_(True)
            sc = ((self.hi - self.lo) / 255).clamp(min=1e-08)
            zp = (-self.lo / sc).round().clamp(0, 255).to(torch.int32)
            x = torch.fake_quantize_per_tensor_affine(x, sc, zp, 0, 255)
            return F.linear(
                x,
                Round.apply(
                    self.l.weight, self.sw, -8, 7, 1 / math.sqrt(self.l.weight.numel() * 7)
                ),
                self.l.bias,
            )

    net = nn.Sequential(Q(10, 24), nn.ReLU6(), Q(24, 3))
    X = torch.randn(32, 10)
    Y = torch.randint(0, 3, (32,))
    s = _step(torch, net.parameters(), lambda: F.cross_entropy(net(X), Y), "SGD")
    s.kept = [*net.parameters(), *net.buffers()]
    return s


def surgery(torch):
    """Gradients of three tasks, each made not to work against the others."""
    nn, F = torch.nn, torch.nn.functional
    body = nn.Sequential(nn.Linear(10, 32), nn.Tanh())
    heads = nn.ModuleList([nn.Linear(32, 2) for _ in range(3)])
    X = torch.randn(40, 10)
    Y = torch.randn(3, 40, 2)
    P = [*body.parameters(), *heads.parameters()]
    opt = torch.optim.Adam(P, lr=0.003)
    rng = random.Random(1)

    def step():
        h = body(X)
        ls = [F.mse_loss(k(h), y) for k, y in zip(heads, Y)]
        gs = []
        for i, l in enumerate(ls):
            g = torch.autograd.grad(l, P, retain_graph=i < 2, allow_unused=True)
            gs.append(
                torch.cat(
                    [(torch.zeros_like(p) if v is None else v).flatten() for p, v in zip(P, g)]
                )
            )
        pc = [g.clone() for g in gs]
        for g in pc:
            o = list(gs)
            rng.shuffle(o)
            for b in o:
                d = torch.dot(g, b)
                if d < 0:
                    g -= d / b.norm() ** 2 * b
        m = torch.stack(pc).mean(0)
        i = 0
        for p in P:
            n = p.numel()
            p.grad = m[i : i + n].view_as(p)
            i += n
        opt.step()
        return sum(ls).detach()

    return _kept(step, P)


def newton(torch):
    """Truncated Newton: products with the Hessian inside of conjugate gradients, a line search."""
    nn, F = torch.nn, torch.nn.functional
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    X = torch.randn(50, 6)
    Y = torch.randint(0, 3, (50,))
    P = list(net.parameters())

    def step():
        l = F.cross_entropy(net(X), Y)
        g = torch.autograd.grad(l, P, create_graph=True)
        flat = torch.cat([v.reshape(-1) for v in g])

        def hvp(v):
            r = torch.autograd.grad(flat @ v, P, retain_graph=True)
            return torch.cat([x.reshape(-1) for x in r]) + 0.01 * v

        b = -flat.detach()
        x = torch.zeros_like(b)
        r = b.clone()
        p = r.clone()
        rs = r @ r
        for _ in range(8):
            Ap = hvp(p)
            pap = p @ Ap
            if pap.item() <= 0:
                break
            a = rs / pap
            x = x + a * p
            r = r - a * Ap
            nr = r @ r
            if nr.sqrt() < 0.001:
                break
            p = r + nr / rs * p
            rs = nr
        t = 1.0
        old = [q.detach().clone() for q in P]
        gd = float(flat.detach() @ x)
        while t > 0.001:
            with torch.no_grad():
                i = 0
                for q, o in zip(P, old):
                    n = q.numel()
                    q.copy_(o + t * x[i : i + n].view_as(q))
                    i += n
                if F.cross_entropy(net(X), Y) <= l + 0.0001 * t * gd:
                    break
            t *= 0.5
        return l.detach()

    return _kept(step, P)


def particles(torch):
    """A particle filter that is learnt through its soft resampling."""
    nn, D = torch.nn, torch.distributions
    tr = nn.Linear(2, 2)
    ob = nn.Linear(2, 1)
    lq = nn.Parameter(torch.zeros(2) - 1)
    lr = nn.Parameter(torch.zeros(1) - 1)
    P = [*tr.parameters(), *ob.parameters(), lq, lr]
    opt = torch.optim.Adam(P, lr=0.01)
    Y = torch.sin(torch.linspace(0, 4, 10))[:, None]
    N = 40

    def step():
        x = torch.randn(N, 2)
        lw = torch.full((N,), -math.log(N))
        ll = 0.0
        for t in range(10):
            x = tr(x) + torch.randn(N, 2) * lq.exp()
            lw = lw + D.Normal(ob(x), lr.exp()).log_prob(Y[t]).squeeze(-1)
            z = torch.logsumexp(lw, 0)
            ll = ll + z
            lw = lw - z
            ess = 1 / torch.exp(2 * lw).sum()
            if ess < N / 2:
                q = torch.log(0.5 * lw.exp() + 0.5 / N)
                i = torch.multinomial(q.exp().detach(), N, replacement=True)
                x = x[i]
                lw = lw[i] - q[i]
                lw = lw - torch.logsumexp(lw, 0)
        l = -ll
        opt.zero_grad()
        l.backward()
        opt.step()
        return l.detach()

    return _kept(step, P)


def scores(torch):
    """Scores by slices: derivatives of the network in its loss, then a few steps of a sampler."""
    net = _mlp(torch, 3, 32, 32, 2, act="SiLU")
    opt = torch.optim.Adam(net.parameters(), lr=0.002, betas=(0.9, 0.999))
    X = torch.randn(64, 2) * torch.tensor([1.0, 0.3])

    def score(x, t):
        return net(torch.cat([x, t], 1))

    def step():
        t = torch.rand(64, 1)
        x = (X + t * torch.randn_like(X)).requires_grad_()
        v = torch.randn_like(x)
        s = score(x, t)
        (g,) = torch.autograd.grad((s * v).sum(), x, create_graph=True)
        l = ((g * v).sum(1) + 0.5 * (s * v).sum(1) ** 2).mean()
        opt.zero_grad()
        l.backward()
        opt.step()
        with torch.no_grad():
            y = torch.randn(16, 2)
            for k in range(4):
                tt = torch.full((16, 1), 1 - k / 4)
                y = y + 0.1 * score(y, tt) + 0.1**0.5 * torch.randn_like(y)
                gr = score(y, tt)
                nz = torch.randn_like(y)
                st = (0.1 * nz.norm(dim=-1).mean() / gr.norm(dim=-1).mean()) ** 2 * 2
                y = y + st * gr + (2 * st) ** 0.5 * nz
        return l.detach() + y.std()

    return _kept(step, list(net.parameters()))


def factors(torch):
    """Curvature in two factors from hooks, inverted by eigenvectors (K-FAC)."""
    nn, F = torch.nn, torch.nn.functional
    net = _mlp(torch, 8, 16, 4, act="Tanh")
    st = {}
    for m in net:
        if isinstance(m, nn.Linear):
            st[m] = dict(A=torch.eye(m.in_features + 1), G=torch.eye(m.out_features))
            m.register_forward_pre_hook(
                lambda m, i: st[m].__setitem__(
                    "a", torch.cat([i[0].detach(), torch.ones(i[0].shape[0], 1)], 1)
                )
            )
            m.register_full_backward_hook(lambda m, gi, go: st[m].__setitem__("g", go[0].detach()))
    X = torch.randn(40, 8)
    Y = torch.randint(0, 4, (40,))

    def step():
        l = F.cross_entropy(net(X), Y)
        net.zero_grad()
        l.backward()
        with torch.no_grad():
            for m, s in st.items():
                s["A"].mul_(0.9).add_(s["a"].t() @ s["a"] / 40, alpha=0.1)
                s["G"].lerp_(s["g"].t() @ s["g"] * 40, 0.1)
                da, qa = torch.linalg.eigh(s["A"] + 0.01 * torch.eye(len(s["A"])))
                dg, qg = torch.linalg.eigh(s["G"] + 0.01 * torch.eye(len(s["G"])))
                g = torch.cat([m.weight.grad, m.bias.grad[:, None]], 1)
                v = qg @ (qg.t() @ g @ qa / (dg[:, None] * da[None])) @ qa.t()
                v *= min(1.0, 0.1 / float(v.norm()))
                m.weight -= v[:, :-1]
                m.bias -= v[:, -1]
        return l.detach()

    return _kept(step, list(net.parameters()))


def balance(torch):
    """Trajectories over a grid that are balanced (GFlowNet): masks, a loop until all are done."""
    nn, F = torch.nn, torch.nn.functional
    net = _mlp(torch, 12, 32, 3, act="LeakyReLU")
    logZ = nn.Parameter(torch.zeros(()))
    opt = torch.optim.Adam(
        [{"params": net.parameters(), "lr": 0.001}, {"params": [logZ], "lr": 0.1}]
    )

    def step():
        s = torch.zeros(16, 2, dtype=torch.long)
        done = torch.zeros(16, dtype=torch.bool)
        lpf = torch.zeros(16)
        lpb = torch.zeros(16)
        while not done.all():
            lg = net(F.one_hot(s, 6).flatten(1).float())
            m = torch.cat([s >= 5, torch.zeros(16, 1, dtype=torch.bool)], 1)
            lg = lg.masked_fill(m, -1000000000.0)
            a = torch.distributions.Categorical(logits=lg).sample()
            lp = lg.log_softmax(-1).gather(1, a[:, None])[:, 0]
            lpf = torch.where(done, lpf, lpf + lp)
            new = ~done & (a < 2)
            s = s + F.one_hot(a.clamp(max=1), 2) * new[:, None]
            lpb = lpb - torch.where(new, (s > 0).sum(1).clamp(min=1).float().log(), torch.zeros(16))
            done = done | (a == 2)
        r = (0.1 + ((s.float() / 5 - 0.5).abs() > 0.25).float().prod(1)).log()
        l = (logZ + lpf - r - lpb).pow(2).mean()
        opt.zero_grad()
        l.backward()
        opt.step()
        return l.detach()

    return _kept(step, [*net.parameters(), logZ])


ROWS = {
    f.__name__: f
    for f in (springs, quantised, surgery, newton, particles, scores, factors, balance)
}
