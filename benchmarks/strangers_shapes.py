"""Networks whose sizes change from call to call or depend on values, and some of pictures and waves."""

from __future__ import annotations

import math

from strangers_rows import _step


def detections(torch):
    """What follows a detector: a threshold and the best of each map, then overlaps are thrown away one by one."""
    maps = []
    for i in range(4):
        low = 50 * torch.rand(2000 // 4**i, 2)
        boxes = torch.cat([low, low + 1 + 30 * torch.rand(len(low), 2)], 1)
        maps.append((boxes, torch.rand(len(low))))

    def overlap(one, others):
        low, high = torch.maximum(one[:2], others[:, :2]), torch.minimum(one[2:], others[:, 2:])
        both = (high - low).clamp(min=0).prod(1)
        size = (others[:, 2:] - others[:, :2]).prod(1)
        return both / ((one[2:] - one[:2]).prod() + size - both)

    def step():
        found, marks = [], []
        for boxes, scores in maps:
            kept = scores > 0.2
            best, at = scores[kept].topk(min(100, int(kept.sum())))
            found.append(boxes[kept][at])
            marks.append(best)
        boxes, scores = torch.cat(found), torch.cat(marks)
        order, total = scores.argsort(descending=True), scores.new_zeros(())
        while order.numel():
            first, order = order[0], order[1:]
            total = total + scores[first]
            order = order[overlap(boxes[first], boxes[order]) <= 0.5]
        return total

    return step


def growing(torch):
    """A decoder that writes 32 tokens, its keys and values growing by `cat`."""
    nn, F = torch.nn, torch.nn.functional
    size, heads, depth = 128, 4, 3
    table = nn.Embedding(500, size)
    layers = [(nn.LayerNorm(size), nn.Linear(size, 3 * size), nn.Linear(size, size)) for _ in range(depth)]

    def forward(ids, past):
        x, now = table(ids), []
        for (norm, mix, out), held in zip(layers, past):
            b, n, _ = x.shape
            q, k, v = mix(norm(x)).reshape(b, n, 3, heads, size // heads).permute(2, 0, 3, 1, 4)
            if held is not None:
                k, v = torch.cat([held[0], k], 2), torch.cat([held[1], v], 2)
            now.append((k, v))
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=held is None)
            x = x + out(seen.transpose(1, 2).reshape(b, n, size))
        return x @ table.weight.T, now

    def step():
        with torch.no_grad():
            token, past, total = torch.arange(8).reshape(1, 8), [None] * depth, 0.0
            for _ in range(32):
                scores, past = forward(token, past)
                token = scores[:, -1:].argmax(-1)
                total = total + token.sum()
            return total.float()

    return step


def lengths(torch):
    """A recurrent classifier whose batches are never of one size."""
    nn, F = torch.nn, torch.nn.functional
    table, cells, head = nn.Embedding(500, 32), nn.GRU(32, 32, batch_first=True), nn.Linear(32, 5)
    turn = iter(range(10**9))

    def loss():
        i = next(turn)
        rows, steps = 8 + 7 * i % 23, 20 + 11 * i % 57
        x = torch.arange(rows * steps).reshape(rows, steps) * 13 % 500
        return F.cross_entropy(head(cells(table(x))[0].mean(1)), torch.arange(rows) % 5)

    return _step(torch, [*table.parameters(), *cells.parameters(), *head.parameters()], loss)


def squeezed(torch):
    """Depthwise blocks whose channels are weighed by what the picture holds."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, n):
            super().__init__()
            norm, m = nn.BatchNorm2d, 4 * n
            self.wide = nn.Sequential(nn.Conv2d(n, m, 1, bias=False), norm(m), nn.SiLU(), nn.Conv2d(m, m, 3, padding=1, groups=m, bias=False), norm(m), nn.SiLU())  # fmt: skip
            self.weigh = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(m, n, 1), nn.SiLU(), nn.Conv2d(n, m, 1), nn.Sigmoid())  # fmt: skip
            self.narrow = nn.Sequential(nn.Conv2d(m, n, 1, bias=False), norm(n))

        def forward(self, x):
            h = self.wide(x)
            return x + self.narrow(h * self.weigh(h))

    net = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), Block(16), Block(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10))  # fmt: skip
    x, y = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
    return _step(torch, list(net.parameters()), lambda: F.cross_entropy(net(x), y), "RMSprop")


def noising(torch):
    """A small denoiser: group norms, a time that is added, halves and doubles of the size, attention below."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, n, m):
            super().__init__()
            self.first = nn.Sequential(nn.GroupNorm(4, n), nn.SiLU(), nn.Conv2d(n, m, 3, padding=1))
            self.time = nn.Linear(32, m)
            self.last = nn.Sequential(nn.GroupNorm(4, m), nn.SiLU(), nn.Conv2d(m, m, 3, padding=1))
            self.past = nn.Conv2d(n, m, 1)

        def forward(self, x, t):
            return self.past(x) + self.last(self.first(x) + self.time(t)[:, :, None, None])

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.begin, self.end = nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 3, 3, padding=1)
            self.down, self.inner, self.up = Block(16, 32), Block(32, 32), Block(48, 16)
            self.look = nn.MultiheadAttention(32, 4, batch_first=True)

        def forward(self, x, t):
            waves = t[:, None] * torch.exp(-math.log(1e4) * torch.arange(16) / 16)
            t = torch.cat([waves.sin(), waves.cos()], 1)
            a = self.begin(x)
            b = self.inner(self.down(F.avg_pool2d(a, 2), t), t)
            q = b.flatten(2).transpose(1, 2)
            b = b + self.look(q, q, q, need_weights=False)[0].transpose(1, 2).reshape(b.shape)
            return self.end(self.up(torch.cat([F.interpolate(b, scale_factor=2.0), a], 1), t))

    net, x, noise = Net(), torch.randn(8, 3, 16, 16), torch.randn(8, 3, 16, 16)
    share = torch.linspace(0.1, 0.9, 8)[:, None, None, None]

    def loss():
        return F.mse_loss(net(share.sqrt() * x + (1 - share).sqrt() * noise, share.flatten() * 1000), noise)

    return _step(torch, list(net.parameters()), loss)


def codebook(torch):
    """A quantised autoencoder: the nearest of a table, with the gradient handed past it."""
    nn, F = torch.nn, torch.nn.functional
    into = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 16, 4, 2, 1))
    out = nn.Sequential(nn.ConvTranspose2d(16, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1))
    book, x = nn.Embedding(64, 16), torch.randn(8, 3, 16, 16)

    def loss():
        z = into(x)
        flat = z.permute(0, 2, 3, 1).reshape(-1, 16)
        near = book(torch.cdist(flat, book.weight).argmin(1)).reshape(8, 4, 4, 16).permute(0, 3, 1, 2)
        bound = F.mse_loss(near, z.detach()) + 0.25 * F.mse_loss(z, near.detach())
        return F.mse_loss(out(z + (near - z).detach()), x) + bound

    return _step(torch, [*into.parameters(), *out.parameters(), *book.parameters()], loss)


ROWS = {f.__name__: f for f in (detections, growing, lengths, squeezed, noising, codebook)}
