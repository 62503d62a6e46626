"""More networks that stood in no table when they were measured; see strangers_rows.py."""

from __future__ import annotations

import itertools
import random

from strangers_rows import _kept, _step


def hashed(torch):
    """A field over space whose corners are found by hashing (instant NGP), two groups of rates."""
    nn, F = torch.nn, torch.nn.functional

    class Grid(nn.Module):
        def __init__(self, levels=4, T=2**8, feat=2):
            super().__init__()
            self.T = T
            self.tables = nn.ParameterList(
                [nn.Parameter(torch.empty(T, feat).uniform_(-0.1, 0.1)) for _ in range(levels)]
            )
            self.res = [4 * int(1.6**i) + 3 * i for i in range(levels)]
            self.register_buffer(
                "primes", torch.tensor([1, 2654435761, 805459861], dtype=torch.int64)
            )
            self.register_buffer("corners", torch.tensor(list(itertools.product([0, 1], repeat=3))))

        def forward(self, x):
            out = []
            for r, tab in zip(self.res, self.tables):
                p = x * r
                lo = torch.floor(p).long()
                w = p - lo
                c = lo[:, None] + self.corners[None]
                h = c * self.primes
                idx = (h[..., 0] ^ h[..., 1] ^ h[..., 2]) % self.T
                f = tab[idx]
                cw = torch.where(self.corners[None].bool(), w[:, None], 1 - w[:, None]).prod(
                    -1, keepdim=True
                )
                out.append((f * cw).sum(1))
            return torch.cat(out, -1)

    g = Grid()
    mlp = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))

    def loss():
        x = torch.rand(256, 3)
        o = mlp(g(x))
        sig = F.softplus(o[:, :1])
        y = torch.sin(x * 6)
        return F.huber_loss(torch.sigmoid(o[:, 1:]), y * 0.5 + 0.5) + 0.001 * sig.mean()

    opt = torch.optim.Adam(
        [
            {"params": g.parameters(), "lr": 0.01, "eps": 1e-15},
            {"params": mlp.parameters(), "weight_decay": 1e-06},
        ],
        lr=0.001,
        betas=(0.9, 0.99),
    )

    def step():
        opt.zero_grad(set_to_none=True)
        l = loss()
        l.backward()
        opt.step()
        return l.detach()

    return _kept(step, [*g.parameters(), *mlp.parameters()])


def delta_rule(torch):
    """Linear attention by the delta rule in chunks, with triangular systems."""
    nn, F = torch.nn, torch.nn.functional
    q_, k_, v_, b_ = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 2)
    o_ = nn.Linear(16, 16)
    net = nn.ModuleList([q_, k_, v_, b_, o_])
    x = torch.randn(2, 16, 16)
    y = torch.randn(2, 16, 16)

    def sp(t):
        return t.view(2, 16, 2, 8).transpose(1, 2)

    def loss():
        q, k, v = (sp(q_(x)), F.normalize(sp(k_(x)), dim=-1), sp(v_(x)))
        beta = b_(x).sigmoid().transpose(1, 2)[..., None]
        S = x.new_zeros(2, 2, 8, 8)
        out = []
        for i in range(0, 16, 4):
            Q, K, V, B = (
                q[:, :, i : i + 4],
                k[:, :, i : i + 4],
                v[:, :, i : i + 4],
                beta[:, :, i : i + 4],
            )
            A = torch.tril(B * K @ K.mT, -1) + torch.eye(4)
            T = torch.linalg.solve_triangular(
                A, torch.eye(4).expand(2, 2, 4, 4), upper=False, unitriangular=True
            )
            U = T @ (B * V) - T @ (B * K) @ S
            out.append(Q @ S + torch.tril(Q @ K.mT) @ U)
            S = S + K.mT @ U
        return F.mse_loss(o_(torch.cat(out, 2).transpose(1, 2).flatten(-2)), y)

    return _step(torch, net.parameters(), loss, "Adamax")


def trees(torch):
    """A TreeLSTM that goes down trees of Python's."""
    nn, F = torch.nn, torch.nn.functional

    class T(nn.Module):
        def __init__(self, d=16):
            super().__init__()
            self.e = nn.Embedding(20, d)
            self.iou = nn.Linear(d, 3 * d)
            self.uiou = nn.Linear(d, 3 * d, bias=False)
            self.f = nn.Linear(d, d)
            self.uf = nn.Linear(d, d, bias=False)
            self.out = nn.Linear(d, 2)
            self.d = d

        def node(self, t):
            w, ch = t
            x = self.e(torch.tensor([w]))
            kids = [self.node(c) for c in ch]
            if kids:
                hs = torch.cat([h for h, _ in kids])
                cs = torch.cat([c for _, c in kids])
            else:
                hs = cs = torch.zeros(1, self.d)
            i, o, u = (self.iou(x) + self.uiou(hs.sum(0, keepdim=True))).chunk(3, 1)
            f = torch.sigmoid(self.f(x) + self.uf(hs))
            c = torch.sigmoid(i) * torch.tanh(u) + (f * cs).sum(0, keepdim=True)
            return (torch.sigmoid(o) * torch.tanh(c), c)

        def forward(self, t):
            return self.out(self.node(t)[0])

    net = T()
    trees = [
        (1, [(2, []), (3, [(4, []), (5, [])])]),
        (6, [(7, [(8, [])])]),
        (9, []),
        (3, [(1, []), (2, []), (4, [(5, [(6, [])])])]),
    ]
    y = torch.tensor([0, 1, 1, 0])
    return _step(
        torch,
        net.parameters(),
        lambda: F.cross_entropy(torch.cat([net(t) for t in trees]), y),
        "Adagrad",
    )


def molecules(torch):
    """Equivariant messages between atoms, and forces as derivatives inside of the loss."""
    nn, F = torch.nn, torch.nn.functional

    class L(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.e = nn.Sequential(nn.Linear(2 * d + 1, d), nn.SiLU(), nn.Linear(d, d), nn.SiLU())
            self.h = nn.Sequential(nn.Linear(2 * d, d), nn.SiLU(), nn.Linear(d, d))
            self.x = nn.Sequential(nn.Linear(d, d), nn.SiLU(), nn.Linear(d, 1, bias=False))
            self.a = nn.Sequential(nn.Linear(d, 1), nn.Sigmoid())

        def forward(self, h, x, ei):
            r, c = ei
            dx = x[r] - x[c]
            d2 = (dx**2).sum(-1, keepdim=True)
            m = self.e(torch.cat([h[r], h[c], d2], -1))
            m = m * self.a(m)
            dx = dx / (d2.sqrt() + 1)
            cnt = torch.zeros(x.size(0), 1).index_add_(0, r, torch.ones(r.numel(), 1)).clamp(min=1)
            x = x + torch.zeros_like(x).index_add_(0, r, dx * self.x(m)) / cnt
            agg = torch.zeros(h.size(0), m.size(1)).scatter_add_(0, r[:, None].expand_as(m), m)
            return (h + self.h(torch.cat([h, agg], -1)), x)

    ls = nn.ModuleList([L(16) for _ in range(3)])
    emb = nn.Linear(5, 16)
    out = nn.Linear(16, 1)
    h0 = torch.randn(20, 5)
    x0 = torch.randn(20, 3)
    ei = torch.stack(torch.where(~torch.eye(20, dtype=torch.bool)))
    batch = torch.arange(20) // 5
    ei = ei[:, batch[ei[0]] == batch[ei[1]]]
    y = torch.randn(4)

    def loss():
        x = x0.clone().requires_grad_()
        h, z = emb(h0), x
        for l in ls:
            h, z = l(h, z, ei)
        E = torch.zeros(4).index_add(0, batch, out(h)[:, 0])
        f = -torch.autograd.grad(E.sum(), x, create_graph=True)[0]
        return F.mse_loss(E, y) + 0.1 * f.pow(2).mean() + 0.1 * (z - x0).pow(2).mean()

    return _step(torch, [*ls.parameters(), *emb.parameters(), *out.parameters()], loss)


def sparse_codes(torch):
    """A sparse autoencoder: the largest few, neurons that died, columns kept at length 1."""
    nn, F = torch.nn, torch.nn.functional

    class SAE(nn.Module):
        def __init__(self, d=24, h=96, k=8):
            super().__init__()
            self.k = k
            self.bd = nn.Parameter(torch.zeros(d))
            self.be = nn.Parameter(torch.zeros(h))
            w = torch.randn(h, d)
            w = w / w.norm(dim=1, keepdim=True)
            self.Wd = nn.Parameter(w)
            self.We = nn.Parameter(w.t().clone())
            self.register_buffer("since", torch.zeros(h, dtype=torch.long))

        def forward(self, x):
            a = F.relu((x - self.bd) @ self.We + self.be)
            v, i = a.topk(self.k, -1)
            z = torch.zeros_like(a).scatter_(-1, i, v)
            return (z @ self.Wd + self.bd, z, a)

    net = SAE()
    opt = torch.optim.Adam(net.parameters(), lr=0.003)
    basis = torch.randn(48, 24)
    n = [0]

    def step():
        n[0] += 1
        x = torch.rand(128, 48) * (torch.rand(128, 48) < 0.1) @ basis
        r, z, a = net(x)
        l = (r - x).pow(2).sum(-1).mean() + 0.001 * a.abs().sum(-1).mean()
        dead = net.since > 2
        if dead.any():
            e = (x - r).detach()
            ad = a.masked_fill(~dead, 0.0)
            k = min(4, int(dead.sum()))
            v, i = ad.topk(k, -1)
            l = l + 0.03 * (torch.zeros_like(a).scatter(-1, i, v) @ net.Wd - e).pow(2).mean()
        opt.zero_grad()
        l.backward()
        with torch.no_grad():
            net.since += 1
            net.since[(z > 0).any(0)] = 0
            net.Wd.grad -= (net.Wd.grad * net.Wd).sum(1, keepdim=True) * net.Wd
        opt.step()
        with torch.no_grad():
            net.Wd /= net.Wd.norm(dim=1, keepdim=True)
        if n[0] == 6:
            with torch.no_grad():
                d = torch.where(net.since > 1)[0]
                if len(d):
                    net.We[:, d] = torch.randn(24, len(d)) * 0.1
                    net.be[d] = 0
                    st = opt.state[net.We]
                    st["exp_avg"][:, d] = 0
                    st["exp_avg_sq"][:, d] = 0
        return l.detach()

    return _kept(step, [*net.parameters(), net.since])


def slots(torch):
    """Slot attention with a GRU cell and a decoder that broadcasts."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self, d=16, k=3):
            super().__init__()
            self.enc = nn.Sequential(
                nn.Conv2d(3, d, 5, padding=2), nn.ReLU(), nn.Conv2d(d, d, 5, 2, 2)
            )
            self.mu = nn.Parameter(torch.randn(1, 1, d))
            self.ls = nn.Parameter(torch.zeros(1, 1, d))
            nn.init.xavier_uniform_(self.ls)
            self.q, self.kk, self.v = [nn.Linear(d, d, bias=False) for _ in range(3)]
            self.gru = nn.GRUCell(d, d)
            self.n1, self.n2 = (nn.LayerNorm(d), nn.LayerNorm(d, bias=False))
            self.dec = nn.Sequential(
                nn.ConvTranspose2d(d + 2, d, 5, 1, 2), nn.ReLU(), nn.Conv2d(d, 4, 3, padding=1)
            )
            self.k = k
            self.d = d
            g = torch.stack(
                torch.meshgrid(torch.linspace(-1, 1, 10), torch.linspace(-1, 1, 10), indexing="ij")
            )
            self.register_buffer("g", g[None])

        def forward(self, x):
            b = x.shape[0]
            f = self.n1(self.enc(x).flatten(2).transpose(1, 2))
            k, v = self.kk(f), self.v(f)
            z = self.mu + self.ls.exp() * torch.randn(b, self.k, self.d)
            for _ in range(3):
                p = z
                a = (k @ self.q(self.n2(z)).transpose(1, 2) * self.d ** (-0.5)).softmax(-1) + 1e-08
                a = a / a.sum(1, keepdim=True)
                z = self.gru(
                    (a.transpose(1, 2) @ v).reshape(-1, self.d), p.reshape(-1, self.d)
                ).view(b, self.k, self.d)
            h = z.reshape(-1, self.d, 1, 1).expand(-1, -1, 10, 10)
            o = self.dec(torch.cat([h, self.g.expand(h.shape[0], -1, -1, -1)], 1)).view(
                b, self.k, 4, 10, 10
            )
            return (o[:, :, :3] * o[:, :, 3:].softmax(1)).sum(1)

    net = Net()
    x = torch.rand(2, 3, 10, 10)
    return _step(torch, net.parameters(), lambda: F.mse_loss(net(x), x))


def tape(torch):
    """A neural Turing machine: content, places, a tape that is read and written in a loop."""
    nn, F = torch.nn, torch.nn.functional
    N, M = 10, 6
    ctl = nn.LSTMCell(4 + M, 20)
    rd = nn.Linear(20, M + 6)
    wr = nn.Linear(20, M + 6 + 2 * M)
    out = nn.Linear(20 + M, 3)
    P = [*ctl.parameters(), *rd.parameters(), *wr.parameters(), *out.parameters()]
    opt = torch.optim.RMSprop(P, 0.001, alpha=0.95, momentum=0.9)
    rng = random.Random(0)

    def addr(p, mem, w):
        k, b, g, s, ga = (
            p[:, :M].tanh(),
            F.softplus(p[:, M : M + 1]),
            p[:, M + 1 : M + 2].sigmoid(),
            p[:, M + 2 : M + 5].softmax(1),
            1 + F.softplus(p[:, M + 5 : M + 6]),
        )
        wc = (b * F.cosine_similarity(mem + 1e-16, k[:, None], dim=-1)).softmax(1)
        wg = g * wc + (1 - g) * w
        pad = torch.cat([wg[:, -1:], wg, wg[:, :1]], 1)
        ws = (pad.unfold(1, 3, 1) * s[:, None]).sum(-1)
        ws = ws**ga
        return ws / (ws.sum(1, keepdim=True) + 1e-16)

    def step():
        T = rng.randint(2, 4)
        x = torch.bernoulli(torch.full((T, 5, 3), 0.5))
        x = torch.cat([x, torch.zeros(T, 5, 1)], -1)
        x = torch.cat([x, torch.tensor([0.0, 0, 0, 1]).expand(1, 5, 4), torch.zeros(T, 5, 4)])
        mem = torch.full((5, N, M), 0.001)
        w = torch.zeros(5, N)
        w[:, 0] = 1
        wr_ = w.clone()
        r = torch.zeros(5, M)
        h = c = torch.zeros(5, 20)
        o = []
        for t in x:
            h, c = ctl(torch.cat([t, r], 1), (h, c))
            p = wr(h)
            wr_ = addr(p[:, : M + 6], mem, wr_)
            e, a = p[:, M + 6 : 2 * M + 6].sigmoid(), p[:, 2 * M + 6 :].tanh()
            mem = mem * (1 - wr_[..., None] * e[:, None]) + wr_[..., None] * a[:, None]
            w = addr(rd(h), mem, w)
            r = torch.bmm(w[:, None], mem)[:, 0]
            o.append(out(torch.cat([h, r], 1)))
        l = F.binary_cross_entropy_with_logits(torch.stack(o[T + 1 :]), x[:T, :, :3])
        opt.zero_grad()
        l.backward()
        nn.utils.clip_grad_value_(P, 10)
        opt.step()
        return l.detach()

    return _kept(step, P)


ROWS = {f.__name__: f for f in (hashed, delta_rule, trees, molecules, sparse_codes, slots, tape)}
