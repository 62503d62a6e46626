"""Small scripts of scientific kinds that stand in no other table; see strangers_rows.py."""

from __future__ import annotations

import itertools
import math

from strangers_rows import _kept, _step


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


def splines(torch):
    """A flow of rational splines: searchsorted, gather, cumulative widths, inverse of a batch norm."""
    nn, F = torch.nn, torch.nn.functional
    bins = 6
    nets = nn.ModuleList(
        [nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 2 * (2 * bins + 1))) for _ in range(2)]
    )
    x = torch.randn(96, 4).clamp(-2.9, 2.9)

    def knots(raw):
        w = 1e-3 + (1 - 1e-3 * bins) * F.softmax(raw, dim=-1)
        edges = F.pad(torch.cumsum(w, dim=-1), pad=(1, 0), mode="constant", value=0.0) * 6 - 3
        return edges, edges[..., 1:] - edges[..., :-1]

    def spline(x, raw):
        w, h, d = raw.split([bins, bins, 1], dim=-1)
        (left, width), (low, height) = knots(w), knots(h)
        slopes = 1e-3 + F.softplus(F.pad(d.expand(*d.shape[:-1], bins - 1), (1, 1), value=math.log(math.e - 1)))
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
            self.low = nn.Parameter(scale * torch.rand(size, size, modes, modes, dtype=torch.cfloat))
            self.high = nn.Parameter(scale * torch.rand(size, size, modes, modes, dtype=torch.cfloat))

        def forward(self, x):
            m = self.modes
            f = torch.fft.rfft2(x)
            out = torch.zeros(x.shape[0], x.shape[1], x.size(-2), x.size(-1) // 2 + 1, dtype=torch.cfloat)
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
    opt = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=4, history_size=6, line_search_fn="strong_wolfe")
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
            self.head = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.0), nn.Linear(64, 8))

        def forward(self, x):
            x = self.one(edges(x, 8)).max(2).values
            x = self.two(edges(x, 8)).max(2).values
            return self.head(torch.cat([x.max(1).values, x.mean(1)], -1))

    net = Net()
    x, y = torch.randn(4, 128, 3), torch.randint(0, 8, (4,))
    return _step(torch, net.parameters(), lambda: F.cross_entropy(net(x), y))


ROWS = {f.__name__: f for f in (ode, physics, gaussian_process, sinkhorn, splines, fourier, quasi_newton, neighbours)}
