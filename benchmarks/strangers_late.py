"""Four more networks that stood in no table when they were measured, by the ops that were slow then; see strangers_rows.py."""

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


def speech(torch):
    """Convolutions over a spectrogram, a GRU in both directions, CTC."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Sequential(
                nn.Conv2d(1, 16, 3, (2, 1), 1), nn.BatchNorm2d(16), nn.Hardtanh(0, 20),
                nn.Conv2d(16, 16, 3, (2, 1), 1), nn.BatchNorm2d(16), nn.Hardtanh(0, 20),
            )  # fmt: skip
            self.gru = nn.GRU(160, 48, bidirectional=True)
            self.head = nn.Linear(96, 29)

        def forward(self, x):
            y = self.conv(x).flatten(1, 2).permute(2, 0, 1)
            return self.head(self.gru(y)[0]).log_softmax(-1)

    net = Net()
    x, target = torch.randn(4, 1, 40, 60), torch.randint(1, 29, (4, 12))
    frames, letters = torch.full((4,), 60), torch.tensor([12, 10, 8, 12])
    return _step(
        torch, net.parameters(), lambda: F.ctc_loss(net(x), target, frames, letters, zero_infinity=True)
    )  # fmt: skip


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


ROWS = {f.__name__: f for f in (spatial, speech, neighbours, rays)}
