"""Networks that stand in no other table: each a function of the framework that gives a training step.

A row takes the module that answers to the name torch and returns a function without arguments: forward, backward,
the optimiser's step, the loss. Both frameworks have the same generator, so equal seeds are equal weights and data.
"""

from __future__ import annotations

import math
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


def _written_norm(torch, size):
    """A layer norm in plain operators."""

    class Norm(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(size))
            self.bias = torch.nn.Parameter(torch.zeros(size))

        def forward(self, x):
            mean = x.mean(-1, keepdim=True)
            spread = (x - mean).pow(2).mean(-1, keepdim=True)
            return (x - mean) / torch.sqrt(spread + 1e-5) * self.weight + self.bias

    return Norm()


def bert(torch):
    """Two encoder layers with norms, softmax and GELU written out, masked words."""
    nn, F = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self, size, heads):
            super().__init__()
            self.heads, self.qkv, self.out = heads, nn.Linear(size, 3 * size), nn.Linear(size, size)
            self.up, self.down = nn.Linear(size, 4 * size), nn.Linear(4 * size, size)
            self.norm1, self.norm2 = _written_norm(torch, size), _written_norm(torch, size)
            self.drop = nn.Dropout(0.1)

        def forward(self, x, mask):
            b, t, c = x.shape
            q, k, v = self.qkv(x).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
            scores = q @ k.transpose(-2, -1) / math.sqrt(c // self.heads) + mask
            e = torch.exp(scores - scores.amax(-1, keepdim=True))
            mixed = self.drop(e / e.sum(-1, keepdim=True)) @ v
            x = self.norm1(x + self.drop(self.out(mixed.transpose(1, 2).reshape(b, t, c))))
            h = self.up(x)
            h = h * 0.5 * (1.0 + torch.erf(h / math.sqrt(2.0)))
            return self.norm2(x + self.drop(self.down(h)))

    class Bert(nn.Module):
        def __init__(self, words=200, size=64):
            super().__init__()
            self.word, self.place = nn.Embedding(words, size), nn.Embedding(32, size)
            self.layers = nn.ModuleList([Layer(size, 4) for _ in range(2)])
            self.head = nn.Linear(size, words)

        def forward(self, ids, mask):
            x = self.word(ids) + self.place(torch.arange(ids.shape[1]))
            for layer in self.layers:
                x = layer(x, mask)
            return self.head(x)

    net = Bert()
    ids = torch.randint(0, 200, (8, 32))
    mask = torch.zeros(8, 1, 1, 32)
    mask[:, :, :, 28:] = -1e9
    return _step(
        torch,
        net.parameters(),
        lambda: F.cross_entropy(net(ids, mask).flatten(0, 1), ids.flatten()),
        "AdamW",
    )


def mixer(torch):
    """MLP-Mixer: products over places and over channels."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, places, size):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(size), nn.LayerNorm(size)
            self.over = nn.Sequential(nn.Linear(places, 32), nn.GELU(), nn.Linear(32, places))
            self.through = nn.Sequential(nn.Linear(size, 128), nn.GELU(), nn.Linear(128, size))

        def forward(self, x):
            x = x + self.over(self.norm1(x).transpose(1, 2)).transpose(1, 2)
            return x + self.through(self.norm2(x))

    net = nn.Sequential(nn.Conv2d(3, 64, 4, 4), nn.Flatten(2))
    blocks, head = nn.Sequential(*[Block(64, 64) for _ in range(3)]), nn.Linear(64, 10)
    x, y = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
    params = [*net.parameters(), *blocks.parameters(), *head.parameters()]
    return _step(
        torch, params, lambda: F.cross_entropy(head(blocks(net(x).transpose(1, 2)).mean(1)), y)
    )


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
    return _step(
        torch, net.parameters(), lambda: F.cross_entropy(net(x), y, label_smoothing=0.1), "AdamW"
    )


def depthwise(torch):
    """Inverted residuals with hard swish and squeeze and excitation."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, a, b, stride):
            super().__init__()
            m = 3 * a
            self.body = nn.Sequential(nn.Conv2d(a, m, 1, bias=False), nn.BatchNorm2d(m), nn.Hardswish(),
                                      nn.Conv2d(m, m, 3, stride, 1, groups=m, bias=False), nn.BatchNorm2d(m), nn.Hardswish())  # fmt: skip
            self.squeeze = nn.Sequential(
                nn.AdaptiveAvgPool2d(1),
                nn.Conv2d(m, m // 4, 1),
                nn.ReLU(),
                nn.Conv2d(m // 4, m, 1),
                nn.Hardsigmoid(),
            )
            self.out = nn.Sequential(nn.Conv2d(m, b, 1, bias=False), nn.BatchNorm2d(b))
            self.same = a == b and stride == 1

        def forward(self, x):
            h = self.body(x)
            h = self.out(h * self.squeeze(h))
            return x + h if self.same else h

    net = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16), nn.Hardswish(), Block(16, 16, 1),
                        Block(16, 24, 2), Block(24, 24, 1), Block(24, 40, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                        nn.Dropout(0.2), nn.Linear(40, 10))  # fmt: skip
    x, y = torch.randn(8, 3, 32, 32), torch.randint(0, 10, (8,))
    return _step(torch, net.parameters(), lambda: F.cross_entropy(net(x), y), "RMSprop")


def gru(torch):
    """A tagger: embeddings, a bidirectional GRU, a class for each word."""
    nn, F = torch.nn, torch.nn.functional
    words, layer, head = (
        nn.Embedding(300, 32),
        nn.GRU(32, 48, batch_first=True, bidirectional=True),
        nn.Linear(96, 12),
    )
    x, y = torch.randint(0, 300, (16, 24)), torch.randint(0, 12, (16, 24))
    params = [*words.parameters(), *layer.parameters(), *head.parameters()]
    return _step(
        torch, params, lambda: F.cross_entropy(head(layer(words(x))[0]).transpose(1, 2), y)
    )


def cells(torch):
    """A loop in Python over a GRU cell and an LSTM cell."""
    nn = torch.nn
    a, b, head = nn.GRUCell(16, 32), nn.LSTMCell(32, 32), nn.Linear(32, 1)
    x, y = torch.randn(12, 16, 16), torch.randn(16, 1)

    def loss():
        h = torch.zeros(16, 32)
        s = (torch.zeros(16, 32), torch.zeros(16, 32))
        for t in range(12):
            h = a(x[t], h)
            s = b(h, s)
        return ((head(s[0]) - y) ** 2).mean()

    return _step(torch, [*a.parameters(), *b.parameters(), *head.parameters()], loss)


def seq2seq(torch):
    """An LSTM encoder, a decoder of cells with additive attention, teacher forcing."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self, words=100, size=32):
            super().__init__()
            self.words = nn.Embedding(words, size)
            self.encoder, self.cell = (
                nn.LSTM(size, size, batch_first=True),
                nn.LSTMCell(2 * size, size),
            )
            self.keys, self.query, self.score = (
                nn.Linear(size, size),
                nn.Linear(size, size),
                nn.Linear(size, 1),
            )
            self.head = nn.Linear(2 * size, words)

        def forward(self, source, target):
            memory, (h, c) = self.encoder(self.words(source))
            h, c, keys = h[0], c[0], self.keys(memory)
            context, out = torch.zeros_like(h), []
            for t in range(target.shape[1]):
                h, c = self.cell(torch.cat([self.words(target[:, t]), context], 1), (h, c))
                scores = self.score(torch.tanh(keys + self.query(h).unsqueeze(1))).squeeze(2)
                context = torch.bmm(F.softmax(scores, 1).unsqueeze(1), memory).squeeze(1)
                out.append(self.head(torch.cat([h, context], 1)))
            return torch.stack(out, 1)

    net = Net()
    a, b = torch.randint(0, 100, (16, 12)), torch.randint(0, 100, (16, 10))

    def loss():
        return F.cross_entropy(net(a, b).reshape(-1, 100), b.reshape(-1))

    return _step(torch, net.parameters(), loss)


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


def unet(torch):
    """A U-Net with group norm, SiLU, bilinear resizing and a Dice loss."""
    nn, F = torch.nn, torch.nn.functional

    def block(a, b):
        return nn.Sequential(
            nn.Conv2d(a, b, 3, padding=1),
            nn.GroupNorm(4, b),
            nn.SiLU(),
            nn.Conv2d(b, b, 3, padding=1),
            nn.GroupNorm(4, b),
            nn.SiLU(),
        )

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = block(3, 16), block(16, 32), block(48, 16)
            self.out = nn.Conv2d(16, 4, 1)

        def forward(self, x):
            a = self.a(x)
            b = self.b(F.max_pool2d(a, 2))
            b = F.interpolate(b, scale_factor=2, mode="bilinear", align_corners=False)
            return self.out(self.c(torch.cat([a, b], 1)))

    net = Net()
    x, y = torch.randn(4, 3, 32, 32), torch.randint(0, 4, (4, 32, 32))
    hot = F.one_hot(y, 4).permute(0, 3, 1, 2).float()

    def loss():
        scores = net(x)
        p = scores.softmax(1)
        dice = 1 - (2 * (p * hot).sum((2, 3)) + 1) / ((p + hot).sum((2, 3)) + 1)
        return F.cross_entropy(scores, y) + dice.mean()

    return _step(torch, net.parameters(), loss)


def pointnet(torch):
    """PointNet: 1 x 1 convolutions over points, batch norms, the largest over points, a learnt turn."""
    nn, F = torch.nn, torch.nn.functional

    def pointwise(*sizes):
        parts = []
        for a, b in pairwise(sizes):
            parts += [nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU()]
        return nn.Sequential(*parts)

    turn, first, second = pointwise(3, 32, 64), pointwise(3, 32), pointwise(32, 64, 128)
    matrix = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 9))
    head = nn.Sequential(
        nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.3), nn.Linear(64, 10)
    )
    x, y = torch.randn(16, 3, 128), torch.randint(0, 10, (16,))

    def loss():
        t = matrix(turn(x).max(2)[0]).view(-1, 3, 3) + torch.eye(3)
        h = second(first(torch.bmm(x.transpose(1, 2), t).transpose(1, 2)))
        out = F.log_softmax(head(h.max(2)[0]), 1)
        return (
            F.nll_loss(out, y)
            + 1e-3 * torch.norm(t @ t.transpose(1, 2) - torch.eye(3), dim=(1, 2)).mean()
        )

    parts = (turn, first, second, matrix, head)
    return _step(torch, [p for m in parts for p in m.parameters()], loss)


def graph_attention(torch):
    """Graph attention: a softmax over the edges of each node by scatter_reduce and index_add."""
    nn, F = torch.nn, torch.nn.functional

    class Layer(nn.Module):
        def __init__(self, a, b, heads):
            super().__init__()
            self.lin, self.heads, self.size = nn.Linear(a, heads * b, bias=False), heads, b
            self.into, self.of = (
                nn.Parameter(0.1 * torch.randn(heads, b)),
                nn.Parameter(0.1 * torch.randn(heads, b)),
            )

        def forward(self, x, src, dst):
            n = x.shape[0]
            h = self.lin(x).view(n, self.heads, self.size)
            e = F.leaky_relu((h * self.of).sum(-1)[src] + (h * self.into).sum(-1)[dst], 0.2)
            top = torch.full((n, self.heads), -1e9).scatter_reduce(
                0, dst.unsqueeze(1).expand_as(e), e, "amax"
            )
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
        return nn.Sequential(
            nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)
        )

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


def policy(torch):
    """An actor and a critic with the clipped loss of PPO."""
    nn = torch.nn
    body = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
    actor, critic = nn.Linear(64, 4), nn.Linear(64, 1)
    x, moves, gain = torch.randn(64, 8), torch.randint(0, 4, (64,)), torch.randn(64)
    wanted, before = torch.randn(64), -1.4 + 0.1 * torch.randn(64)

    def loss():
        h = body(x)
        d = torch.distributions.Categorical(logits=actor(h))
        ratio = (d.log_prob(moves) - before).exp()
        clipped = torch.clamp(ratio, 0.8, 1.2) * gain
        value = critic(h).squeeze(-1)
        return (
            -torch.min(ratio * gain, clipped).mean()
            + 0.5 * (value - wanted).pow(2).mean()
            - 0.01 * d.entropy().mean()
        )

    return _step(torch, [*body.parameters(), *actor.parameters(), *critic.parameters()], loss)


def separable(torch):
    """One-dimensional: dilated depthwise and pointwise convolutions, global norms, PReLU (a speech separator)."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, size, wide, dilation):
            super().__init__()
            self.a, self.b = (
                nn.Conv1d(size, wide, 1),
                nn.Conv1d(wide, wide, 3, padding=dilation, dilation=dilation, groups=wide),
            )
            self.c, self.p, self.q = nn.Conv1d(wide, size, 1), nn.PReLU(), nn.PReLU()
            self.n, self.m = nn.GroupNorm(1, wide), nn.GroupNorm(1, wide)

        def forward(self, x):
            return x + self.c(self.m(self.q(self.b(self.n(self.p(self.a(x)))))))

    into, out = nn.Conv1d(1, 32, 16, stride=8), nn.ConvTranspose1d(32, 1, 16, stride=8)
    body = nn.Sequential(*[Block(32, 64, 2**i) for i in range(4)])
    x, y = torch.randn(4, 1, 2048), torch.randn(4, 1, 2048)

    def loss():
        h = torch.relu(into(x))
        made = out(h * torch.sigmoid(body(h)))
        scale = (made * y).sum(-1, keepdim=True) / (y * y).sum(-1, keepdim=True)
        noise = made - scale * y
        return -10 * torch.log10((scale * y).pow(2).sum(-1) / noise.pow(2).sum(-1) + 1e-8).mean()

    return _step(torch, [*into.parameters(), *body.parameters(), *out.parameters()], loss)


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

    words, layers, norm = (
        nn.Embedding(100, 64),
        nn.ModuleList([Layer(64) for _ in range(2)]),
        Norm(64),
    )
    ids = torch.randint(0, 100, (8, 33))
    angles = torch.outer(torch.arange(32.0), 1e4 ** (-torch.arange(0, 16, 2) / 16.0))
    cos, sin = torch.cat([angles, angles], 1).cos(), torch.cat([angles, angles], 1).sin()

    def loss():
        x = words(ids[:, :-1])
        for layer in layers:
            x = layer(x, cos, sin)
        return F.cross_entropy((norm(x) @ words.weight.T).flatten(0, 1), ids[:, 1:].flatten())

    return _step(
        torch, [*words.parameters(), *layers.parameters(), *norm.parameters()], loss, "AdamW"
    )


def bags(torch):
    """A text classifier: bags of embeddings, two layers."""
    nn, F = torch.nn, torch.nn.functional
    words, head = (
        nn.EmbeddingBag(1000, 32, mode="mean"),
        nn.Sequential(nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 4)),
    )
    ids, starts, y = (
        torch.randint(0, 1000, (640,)),
        torch.arange(0, 640, 20),
        torch.randint(0, 4, (32,)),
    )
    return _step(
        torch,
        [*words.parameters(), *head.parameters()],
        lambda: F.cross_entropy(head(words(ids, starts)), y),
        "SGD",
    )


def flow(torch):
    """RealNVP: six affine couplings, the likelihood of a normal distribution."""
    nn = torch.nn
    nets = nn.ModuleList(
        [
            nn.Sequential(
                nn.Linear(8, 64),
                nn.LeakyReLU(),
                nn.Linear(64, 64),
                nn.LeakyReLU(),
                nn.Linear(64, 16),
            )
            for _ in range(6)
        ]
    )
    x = torch.randn(128, 16)

    def loss():
        z, log = x, 0
        for i, net in enumerate(nets):
            a, b = z.chunk(2, 1)
            if i % 2:
                a, b = b, a
            s, t = net(a).chunk(2, 1)
            s = torch.tanh(s)
            b = b * torch.exp(s) + t
            log = log + s.sum(1)
            z = torch.cat([b, a] if i % 2 else [a, b], 1)
        normal = torch.distributions.Normal(torch.zeros(16), torch.ones(16))
        return -(normal.log_prob(z).sum(1) + log).mean()

    return _step(torch, nets.parameters(), loss)


def words(torch):
    """An LSTM language model of two layers with dropout, tied weights and clipped gradients."""
    nn, F = torch.nn, torch.nn.functional
    table, layers, drop = nn.Embedding(200, 48), nn.LSTM(48, 48, 2, dropout=0.2), nn.Dropout(0.2)
    bias = nn.Parameter(torch.zeros(200))
    ids = torch.randint(0, 200, (25, 16))
    params = [*table.parameters(), *layers.parameters(), bias]
    opt = torch.optim.SGD(params, lr=0.5)

    def step():
        opt.zero_grad()
        out = drop(layers(drop(table(ids[:-1])))[0]) @ table.weight.T + bias
        loss = F.cross_entropy(out.view(-1, 200), ids[1:].view(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(params, 0.25)
        opt.step()
        return loss.detach()

    return step


def contrast(torch):
    """Contrastive pairs: two towers, L2 normalised, a temperature, cross entropy both ways."""
    nn, F = torch.nn, torch.nn.functional
    a = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 32))
    b = nn.Sequential(nn.Linear(48, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 32))
    scale = nn.Parameter(torch.tensor(2.0))
    x, y, at = torch.randn(64, 64), torch.randn(64, 48), torch.arange(64)

    def loss():
        scores = scale.exp() * F.normalize(a(x), dim=-1) @ F.normalize(b(y), dim=-1).T
        return (F.cross_entropy(scores, at) + F.cross_entropy(scores.T, at)) / 2

    return _step(torch, [*a.parameters(), *b.parameters(), scale], loss)


def dropped(torch):
    """nn.TransformerEncoder with GELU, dropout and a mask of padding."""
    nn, F = torch.nn, torch.nn.functional
    layer = nn.TransformerEncoderLayer(48, 4, 96, 0.1, "gelu", batch_first=True)
    body, head = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), nn.Linear(48, 5)
    x, y = torch.randn(8, 24, 48), torch.randint(0, 5, (8,))
    hidden = torch.arange(24).unsqueeze(0) >= torch.randint(12, 25, (8, 1))
    params = [*body.parameters(), *head.parameters()]
    return _step(
        torch,
        params,
        lambda: F.cross_entropy(head(body(x, src_key_padding_mask=hidden).mean(1)), y),
    )


ROWS = {f.__name__: f for f in (
    bert, mixer, convnext, depthwise, gru, cells, seq2seq, vae, unet, pointnet, graph_attention, dqn, policy, separable,
    llama, bags, flow, words, contrast, dropped,
)}  # fmt: skip
