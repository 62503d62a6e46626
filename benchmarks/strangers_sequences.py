"""Small scripts over sequences and sets that stand in no other table; see strangers_rows.py."""

from __future__ import annotations

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
            self.log_a = nn.Parameter(torch.log(torch.arange(1, state + 1).float().repeat(inner, 1)))
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
        return F.cross_entropy(head(body(words(ids[:, :-1]))).reshape(-1, 50), ids[:, 1:].reshape(-1))

    return _step(torch, [*words.parameters(), *body.parameters()], loss, "AdamW", betas=(0.9, 0.95))


def crf(torch):
    """A tagger with a conditional random field: packed LSTM, the forward algorithm, Viterbi now and then."""
    nn = torch.nn
    words = nn.Embedding(80, 16, padding_idx=0)
    lstm, head = nn.LSTM(16, 16, num_layers=2, bidirectional=True, dropout=0.1), nn.Linear(32, 6)
    moves, start, end = (nn.Parameter(torch.randn(6, 6)), nn.Parameter(torch.randn(6)), nn.Parameter(torch.randn(6)))
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
    return _step(torch, net.parameters(), lambda: F.ctc_loss(net(x), target, frames, letters, zero_infinity=True))


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
    return _step(torch, net.parameters(), lambda: F.cross_entropy(torch.cat([net(t) for t in trees]), y), "Adagrad")


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


ROWS = {f.__name__: f for f in (mamba, crf, skipgram, speech, trees, wavenet)}
