"""Networks that stand in no other table: each a function of the framework that gives a training step.

A row takes the module that answers to the name torch and returns a function without arguments: forward, backward,
the optimiser's step, the loss. Both frameworks have the same generator, so equal seeds are equal weights and data.
"""

from __future__ import annotations

from importlib import import_module
from itertools import pairwise


def _step(torch, params, loss, optimiser="Adam", **options):
    """A training step of a function that gives a loss."""
    opt = getattr(torch.optim, optimiser)(list(params), lr=1e-3, **options)

    def step():
        opt.zero_grad()
        value = loss()
        value.backward()
        opt.step()
        return value.detach()

    return _kept(step, opt.param_groups[0]["params"])


def _kept(step, tensors):
    """The step, and the tensors that it changes, for those who compare them."""
    step.kept = list(tensors)
    return step


def _mlp(torch, *sizes, act="ReLU"):
    """Dense layers with the same activation between them."""
    parts = []
    for a, b in pairwise(sizes[:-1]):
        parts += [torch.nn.Linear(a, b), getattr(torch.nn, act)()]
    return torch.nn.Sequential(*parts, torch.nn.Linear(*sizes[-2:]))


def convnext(torch):
    """ConvNeXt blocks: depthwise 7 x 7, layer norm over the last dim, linear, GELU, a scale per channel."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.depth = nn.Conv2d(size, size, 7, padding=3, groups=size)
            self.norm = nn.LayerNorm(size, eps=1e-6)
            self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
            self.gamma = nn.Parameter(1e-2 * torch.ones(size))

        def forward(self, x):
            h = self.norm(self.depth(x).permute(0, 2, 3, 1))
            h = self.gamma * self.down(F.gelu(self.up(h)))
            return x + h.permute(0, 3, 1, 2)

    net = nn.Sequential(nn.Conv2d(3, 24, 2, 2), Block(24), Block(24), nn.Conv2d(24, 48, 2, 2), Block(48), Block(48),
                        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(48, 10))  # fmt: skip
    x, y = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
    return _step(torch, net.parameters(), lambda: F.cross_entropy(net(x), y, label_smoothing=0.1), "AdamW")


def vae(torch):
    """A variational autoencoder of convolutions and transposed convolutions."""
    nn, F = torch.nn, torch.nn.functional
    down = nn.Sequential(
        nn.Conv2d(1, 16, 3, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Conv2d(16, 32, 3, 2, 1),
        nn.LeakyReLU(0.2),
        nn.Flatten(),
        nn.Linear(32 * 49, 32),
    )
    up = nn.Sequential(
        nn.Linear(16, 32 * 49),
        nn.ELU(),
        nn.Unflatten(1, (32, 7, 7)),
        nn.ConvTranspose2d(32, 16, 4, 2, 1),
        nn.ELU(),
        nn.ConvTranspose2d(16, 1, 4, 2, 1),
    )
    x = torch.rand(16, 1, 28, 28)

    def loss():
        mean, log = down(x).chunk(2, 1)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log)
        rebuilt = F.binary_cross_entropy_with_logits(up(z), x, reduction="sum")
        return (rebuilt - 0.5 * torch.sum(1 + log - mean.pow(2) - log.exp())) / 16

    return _step(torch, [*down.parameters(), *up.parameters()], loss)


def graph_attention(torch):
    """Graph attention: a softmax over the edges of each node by scatter_reduce and index_add."""
    nn, F = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self, a, b, heads):
            super().__init__()
            self.lin, self.heads, self.size = nn.Linear(a, heads * b, bias=False), heads, b
            self.into, self.of = (nn.Parameter(0.1 * torch.randn(heads, b)), nn.Parameter(0.1 * torch.randn(heads, b)))

        def forward(self, x, src, dst):
            n = x.shape[0]
            h = self.lin(x).view(n, self.heads, self.size)
            e = F.leaky_relu((h * self.of).sum(-1)[src] + (h * self.into).sum(-1)[dst], 0.2)
            top = torch.full((n, self.heads), -1e9).scatter_reduce(0, dst.unsqueeze(1).expand_as(e), e, "amax")
            e = (e - top[dst]).exp()
            a = e / (torch.zeros(n, self.heads).index_add(0, dst, e)[dst] + 1e-9)
            return torch.zeros_like(h).index_add(0, dst, h[src] * a.unsqueeze(-1)).flatten(1)

    one, two = Layer(24, 8, 4), Layer(32, 7, 1)
    x, y = torch.randn(300, 24), torch.randint(0, 7, (300,))
    src, dst = torch.randint(0, 300, (1500,)), torch.randint(0, 300, (1500,))

    def loss():
        h = F.dropout(F.elu(one(F.dropout(x, 0.3), src, dst)), 0.3)
        return F.nll_loss(F.log_softmax(two(h, src, dst), 1), y)

    return _step(torch, [*one.parameters(), *two.parameters()], loss, weight_decay=5e-4)


def dqn(torch):
    """Deep Q-learning, 32 moves from a table: gather, the largest of a copy's values, Huber loss, clipped gradients."""
    nn, F = torch.nn, torch.nn.functional

    def net():
        return nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))

    q, target = net(), net()
    target.load_state_dict(q.state_dict())
    opt = torch.optim.Adam(q.parameters(), lr=1e-3)
    states, after, moves = torch.randn(500, 4), torch.randn(500, 4), torch.randint(0, 3, (500, 1))
    rewards, ends = torch.randn(500, 1), (torch.rand(500, 1) < 0.1).float()

    def step():
        at = torch.randint(0, 500, (32,))
        with torch.no_grad():
            q(states[:1]).argmax(1)
            best = target(after[at]).max(1, keepdim=True)[0]
            wanted = rewards[at] + 0.99 * (1 - ends[at]) * best
        loss = F.smooth_l1_loss(q(states[at]).gather(1, moves[at]), wanted)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(q.parameters(), 1.0)
        opt.step()
        with torch.no_grad():
            for a, b in zip(target.parameters(), q.parameters()):
                a.mul_(0.995).add_(b, alpha=0.005)
        return loss.detach()

    return step


def llama(torch):
    """A decoder of today's kind, written out: RMS norms, rotary places, grouped heads, SwiGLU."""
    nn, F = torch.nn, torch.nn.functional

    class Norm(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(size))

        def forward(self, x):
            return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    class Layer(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.q, self.kv, self.o = (
                nn.Linear(size, size, bias=False),
                nn.Linear(size, size, bias=False),
                nn.Linear(size, size, bias=False),
            )
            self.gate, self.up, self.down = (
                nn.Linear(size, 2 * size, bias=False),
                nn.Linear(size, 2 * size, bias=False),
                nn.Linear(2 * size, size, bias=False),
            )
            self.norm1, self.norm2 = Norm(size), Norm(size)

        def turn(self, x, cos, sin):
            a, b = x.chunk(2, -1)
            return x * cos + torch.cat([-b, a], -1) * sin

        def forward(self, x, cos, sin):
            b, t, c = x.shape
            h = self.norm1(x)
            q = self.q(h).view(b, t, 4, c // 4).transpose(1, 2)
            k, v = self.kv(h).view(b, t, 2, 2, c // 4).permute(2, 0, 3, 1, 4)
            q, k = self.turn(q, cos, sin), self.turn(k, cos, sin)
            k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.o(y.transpose(1, 2).reshape(b, t, c))
            h = self.norm2(x)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))

    words, layers, norm = (nn.Embedding(100, 64), nn.ModuleList([Layer(64) for _ in range(2)]), Norm(64))
    ids = torch.randint(0, 100, (8, 33))
    angles = torch.outer(torch.arange(32.0), 1e4 ** (-torch.arange(0, 16, 2) / 16.0))
    cos, sin = torch.cat([angles, angles], 1).cos(), torch.cat([angles, angles], 1).sin()

    def loss():
        x = words(ids[:, :-1])
        for layer in layers:
            x = layer(x, cos, sin)
        return F.cross_entropy((norm(x) @ words.weight.T).flatten(0, 1), ids[:, 1:].flatten())

    return _step(torch, [*words.parameters(), *layers.parameters(), *norm.parameters()], loss, "AdamW")


def bags(torch):
    """A text classifier: bags of embeddings, two layers."""
    nn, F = torch.nn, torch.nn.functional
    words, head = (
        nn.EmbeddingBag(1000, 32, mode="mean"),
        nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)),
    )
    ids, starts, y = (torch.randint(0, 1000, (640,)), torch.arange(0, 640, 20), torch.randint(0, 4, (32,)))
    return _step(
        torch, [*words.parameters(), *head.parameters()], lambda: F.cross_entropy(head(words(ids, starts)), y), "SGD"
    )


def spatial(torch):
    """A spatial transformer: a network that chooses the affine map its classifier looks through."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.where = nn.Sequential(
                nn.Conv2d(1, 8, 7), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(8, 10, 5), nn.MaxPool2d(2), nn.ReLU()
            )
            self.map = nn.Sequential(nn.Linear(90, 32), nn.Tanh(), nn.Linear(32, 6))
            self.map[2].weight.data.zero_()
            self.map[2].bias.data.copy_(torch.tensor([1.0, 0, 0, 0, 1, 0]))
            self.body = nn.Sequential(
                nn.Conv2d(1, 10, 5), nn.MaxPool2d(2), nn.ReLU(), nn.Conv2d(10, 20, 5), nn.MaxPool2d(2), nn.ReLU()
            )
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
            self.mlp = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Linear(2 * size, size))

        def forward(self, x):
            b, h, w, c = x.shape
            k = self.window
            y = self.norm1(x)
            if self.shift:
                y = torch.roll(y, (-self.shift, -self.shift), (1, 2))
            y = y.view(b, h // k, k, w // k, k, c).permute(0, 1, 3, 2, 4, 5).reshape(-1, k * k, c)
            q, key, v = self.qkv(y).reshape(-1, k * k, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
            att = (q * (c // self.heads) ** -0.5) @ key.transpose(-2, -1) + self.bias
            y = (att.softmax(-1) @ v).transpose(1, 2).reshape(-1, k * k, c)
            y = self.out(y).view(b, h // k, w // k, k, k, c).permute(0, 1, 3, 2, 4, 5).reshape(b, h, w, c)
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


ROWS = {f.__name__: f for f in (convnext, vae, graph_attention, dqn, llama, bags, spatial, swin)}


def every_row():
    """The rows of all tables, by name."""
    parts = "rows", "sequences", "science", "agents", "training", "shapes"
    tables = [import_module(f"strangers_{part}") for part in parts]
    return {name: row for table in tables for name, row in table.ROWS.items()}
