"""Networks for pictures that stand in no other table; see strangers_rows.py."""

from __future__ import annotations

from strangers_rows import _step


def spatial(torch):
    """A spatial transformer: a network that chooses the affine map its classifier looks through."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.where = nn.Sequential(
                nn.Conv2d(1, 8, 7), nn.MaxPool2d(2), nn.ReLU(),
                nn.Conv2d(8, 10, 5), nn.MaxPool2d(2), nn.ReLU(),
            )  # fmt: skip
            self.map = nn.Sequential(nn.Linear(90, 32), nn.Tanh(), nn.Linear(32, 6))
            self.map[2].weight.data.zero_()
            self.map[2].bias.data.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
            self.body = nn.Sequential(
                nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(),
                nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU(),
            )  # fmt: skip
            self.head = nn.Linear(320, 10)

        def forward(self, x):
            theta = self.map(self.where(x).flatten(1)).view(-1, 2, 3)
            grid = F.affine_grid(theta, list(x.size()), align_corners=False)
            x = F.grid_sample(x, grid, align_corners=False)
            return self.head(self.body(x).flatten(1))

    net = Net()
    x, y = torch.randn(16, 1, 28, 28), torch.randint(0, 10, (16,))
    return _step(torch, net.parameters(), lambda: F.cross_entropy(net(x), y))


def swin(torch):
    """Attention in windows of pixels that are shifted in every second block."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, size, heads, window, shift):
            super().__init__()
            self.heads, self.window, self.shift = heads, window, shift
            self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
            self.qkv, self.out = nn.Linear(size, 3 * size), nn.Linear(size, size)
            self.bias = nn.Parameter(torch.zeros(heads, window * window, window * window))
            self.mlp = nn.Sequential(
                nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size)
            )

        def forward(self, x):
            b, h, w, c = x.shape
            k = self.window
            y = self.norm1(x)
            if self.shift:
                y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
            y = y.view(b, h // k, k, w // k, k, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, k * k, c)
            q, key, v = (
                self.qkv(y)
                .reshape(-1, k * k, 3, self.heads, c // self.heads)
                .permute(2, 0, 3, 1, 4)
                .unbind(0)
            )
            att = (q * (c // self.heads) ** -0.5) @ key.transpose(-2, -1) + self.bias
            y = (att.softmax(-1) @ v).transpose(1, 2).reshape(-1, k * k, c)
            y = (
                self.out(y)
                .view(b, h // k, w // k, k, k, c)
                .permute(0, 1, 3, 2, 4, 5)
                .reshape(b, h, w, c)
            )
            if self.shift:
                y = torch.roll(y, (self.shift, self.shift), (1, 2))
            x = x + y
            return x + self.mlp(self.norm2(x))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.patch = nn.Conv2d(3, 32, 2, 2)
            self.blocks = nn.Sequential(*[Block(32, 4, 4, 2 * (i % 2)) for i in range(4)])
            self.head = nn.Linear(32, 10)

        def forward(self, x):
            return self.head(self.blocks(self.patch(x).permute(0, 2, 3, 1)).mean((1, 2)))

    net = Net()
    x, y = torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))
    return _step(torch, net.parameters(), lambda: F.cross_entropy(net(x), y), "AdamW")


def capsules(torch):
    """Capsules that agree by routing."""
    nn, F = torch.nn, torch.nn.functional

    def squash(s):
        n = (s * s).sum(-1, keepdim=True)
        return s * (n / (1 + n) / torch.sqrt(n + 1e-8))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 16, 5, 2)
            self.prim = nn.Conv2d(16, 32, 3, 2)
            self.w = nn.Parameter(torch.randn(1, 100, 5, 8, 8) * 0.1)

        def forward(self, x):
            u = squash(
                self.prim(F.relu(self.conv(x)))
                .view(x.shape[0], 4, 8, 5, 5)
                .permute(0, 1, 3, 4, 2)
                .reshape(x.shape[0], 100, 8)
            )
            u = (self.w @ u[:, :, None, :, None]).squeeze(-1)
            b = torch.zeros(x.shape[0], 100, 5, 1)
            for i in range(3):
                v = squash((b.softmax(2) * u).sum(1, keepdim=True))
                if i < 2:
                    b = b + (u * v).sum(-1, keepdim=True)
            return v.squeeze(1).norm(dim=-1)

    net = Net()
    x, y = torch.randn(8, 1, 28, 28), torch.randint(0, 5, (8,))

    def loss():
        v, t = net(x), F.one_hot(y, 5).float()
        return (t * F.relu(0.9 - v) ** 2 + 0.5 * (1 - t) * F.relu(v - 0.1) ** 2).sum(1).mean()

    return _step(torch, net.parameters(), loss)


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


ROWS = {f.__name__: f for f in (
    spatial, swin, capsules, slots,
)}  # fmt: skip
