"""Small scripts of scientific kinds that stand in no other table; see strangers_rows.py."""

from __future__ import annotations

import itertools
import math

from strangers_rows import _kept, _mlp, _step


def ode(torch):
    """A neural ODE: four steps of Runge and Kutta through a small network, beside points of a spiral."""
    nn = torch.nn

    class Field(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 50), nn.Tanh(), nn.Linear(50, 2))
            for m in self.net.modules():
                if isinstance(m, nn.Linear):
                    nn.init.normal_(m.weight, mean=0, std=0.1)
                    nn.init.constant_(m.bias, val=0)

        def forward(self, t, y):
            return self.net(y**3) * (1 + 0.1 * t)

    def solve(f, y, times):
        out = [y]
        for t0, t1 in itertools.pairwise(times):
            h = t1 - t0
            k1 = f(t0, y)
            k2 = f(t0 + h / 2, y + h * k1 / 2)
            k3 = f(t0 + h / 2, y + h * k2 / 2)
            k4 = f(t1, y + h * k3)
            y = y + h * (k1 + 2 * k2 + 2 * k3 + k4) / 6
            out.append(y)
        return torch.stack(out)

    field = Field()
    times = torch.linspace(0.0, 1.0, 8)
    turn = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
    begin = torch.tensor([[2.0, 0.0]]) + 0.1 * torch.randn(20, 2)
    with torch.no_grad():
        true = solve(lambda t, y: torch.mm(y**3, turn), 0.4 * begin, times)

    def loss():
        return torch.mean(torch.abs(solve(field, 0.4 * begin, times) - true))

    return _step(torch, field.parameters(), loss, "RMSprop")


def physics(torch):
    """A network that is to solve Burgers' equation: derivatives of its own result inside of the loss."""
    nn = torch.nn
    layers = []
    for a, b in ((2, 20), (20, 20), (20, 20)):
        layers += [nn.Linear(a, b), nn.Tanh()]
    net = nn.Sequential(*layers, nn.Linear(20, 1))
    net.apply(lambda m: nn.init.xavier_normal_(m.weight) if isinstance(m, nn.Linear) else None)
    x = (2 * torch.rand(100, 1) - 1).requires_grad_(True)
    t = torch.rand(100, 1, requires_grad=True)
    x0 = 2 * torch.rand(40, 1) - 1
    u0, t0 = -torch.sin(math.pi * x0), torch.zeros_like(x0)

    def slope(y, at):
        return torch.autograd.grad(y, at, torch.ones_like(y), create_graph=True)[0]

    def loss():
        u = net(torch.cat([x, t], dim=1))
        ut, ux = torch.autograd.grad(u.sum(), (t, x), create_graph=True)
        uxx = slope(ux, x)
        rest = ut + u * ux - (0.01 / math.pi) * uxx
        begin = net(torch.hstack((x0, t0))) - u0
        return rest.pow(2).mean() + begin.square().mean()

    return _step(torch, net.parameters(), loss)


def siren(torch):
    """Sines that learn a picture from its slopes and its Laplacian (SIREN)."""
    nn = torch.nn

    class Sine(nn.Module):
        def __init__(self, i, o, first=False, omega=30.0):
            super().__init__()
            self.omega, self.linear = omega, nn.Linear(i, o)
            with torch.no_grad():
                bound = 1 / i if first else math.sqrt(6 / i) / omega
                self.linear.weight.uniform_(-bound, bound)

        def forward(self, x):
            return torch.sin(self.omega * self.linear(x))

    net = nn.Sequential(Sine(2, 32, True), Sine(32, 32), nn.Linear(32, 1))
    side = torch.linspace(-1, 1, 12)
    grid = torch.stack(torch.meshgrid(side, side, indexing="ij"), -1).reshape(-1, 2)
    wanted = -torch.sin(3 * grid[:, :1]) * torch.cos(2 * grid[:, 1:])

    def loss():
        at = grid.clone().detach().requires_grad_(True)
        y = net(at)
        first = torch.autograd.grad(y, [at], grad_outputs=torch.ones_like(y), create_graph=True)[0]
        laplace = 0.0
        for i in range(at.shape[-1]):
            one = torch.ones_like(first[..., i])
            laplace += torch.autograd.grad(first[..., i], at, one, create_graph=True)[0][
                ..., i : i + 1
            ]
        return ((laplace - wanted) ** 2).mean() + 0.1 * (y - wanted).abs().mean()

    return _step(torch, net.parameters(), loss)


def gaussian_process(torch):
    """The marginal likelihood of a Gaussian process by Cholesky, and its prediction."""
    nn = torch.nn
    length, scale, noise = (nn.Parameter(torch.tensor(v)) for v in (0.1, 0.0, -2.0))
    x = torch.linspace(0, 1, 40).unsqueeze(-1)
    y = torch.sin(6 * x.squeeze()) + 0.1 * torch.randn(40)
    new = torch.rand(10, 1)

    def kernel(a, b):
        distance = (a.unsqueeze(1) - b.unsqueeze(0)).pow(2).sum(-1)
        return scale.exp() * torch.exp(-0.5 * distance / length.exp() ** 2)

    def loss():
        k = kernel(x, x) + (noise.exp() + 1e-4) * torch.eye(40)
        low = torch.linalg.cholesky(k)
        alpha = torch.cholesky_solve(y.unsqueeze(-1), low)
        value = 0.5 * y @ alpha.squeeze() + torch.log(torch.diagonal(low)).sum()
        with torch.no_grad():
            between = kernel(new, x)
            v = torch.linalg.solve_triangular(low, between.T, upper=False)
            spread = kernel(new, new).diagonal() - v.pow(2).sum(0)
        return (value + 20 * math.log(2 * math.pi)) / 40 + 0 * spread.clamp_min(1e-6).sqrt().mean()

    return _step(torch, [length, scale, noise], loss)


def sinkhorn(torch):
    """Points that are moved onto others by optimal transport, iterations in logarithms."""
    nn = torch.nn
    points = nn.Parameter(torch.randn(48, 2))
    goal = torch.randn(40, 2) * 0.5 + torch.tensor([2.0, 0.0])

    def loss(eps=0.5):
        cost = torch.cdist(points, goal, p=2) ** 2
        a, b = torch.full((48,), 1 / 48), torch.full((40,), 1 / 40)
        f, g = torch.zeros_like(a), torch.zeros_like(b)
        for _ in range(12):
            f = eps * (a.log() - torch.logsumexp((g[None, :] - cost) / eps, dim=1))
            g = eps * (b.log() - torch.logsumexp((f[:, None] - cost) / eps, dim=0))
        plan = torch.exp((f[:, None] + g[None, :] - cost) / eps)
        return (plan * cost).sum() - eps * torch.special.entr(plan).sum()

    return _step(torch, [points], loss, "SGD", momentum=0.9, nesterov=True)


def energy(torch):
    """A model of energies: Langevin steps from a buffer of samples, then a contrast."""
    nn = torch.nn
    net = nn.Sequential(nn.Linear(2, 48), nn.SiLU(), nn.Linear(48, 48), nn.SiLU(), nn.Linear(48, 1))
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.0, 0.999))
    buffer, real = torch.rand(256, 2) * 2 - 1, torch.randn(256, 2) * 0.3 + 0.5

    def langevin(x, steps=5, size=0.1):
        was = net.training
        net.eval()
        for p in net.parameters():
            p.requires_grad = False
        x = x.clone().requires_grad_(True)
        for _ in range(steps):
            slope = torch.autograd.grad(net(x).sum(), x)[0].clamp_(-0.03, 0.03)
            x.data.add_(-size * slope + 0.005 * torch.randn_like(x))
            x.data.clamp_(min=-1.0, max=1.0)
        for p in net.parameters():
            p.requires_grad = True
        net.train(was)
        return x.detach()

    def step():
        at = torch.randperm(256)[:64]
        fresh = torch.rand(64, 2) * 2 - 1
        start = torch.where(torch.rand(64, 1) < 0.05, fresh, buffer[at])
        fake = langevin(start)
        buffer[at] = fake
        up, down = net(torch.cat([real[at], fake])).chunk(2, dim=0)
        loss = (up - down).mean() + 0.1 * (up**2 + down**2).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), max_norm=0.1)
        opt.step()
        return loss.detach()

    return _kept(step, [*net.parameters(), buffer])


def splines(torch):
    """A flow of rational splines: searchsorted, gather, cumulative widths, inverse of a batch norm."""
    nn, F = torch.nn, torch.nn.functional
    bins = 6
    nets = nn.ModuleList(
        [
            nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2 * (2 * bins + 1)))
            for _ in range(2)
        ]
    )
    x = torch.randn(96, 4).clamp(-2.9, 2.9)

    def knots(raw):
        w = 1e-3 + (1 - 1e-3 * bins) * F.softmax(raw, dim=-1)
        edges = F.pad(torch.cumsum(w, dim=-1), pad=(1, 0), mode="constant", value=0.0) * 6 - 3
        return edges, edges[..., 1:] - edges[..., :-1]

    def spline(x, raw):
        w, h, d = raw.split([bins, bins, 1], dim=-1)
        (left, width), (low, height) = knots(w), knots(h)
        slopes = 1e-3 + F.softplus(
            F.pad(d.expand(*d.shape[:-1], bins - 1), (1, 1), value=math.log(math.e - 1))
        )
        at = torch.searchsorted(left[..., 1:-1].contiguous(), x[..., None].detach())

        def pick(v):
            return v.gather(-1, at)[..., 0]

        delta = pick(height / width)
        d0, d1 = pick(slopes), slopes.gather(-1, at + 1)[..., 0]
        theta = (x - pick(left)) / pick(width)
        mixed = theta * (1 - theta)
        under = delta + (d0 + d1 - 2 * delta) * mixed
        out = pick(low) + pick(height) * (delta * theta.pow(2) + d0 * mixed) / under
        slope = delta.pow(2) * (d1 * theta.pow(2) + 2 * delta * mixed + d0 * (1 - theta).pow(2))
        return out, torch.log(slope) - 2 * torch.log(under)

    def loss():
        z, total = x, x.new_zeros(x.size(0))
        for i, net in enumerate(nets):
            a, b = z[:, :2], z[:, 2:]
            a, b = (b, a) if i else (a, b)
            moved, log = spline(b, net(a).view(-1, 2, 2 * bins + 1))
            total += log.sum(-1)
            z = torch.cat((a, moved), -1)
        prior = torch.distributions.MultivariateNormal(torch.zeros(4), torch.eye(4))
        return -(prior.log_prob(z) + total).mean()

    return _step(torch, nets.parameters(), loss)


def fourier(torch):
    """Layers that learn in Fourier space (FNO): rfft2, complex weights, einsum, irfft2."""
    nn, F = torch.nn, torch.nn.functional

    class Spectral(nn.Module):
        def __init__(self, size, modes):
            super().__init__()
            self.modes = modes
            scale = 1 / size**2
            self.low = nn.Parameter(
                scale * torch.rand(size, size, modes, modes, dtype=torch.cfloat)
            )
            self.high = nn.Parameter(
                scale * torch.rand(size, size, modes, modes, dtype=torch.cfloat)
            )

        def forward(self, x):
            m = self.modes
            f = torch.fft.rfft2(x)
            out = torch.zeros(
                x.shape[0], x.shape[1], x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat
            )
            out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", f[:, :, :m, :m], self.low)
            out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", f[:, :, -m:, :m], self.high)
            return torch.fft.irfft2(out, s=(x.size(-2), x.size(-1)))

    class Net(nn.Module):
        def __init__(self, size=12):
            super().__init__()
            self.lift = nn.Linear(3, size)
            self.spectral = nn.ModuleList([Spectral(size, 4) for _ in range(2)])
            self.local = nn.ModuleList([nn.Conv2d(size, size, 1) for _ in range(2)])
            self.out = nn.Sequential(nn.Linear(size, 24), nn.GELU(), nn.Linear(24, 1))

        def forward(self, x):
            x = self.lift(x).permute(0, 3, 1, 2)
            for s, w in zip(self.spectral, self.local):
                x = F.gelu(s(x) + w(x))
            return self.out(x.permute(0, 2, 3, 1)).squeeze(-1)

    net = Net()
    x, y = torch.randn(4, 16, 16, 3), torch.randn(4, 16, 16)

    def loss():
        apart = torch.norm((net(x) - y).reshape(4, -1), 2, 1)
        return (apart / torch.norm(y.reshape(4, -1), 2, 1)).sum()

    return _step(torch, net.parameters(), loss, weight_decay=1e-4)


def quasi_newton(torch):
    """LBFGS with a line search over a small regression, called with a closure."""
    nn, F = torch.nn, torch.nn.functional
    net = nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 1)).double()
    opt = torch.optim.LBFGS(
        net.parameters(), lr=0.5, max_iter=4, history_size=6, line_search_fn="strong_wolfe"
    )
    x = torch.randn(64, 6, dtype=torch.float64)
    y = x[:, :1].sin() + 0.5 * x[:, 1:2] * x[:, 2:3]

    def step():
        def closure():
            opt.zero_grad()
            value = F.mse_loss(net(x), y) + 1e-3 * sum(p.pow(2).sum() for p in net.parameters())
            value.backward()
            return value

        return opt.step(closure).detach()

    return _kept(step, net.parameters())


def neighbours(torch):
    """Points that look at their nearest ones (DGCNN): distances, topk, gather, a maximum over edges."""
    nn, F = torch.nn, torch.nn.functional

    def edges(x, k):  # x: (B, N, C)
        near = torch.cdist(x, x).topk(k, -1, largest=False).indices  # (B, N, k)
        b, n, c = x.shape
        others = x.gather(1, near.reshape(b, n * k, 1).expand(-1, -1, c)).view(b, n, k, c)
        own = x.unsqueeze(2).expand(-1, -1, k, -1)
        return torch.cat([own, others - own], -1)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.one = nn.Sequential(nn.Linear(6, 32), nn.LeakyReLU(0.2))
            self.two = nn.Sequential(nn.Linear(64, 64), nn.LeakyReLU(0.2))
            self.head = nn.Sequential(
                nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.0), nn.Linear(64, 8)
            )

        def forward(self, x):
            x = self.one(edges(x, 8)).max(2).values
            x = self.two(edges(x, 8)).max(2).values
            return self.head(torch.cat([x.max(1).values, x.mean(1)], -1))

    net = Net()
    x, y = torch.randn(4, 128, 3), torch.randint(0, 8, (4,))
    return _step(torch, net.parameters(), lambda: F.cross_entropy(net(x), y))


def rays(torch):
    """Colours along rays (NeRF): waves of the places, a small network, light that is left by a running product."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("waves", 2.0 ** torch.arange(6.0))
            self.body = nn.Sequential(
                nn.Linear(39, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4)
            )

        def forward(self, place):
            turned = place[..., None] * self.waves
            seen = torch.cat([place, turned.sin().flatten(-2), turned.cos().flatten(-2)], -1)
            out = self.body(seen)
            return out[..., :3].sigmoid(), F.softplus(out[..., 3])

    net = Net()
    origin, way = torch.randn(64, 3), F.normalize(torch.randn(64, 3), dim=-1)
    depth, colour = torch.linspace(0.5, 3, 24), torch.rand(64, 3)

    def loss():
        place = origin[:, None] + way[:, None] * depth[:, None]
        rgb, density = net(place)
        step = torch.diff(depth, append=depth[-1:] + 1e3)
        alpha = 1 - torch.exp(-density * step)
        left = torch.cumprod(torch.cat([torch.ones(64, 1), 1 - alpha[:, :-1] + 1e-10], -1), -1)
        return F.mse_loss(((alpha * left)[..., None] * rgb).sum(1), colour)

    return _step(torch, net.parameters(), loss)


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


ROWS = {f.__name__: f for f in (
    ode, physics, siren, gaussian_process, sinkhorn, energy, splines, fourier, quasi_newton,
    neighbours, rays, hashed, molecules, springs, particles, scores,
)}  # fmt: skip
