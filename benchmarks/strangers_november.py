"""Networks of 17 November that stood in no table when they were measured; see strangers_rows.py."""

from __future__ import annotations

from strangers_rows import _step


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


def tcn(torch):
    """Dilated convolutions over time with weight norm and dropout."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, i, o, d):
            super().__init__()
            self.pad = 2 * d
            self.a = torch.nn.utils.parametrizations.weight_norm(nn.Conv1d(i, o, 3, dilation=d))
            self.b = torch.nn.utils.parametrizations.weight_norm(nn.Conv1d(o, o, 3, dilation=d))
            self.skip = nn.Conv1d(i, o, 1) if i != o else None
            self.drop = nn.Dropout(0.1)

        def forward(self, x):
            y = self.drop(F.relu(self.a(F.pad(x, (self.pad, 0)))))
            y = self.drop(F.relu(self.b(F.pad(y, (self.pad, 0)))))
            return F.relu(y + (x if self.skip is None else self.skip(x)))

    net = nn.Sequential(Block(8, 32, 1), Block(32, 32, 2), Block(32, 32, 4), Block(32, 32, 8))
    head = nn.Linear(32, 4)
    x, y = torch.randn(8, 8, 96), torch.randint(0, 4, (8,))
    params = [*net.parameters(), *head.parameters()]
    return _step(torch, params, lambda: F.cross_entropy(head(net(x)[:, :, -1]), y))


def experts(torch):
    """Two layers of four experts, of which two answer for each row."""
    nn, F = torch.nn, torch.nn.functional

    class Experts(nn.Module):
        def __init__(self, size, count):
            super().__init__()
            self.gate = nn.Linear(size, count)
            self.up = nn.Parameter(torch.randn(count, size, 2 * size) * 0.1)
            self.down = nn.Parameter(torch.randn(count, 2 * size, size) * 0.1)

        def forward(self, x):
            weights, which = self.gate(x).softmax(-1).topk(2, -1)
            weights = weights / weights.sum(-1, keepdim=True)
            mask = F.one_hot(which, self.up.shape[0]).to(x.dtype)
            share = torch.einsum("nk,nke->ne", weights, mask)
            h = F.silu(torch.einsum("nd,edh->enh", x, self.up))
            return torch.einsum("enh,ehd,ne->nd", h, self.down, share)

    net = nn.ModuleList([Experts(32, 4) for _ in range(2)])
    head = nn.Linear(32, 10)
    x, y = torch.randn(96, 32), torch.randint(0, 10, (96,))

    def loss():
        h = x
        for layer in net:
            h = h + layer(F.layer_norm(h, (32,)))
        return F.cross_entropy(head(h), y)

    return _step(torch, [*net.parameters(), *head.parameters()], loss)


def wavenet(torch):
    """Gated dilated convolutions over letters, with skips."""
    nn, F = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self, size, d):
            super().__init__()
            self.d = d
            self.both = nn.Conv1d(size, 2 * size, 2, dilation=d)
            self.skip, self.out = nn.Conv1d(size, size, 1), nn.Conv1d(size, size, 1)

        def forward(self, x):
            a, b = self.both(F.pad(x, (self.d, 0))).chunk(2, 1)
            z = torch.tanh(a) * torch.sigmoid(b)
            return x + self.out(z), self.skip(z)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Embedding(64, 24)
            self.layers = nn.ModuleList([Layer(24, 2**i) for i in range(6)])
            self.last = nn.Conv1d(24, 64, 1)

        def forward(self, t):
            x, skips = self.first(t).transpose(1, 2), 0
            for layer in self.layers:
                x, s = layer(x)
                skips = skips + s
            return self.last(F.relu(skips))

    net = Net()
    t = torch.randint(0, 64, (4, 129))
    return _step(torch, net.parameters(), lambda: F.cross_entropy(net(t[:, :-1]), t[:, 1:]))


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


ROWS = {f.__name__: f for f in (swin, tcn, experts, wavenet, capsules)}
