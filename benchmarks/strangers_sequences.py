"""Small scripts over sequences and sets that stand in no other table; see strangers_rows.py."""

from __future__ import annotations

import math
import random

from strangers_rows import _kept, _step


def mamba(torch):
    """A selective scan written as a loop over time, with a causal depthwise convolution and gates."""
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, size, state):
            super().__init__()
            inner = 2 * size
            self.rank, self.state = 2, state
            self.norm = nn.RMSNorm(size)
            self.into = nn.Linear(size, 2 * inner, bias=False)
            self.conv = nn.Conv1d(inner, inner, 4, groups=inner, padding=3)
            self.x = nn.Linear(inner, self.rank + 2 * state, bias=False)
            self.dt = nn.Linear(self.rank, inner)
            self.log_a = nn.Parameter(
                torch.log(torch.arange(1, state + 1).float().repeat(inner, 1))
            )
            self.d = nn.Parameter(torch.ones(inner))
            self.out = nn.Linear(inner, size, bias=False)

        def forward(self, u):
            b, t, _ = u.shape
            x, gate = self.into(self.norm(u)).chunk(2, dim=-1)
            x = F.silu(self.conv(x.transpose(1, 2))[..., :t].transpose(1, 2))
            dt, bb, cc = self.x(x).split([self.rank, self.state, self.state], dim=-1)
            dt = F.softplus(self.dt(dt))
            a = -torch.exp(self.log_a.float())
            da = torch.exp(torch.einsum("btd,dn->btdn", dt, a))
            dbx = torch.einsum("btd,btn,btd->btdn", dt, bb, x)
            h, ys = torch.zeros(b, x.shape[-1], self.state), []
            for i in range(t):
                h = da[:, i] * h + dbx[:, i]
                ys.append(torch.einsum("bdn,bn->bd", h, cc[:, i]))
            y = torch.stack(ys, dim=1) + x * self.d
            return u + self.out(y * F.silu(gate))

    words = nn.Embedding(50, 16)
    body, head = nn.Sequential(Block(16, 4), Block(16, 4)), nn.Linear(16, 50, bias=False)
    head.weight = words.weight
    ids = torch.randint(0, 50, (4, 17))

    def loss():
        return F.cross_entropy(
            head(body(words(ids[:, :-1]))).reshape(-1, 50), ids[:, 1:].reshape(-1)
        )

    return _step(torch, [*words.parameters(), *body.parameters()], loss, "AdamW", betas=(0.9, 0.95))


def scan(torch):
    """A linear recurrence without a loop: cumulative sums of logarithms, and logcumsumexp (minGRU)."""
    nn, F = torch.nn, torch.nn.functional

    def g(x):
        return torch.where(x >= 0, (F.relu(x) + 0.5).log(), -F.softplus(-x))

    class MinGRU(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.both, self.norm = nn.Linear(size, 2 * size), nn.LayerNorm(size)

        def forward(self, x):
            h, z = self.both(self.norm(x)).chunk(2, -1)
            log_keep, log_new = -F.softplus(z), -F.softplus(-z) + g(h)
            a = F.pad(torch.cumsum(log_keep, dim=1), (0, 0, 1, 0))
            values = torch.cat([torch.full_like(x[:, :1], math.log(0.5)), log_new], dim=1)
            out = (a + torch.logcumsumexp(values - a, dim=1)).exp()
            return x + out[:, 1:]

    net = nn.Sequential(nn.Linear(4, 24), MinGRU(24), MinGRU(24), nn.Linear(24, 4))
    x = torch.randn(6, 40, 4).cumsum(1) * 0.1
    return _step(torch, net.parameters(), lambda: F.huber_loss(net(x[:, :-1]), x[:, 1:], delta=0.5))


def rwkv(torch):
    """RWKV: shifts in time, a running exponentially weighted mean that is kept from overflowing."""
    nn, F = torch.nn, torch.nn.functional

    class Mix(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.shift = nn.ZeroPad2d((0, 0, 1, -1))
            self.decay, self.first = (
                nn.Parameter(torch.linspace(-3, 1, size)),
                nn.Parameter(torch.full((size,), 0.3)),
            )
            self.mk, self.mv, self.mr = (nn.Parameter(torch.rand(1, 1, size)) for _ in range(3))
            self.k, self.v, self.r, self.o = (nn.Linear(size, size, bias=False) for _ in range(4))

        def forward(self, x):
            past = self.shift(x)
            k = self.k(x * self.mk + past * (1 - self.mk))
            v = self.v(x * self.mv + past * (1 - self.mv))
            r = torch.sigmoid(self.r(x * self.mr + past * (1 - self.mr)))
            w = -torch.exp(self.decay)
            up, down = torch.zeros_like(k[:, 0]), torch.zeros_like(k[:, 0])
            top, outs = torch.full_like(up, -1e38), []
            for t in range(x.shape[1]):
                kt, vt = k[:, t], v[:, t]
                q = torch.maximum(top, self.first + kt)
                a, b = torch.exp(top - q), torch.exp(self.first + kt - q)
                outs.append((a * up + b * vt) / (a * down + b))
                q = torch.maximum(top + w, kt)
                a, b = torch.exp(top + w - q), torch.exp(kt - q)
                up, down, top = a * up + b * vt, a * down + b, q
            return self.o(r * torch.stack(outs, 1))

    class Channel(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.k, self.r, self.v = (
                nn.Linear(size, 2 * size),
                nn.Linear(size, size),
                nn.Linear(2 * size, size),
            )

        def forward(self, x):
            return torch.sigmoid(self.r(x)) * self.v(torch.square(torch.relu(self.k(x))))

    words, norm1, norm2, head = (
        nn.Embedding(40, 24),
        nn.LayerNorm(24),
        nn.LayerNorm(24),
        nn.Linear(24, 40),
    )
    mix, channel = Mix(24), Channel(24)
    ids = torch.randint(0, 40, (4, 13))

    def loss():
        x = words(ids[:, :-1])
        x = x + mix(norm1(x))
        x = x + channel(norm2(x))
        return F.cross_entropy(head(x).permute(0, 2, 1), ids[:, 1:])

    parts = (words, norm1, norm2, head, mix, channel)
    return _step(torch, [p for m in parts for p in m.parameters()], loss)


def perceiver(torch):
    """Perceiver: learnt latents that look at many inputs with Fourier features, shared blocks."""
    nn, F = torch.nn, torch.nn.functional

    class Perceiver(nn.Module):
        def __init__(self, size=32):
            super().__init__()
            self.latents = nn.Parameter(torch.empty(12, size))
            nn.init.trunc_normal_(self.latents, std=0.02, a=-2.0, b=2.0)
            self.cross = nn.MultiheadAttention(size, 1, kdim=15, vdim=15, batch_first=True)
            self.inner = nn.TransformerEncoderLayer(
                size, 4, 64, 0.0, F.gelu, batch_first=True, norm_first=True
            )
            self.n1, self.n2 = nn.LayerNorm(size), nn.LayerNorm(15)
            self.head = nn.Linear(size, 5)

        def forward(self, x, where):
            bands = torch.linspace(1.0, 5.0, 3) * math.pi
            turned = where.unsqueeze(-1) * bands
            place = torch.cat([turned.sin(), turned.cos()], -1).flatten(-2)
            data = self.n2(torch.cat([x, place.expand(x.shape[0], -1, -1)], -1))
            z = self.latents.expand(x.size(0), -1, -1)
            for _ in range(2):
                z = z + self.cross(self.n1(z), data, data, need_weights=False)[0]
                z = self.inner(z)
            return self.head(z.mean(dim=1))

    net = Perceiver()
    side = torch.linspace(-1, 1, 10)
    where = torch.stack(torch.meshgrid(side, side, indexing="xy"), -1).view(100, 2)
    x, y = torch.randn(6, 100, 3), torch.randint(0, 5, (6,))
    return _step(torch, net.parameters(), lambda: F.cross_entropy(net(x, where), y), "RAdam")


def tacotron(torch):
    """A decoder that listens: a loop of cells with attention that knows where it looked, a stop sign."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self, size=24):
            super().__init__()
            self.letters = nn.Embedding(30, size, padding_idx=0)
            self.convs = nn.ModuleList(
                [
                    nn.Sequential(nn.Conv1d(size, size, 5, padding=2), nn.BatchNorm1d(size))
                    for _ in range(2)
                ]
            )
            self.lstm = nn.LSTM(size, size // 2, batch_first=True, bidirectional=True)
            self.pre = nn.Sequential(
                nn.Linear(8, 16), nn.ReLU(), nn.Dropout(0.5), nn.Linear(16, 16), nn.ReLU()
            )
            self.cell1, self.cell2 = nn.LSTMCell(16 + size, 32), nn.LSTMCell(32 + size, 32)
            self.query, self.memory = nn.Linear(32, 16, bias=False), nn.Linear(size, 16, bias=False)
            self.place, self.score = nn.Conv1d(2, 16, 7, padding=3, bias=False), nn.Linear(16, 1)
            self.frame, self.stop = nn.Linear(32 + size, 8), nn.Linear(32 + size, 1)

        def forward(self, text, lengths, goal):
            x = self.letters(text).transpose(1, 2)
            for conv in self.convs:
                x = F.dropout(F.relu(conv(x)), 0.1, self.training)
            packed = nn.utils.rnn.pack_padded_sequence(
                x.transpose(1, 2), lengths, batch_first=True, enforce_sorted=False
            )
            memory, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
            b, n, _ = memory.shape
            keys = self.memory(memory)
            hidden = torch.arange(n)[None, :] >= lengths[:, None]
            s1 = s2 = (memory.new_zeros(b, 32), memory.new_zeros(b, 32))
            weights, total = memory.new_zeros(b, n), memory.new_zeros(b, n)
            context = memory.new_zeros(b, memory.size(-1))
            frames, stops = [], []
            inputs = torch.cat([goal.new_zeros(b, 1, 8), goal[:, :-1]], 1)
            for t in range(goal.size(1)):
                s1 = self.cell1(torch.cat((self.pre(inputs[:, t]), context), -1), s1)
                where = self.place(torch.stack([weights, total], 1)).transpose(1, 2)
                e = self.score(torch.tanh(self.query(s1[0]).unsqueeze(1) + keys + where)).squeeze(
                    -1
                )
                weights = F.softmax(e.masked_fill(hidden, -1e9), dim=1)
                total = total + weights
                context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
                s2 = self.cell2(torch.cat((s1[0], context), -1), s2)
                both = torch.cat((s2[0], context), dim=1)
                frames.append(self.frame(both))
                stops.append(self.stop(both))
            return torch.stack(frames, 1), torch.cat(stops, 1)

    net = Net()
    lengths = torch.tensor([12, 7, 10, 9])
    text = torch.randint(1, 30, (4, 12)).masked_fill(torch.arange(12) >= lengths.unsqueeze(1), 0)
    goal, ends = torch.randn(4, 10, 8), torch.zeros(4, 10)
    ends[:, -1] = 1

    def loss():
        made, stop = net(text, lengths, goal)
        weight = torch.tensor(5.0)
        return F.mse_loss(made, goal) + F.binary_cross_entropy_with_logits(
            stop, ends, pos_weight=weight
        )

    return _step(torch, net.parameters(), loss, weight_decay=1e-6)


def crf(torch):
    """A tagger with a conditional random field: packed LSTM, the forward algorithm, Viterbi now and then."""
    nn = torch.nn
    words = nn.Embedding(80, 16, padding_idx=0)
    lstm, head = nn.LSTM(16, 16, num_layers=2, bidirectional=True, dropout=0.1), nn.Linear(32, 6)
    moves, start, end = (
        nn.Parameter(torch.randn(6, 6)),
        nn.Parameter(torch.randn(6)),
        nn.Parameter(torch.randn(6)),
    )
    lengths = torch.tensor([14, 11, 9, 5, 3])
    mask = torch.arange(14).unsqueeze(1) < lengths
    x, y = torch.randint(1, 80, (14, 5)) * mask, torch.randint(0, 6, (14, 5))
    calls = [0]

    def scores():
        packed = nn.utils.rnn.pack_padded_sequence(words(x), lengths)
        out, where = nn.utils.rnn.pad_packed_sequence(lstm(packed)[0])
        assert where.tolist() == lengths.tolist()
        return head(out)

    def loss():
        e = scores()
        total = start + e[0]
        gold = start[y[0]] + e[0].gather(1, y[0].unsqueeze(1)).squeeze(1)
        for t in range(1, 14):
            new = torch.logsumexp(total.unsqueeze(2) + moves + e[t].unsqueeze(1), dim=1)
            total = torch.where(mask[t].unsqueeze(1), new, total)
            gold = gold + (moves[y[t - 1], y[t]] + e[t, torch.arange(5), y[t]]) * mask[t]
        last = y[lengths - 1, torch.arange(5)]
        gold = gold + end[last]
        calls[0] += 1
        if calls[0] % 4 == 0:
            with torch.no_grad():
                best, back = start + e[0], []
                for t in range(1, 14):
                    best, at = (best.unsqueeze(2) + moves).max(1)
                    best = best + e[t]
                    back.append(at)
                path = [int((best + end)[0].argmax())]
                for at in reversed(back):
                    path.append(int(at[0, path[-1]]))
                assert len(path) == 14
        return (torch.logsumexp(total + end, dim=1) - gold).mean()

    params = [*words.parameters(), *lstm.parameters(), *head.parameters(), moves, start, end]
    return _step(torch, params, loss)


def beam(torch):
    """A small decoder that is trained one step and then asked for the best of three beams."""
    nn, F = torch.nn, torch.nn.functional

    class Net(nn.Module):
        def __init__(self, words=20, size=24):
            super().__init__()
            self.words, self.places = nn.Embedding(words, size), nn.Embedding(16, size)
            self.layer = nn.TransformerDecoderLayer(size, 2, 48, dropout=0.0, batch_first=True)
            self.head = nn.Linear(size, words)

        def forward(self, ids, memory):
            n = ids.size(1)
            x = self.words(ids) * math.sqrt(24) + self.places(torch.arange(n))
            mask = nn.Transformer.generate_square_subsequent_mask(n)
            return self.head(self.layer(x, memory, tgt_mask=mask, tgt_is_causal=True))

    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-9)
    memory, ids = torch.randn(4, 6, 24), torch.randint(2, 20, (4, 9))

    @torch.no_grad()
    def search(one, beams=3, length=6):
        net.eval()
        found, scores = torch.zeros(1, 1, dtype=torch.long), torch.zeros(1)
        done = []
        for _ in range(length):
            logp = F.log_softmax(net(found, one.expand(found.size(0), -1, -1))[:, -1], dim=-1)
            total, at = (scores.unsqueeze(1) + logp).view(-1).topk(beams)
            row, word = torch.div(at, 20, rounding_mode="floor"), at % 20
            found = torch.cat([found[row], word.unsqueeze(1)], dim=1)
            for i in range(beams):
                if word[i].item() == 1:
                    done.append((total[i].item(), found[i].tolist()))
            keep = word != 1
            found, scores = found[keep], total[keep]
            if found.numel() == 0:
                break
        net.train()
        done += [(s, f) for s, f in zip(scores.tolist(), found.tolist())]
        return max(done, key=lambda pair: pair[0] / len(pair[1]))

    def step():
        loss = F.cross_entropy(
            net(ids[:, :-1], memory).flatten(0, 1), ids[:, 1:].flatten(), ignore_index=0
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
        score, path = search(memory[:1])
        return loss.detach() + 1e-3 * score + 1e-6 * sum(path)

    return _kept(step, net.parameters())


def sets(torch):
    """Set transformer: induced points, pooling by attention, a mixture of normals as likelihood."""
    nn, F = torch.nn, torch.nn.functional

    class MAB(nn.Module):
        def __init__(self, q, k, size, heads):
            super().__init__()
            self.heads, self.size = heads, size
            self.q, self.k, self.v, self.o = (
                nn.Linear(q, size),
                nn.Linear(k, size),
                nn.Linear(k, size),
                nn.Linear(size, size),
            )
            self.n0, self.n1 = nn.LayerNorm(size), nn.LayerNorm(size)

        def forward(self, x, y):
            q, k, v = self.q(x), self.k(y), self.v(y)
            part = self.size // self.heads
            q_, k_, v_ = (torch.cat(t.split(part, 2), 0) for t in (q, k, v))
            a = torch.softmax(q_.bmm(k_.transpose(1, 2)) / math.sqrt(self.size), 2)
            o = self.n0(torch.cat((q_ + a.bmm(v_)).split(q.size(0), 0), 2))
            return self.n1(o + F.relu(self.o(o)))

    class Net(nn.Module):
        def __init__(self, size=24):
            super().__init__()
            self.points, self.seeds = (
                nn.Parameter(torch.empty(1, 6, size)),
                nn.Parameter(torch.empty(1, 3, size)),
            )
            nn.init.xavier_uniform_(self.points)
            nn.init.xavier_uniform_(self.seeds)
            self.a, self.b = MAB(size, 2, size, 4), MAB(2, size, size, 4)
            self.pool, self.out = MAB(size, size, size, 4), nn.Linear(size, 5)

        def forward(self, x):
            h = self.a(self.points.repeat(x.size(0), 1, 1), x)
            return self.out(self.pool(self.seeds.repeat(x.size(0), 1, 1), self.b(x, h)))

    net = Net()
    x = torch.randn(6, 40, 2) + torch.randint(-2, 3, (6, 40, 1))

    def loss():
        out = net(x)
        weight, mean, spread = (
            out[..., 0].log_softmax(-1),
            out[..., 1:3],
            F.softplus(out[..., 3:]) + 1e-2,
        )
        mixture = torch.distributions.MixtureSameFamily(
            torch.distributions.Categorical(logits=weight),
            torch.distributions.Independent(torch.distributions.Normal(mean, spread), 1),
        )
        return -mixture.log_prob(x.transpose(0, 1)).mean()

    return _step(torch, net.parameters(), loss)


def skipgram(torch):
    """word2vec: sparse gradients of two tables, negative samples by a multinomial, SparseAdam."""
    nn, F = torch.nn, torch.nn.functional
    centre, other = nn.Embedding(500, 24, sparse=True), nn.Embedding(500, 24, sparse=True)
    centre.weight.data.uniform_(-0.5 / 24, 0.5 / 24)
    nn.init.zeros_(other.weight)
    opt = torch.optim.SparseAdam([*centre.parameters(), *other.parameters()], lr=1e-2)
    counts = torch.rand(500).pow(0.75)
    u, v = torch.randint(0, 500, (400,)), torch.randint(0, 500, (400,))

    def step():
        at = torch.randint(0, 400, (64,))
        wrong = torch.multinomial(counts, 64 * 5, replacement=True).view(64, 5)
        a, b, c = centre(u[at]), other(v[at]), other(wrong)
        good = F.logsigmoid(torch.sum(a * b, dim=1).clamp(-10, 10))
        bad = F.logsigmoid(-torch.bmm(c, a.unsqueeze(2)).squeeze(2)).sum(1)
        loss = -(good + bad).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return _kept(step, [centre.weight, other.weight])


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


ROWS = {f.__name__: f for f in (
    mamba, scan, rwkv, perceiver, tacotron, crf, beam, sets, skipgram, speech, delta_rule,
    trees, tape, tcn, wavenet,
)}  # fmt: skip
