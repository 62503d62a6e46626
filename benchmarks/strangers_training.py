"""Small scripts with unusual ways of training that stand in no other table; see strangers_rows.py."""

from __future__ import annotations

import importlib
import math
import random

from strangers_rows import _kept, _mlp, _step


def codes(torch):
    """VQ-VAE: the nearest of a table of codes, straight through, the table by running means in buffers."""
    nn, F = torch.nn, torch.nn.functional

    class Codes(nn.Module):
        def __init__(self, count, size, decay=0.95):
            super().__init__()
            self.decay, self.count = decay, count
            table = torch.randn(count, size)
            self.register_buffer("table", table)
            self.register_buffer("used", torch.zeros(count))
            self.register_buffer("total", table.clone())

        def forward(self, z):  # z: (B, C, H, W)
            flat = z.permute(0, 2, 3, 1).reshape(-1, z.size(1))
            apart = (
                flat.pow(2).sum(1, keepdim=True)
                - 2 * flat @ self.table.t()
                + self.table.pow(2).sum(1)
            )
            at = apart.argmin(dim=1)
            hot = F.one_hot(at, self.count).type(flat.dtype)
            if self.training:
                with torch.no_grad():
                    self.used.mul_(self.decay).add_(hot.sum(0), alpha=1 - self.decay)
                    self.total.mul_(self.decay).add_(hot.t() @ flat, alpha=1 - self.decay)
                    n = self.used.sum()
                    size = (self.used + 1e-5) / (n + self.count * 1e-5) * n
                    self.table.copy_(self.total / size.unsqueeze(1))
            q = F.embedding(at, self.table).view(z.size(0), *z.shape[2:], -1).permute(0, 3, 1, 2)
            commit = F.mse_loss(z, q.detach())
            q = z + (q - z).detach()
            usage = hot.mean(0)
            perplexity = torch.exp(-torch.sum(usage * torch.log(usage + 1e-10)))
            return q, commit, perplexity

    down = nn.Sequential(nn.Conv2d(3, 16, 4, 2, 1), nn.ReLU(), nn.Conv2d(16, 8, 4, 2, 1))
    up = nn.Sequential(
        nn.ConvTranspose2d(8, 16, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(16, 3, 4, 2, 1), nn.Tanh()
    )
    vq = Codes(32, 8)
    x = torch.rand(8, 3, 16, 16) * 2 - 1

    def loss():
        q, commit, _ = vq(down(x))
        return F.mse_loss(up(q), x) + 0.25 * commit

    step = _step(torch, [*down.parameters(), *up.parameters()], loss)
    return _kept(step, [*step.kept, *vq.buffers()])


def spikes(torch):
    """Leaky neurons that fire, their derivative by a substitute of one's own."""
    nn, F = torch.nn, torch.nn.functional

    class Fire(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return (x > 0).float()

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad / (10.0 * x.abs() + 1.0) ** 2

    fire = Fire.apply
    a, b = nn.Linear(40, 48), nn.Linear(48, 6)
    beta = nn.Parameter(torch.tensor(0.9))
    rate, y = torch.rand(16, 40), torch.randint(0, 6, (16,))

    def loss():
        m1, m2 = torch.zeros(16, 48), torch.zeros(16, 6)
        counts = 0
        for _ in range(8):
            s = torch.bernoulli(rate)
            m1 = beta * m1 + a(s)
            s1 = fire(m1 - 1.0)
            m1 = m1 - s1.detach()
            m2 = beta.clamp(0, 1) * m2 + b(s1)
            s2 = fire(m2 - 1.0)
            m2 = m2 * (1 - s2.detach())
            counts = counts + s2
        return F.cross_entropy(counts, y) + 1e-3 * counts.sum()

    return _step(torch, [*a.parameters(), *b.parameters(), beta], loss, "Adamax")


def half(torch):
    """Autocast to bfloat16 on the CPU with a scaler that is switched off, accumulation over four parts."""
    nn, F = torch.nn, torch.nn.functional
    net = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.GELU(), nn.MaxPool2d(2),
                        nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.GELU(), nn.AdaptiveAvgPool2d(2),
                        nn.Flatten(), nn.LayerNorm(128), nn.Linear(128, 10))  # fmt: skip
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    kind = "cuda" if torch.tensor(0).is_cuda else "cpu"
    scaler = torch.amp.GradScaler(kind, enabled=False)
    x, y = torch.randn(16, 3, 16, 16), torch.randint(0, 10, (16,))

    def step():
        total = 0.0
        opt.zero_grad(set_to_none=True)
        for a, b in zip(x.chunk(2), y.chunk(2)):
            with torch.autocast(device_type=kind, dtype=torch.bfloat16):
                out = net(a)
                loss = F.cross_entropy(out, b) / 2
            scaler.scale(loss).backward()
            total += loss.item()
        scaler.unscale_(opt)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        scaler.step(opt)
        scaler.update()
        return torch.tensor(total)

    return _kept(step, net.parameters())


def recomputed(torch):
    """Blocks that are computed again in the backward pass, with dropout, in both ways of checkpoint."""
    nn, F = torch.nn, torch.nn.functional
    checkpoint = torch.utils.checkpoint

    class Block(nn.Module):
        def __init__(self, size):
            super().__init__()
            self.norm = nn.LayerNorm(size)
            self.body = nn.Sequential(
                nn.Linear(size, 2 * size), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * size, size)
            )

        def forward(self, x):
            return x + self.body(self.norm(x))

    blocks, head = nn.ModuleList([Block(32) for _ in range(4)]), nn.Linear(32, 5)
    tail = nn.Sequential(*[nn.Sequential(nn.Linear(32, 32), nn.ReLU()) for _ in range(4)])
    x, y = torch.randn(24, 32), torch.randint(0, 5, (24,))

    def loss():
        h = x
        for i, block in enumerate(blocks):
            h = checkpoint.checkpoint(block, h, use_reentrant=False) if i % 2 else block(h)
        h = checkpoint.checkpoint_sequential(tail, 2, h, use_reentrant=False)
        return F.multi_margin_loss(head(h), y)

    return _step(torch, [*blocks.parameters(), *head.parameters(), *tail.parameters()], loss)


def critic(torch):
    """A Wasserstein GAN with a penalty of gradients, spectral norms, and a running mean of the generator."""
    nn = torch.nn
    utils = torch.nn.utils.parametrizations
    gen = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))
    disc = nn.Sequential(utils.spectral_norm(nn.Linear(2, 32)), nn.LeakyReLU(0.2),
                         utils.spectral_norm(nn.Linear(32, 32)), nn.LeakyReLU(0.2), nn.Linear(32, 1))  # fmt: skip
    og = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.9))
    od = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.9))
    mean = torch.optim.swa_utils.AveragedModel(
        gen, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99)
    )
    data = torch.randn(256, 2) * 0.2 + torch.tensor([1.0, -1.0])

    def step():
        for _ in range(2):
            real = data[torch.randint(0, 256, (32,))]
            fake = gen(torch.randn(32, 8)).detach()
            mix = torch.rand(32, 1)
            between = (mix * real + (1 - mix) * fake).requires_grad_(True)
            slope = torch.autograd.grad(disc(between).sum(), between, create_graph=True)[0]
            penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
            loss = disc(fake).mean() - disc(real).mean() + 10 * penalty
            od.zero_grad()
            loss.backward()
            od.step()
        for p in disc.parameters():
            p.requires_grad_(False)
        og.zero_grad()
        made = -disc(gen(torch.randn(32, 8))).mean()
        made.backward()
        og.step()
        for p in disc.parameters():
            p.requires_grad_(True)
        mean.update_parameters(gen)
        return loss.detach() + made.detach()

    return _kept(step, [*gen.parameters(), *disc.parameters(), *mean.parameters()])


def pruned(torch):
    """Weights that are pruned as training goes on, with masks and a mean of weights (SWA) at the end."""
    nn, F = torch.nn, torch.nn.functional
    prune = importlib.import_module(f"{torch.__name__}.nn.utils.prune")
    swa = torch.optim.swa_utils
    net = nn.Sequential(
        nn.Linear(20, 40), nn.BatchNorm1d(40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU()
    )
    head = nn.Sequential(nn.Linear(40, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))
    prune.l1_unstructured(net[0], "weight", amount=0.3)
    prune.ln_structured(net[3], "weight", amount=0.25, n=2, dim=0)
    opt = torch.optim.SGD([*net.parameters(), *head.parameters()], lr=0.05, momentum=0.9)
    warm = torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=4)
    decay = torch.optim.lr_scheduler.ExponentialLR(opt, 0.95)
    plan = torch.optim.lr_scheduler.SequentialLR(opt, [warm, decay], milestones=[4])
    average, rest = swa.AveragedModel(head), swa.SWALR(opt, swa_lr=0.01, anneal_epochs=3)
    x, y = torch.randn(48, 20), torch.randint(0, 4, (48,))
    count = [0]

    def step():
        opt.zero_grad()
        loss = F.cross_entropy(head(net(x)), y)
        loss.backward()
        opt.step()
        count[0] += 1
        if count[0] > 8:
            average.update_parameters(head)
            rest.step()
        else:
            plan.step()
        if count[0] == 6:
            prune.global_unstructured(
                [(net[0], "weight"), (net[3], "weight")], prune.L1Unstructured, amount=0.2
            )
        if count[0] == 10:
            with torch.no_grad():
                swa.update_bn([net(x[:24]), net(x[24:])], average)
        return loss.detach()

    return _kept(
        step, [*net.parameters(), *net.buffers(), *head.parameters(), *average.parameters()]
    )


def lora(torch):
    """Low-rank adapters of a frozen network, merged and parted again by a parametrization."""
    nn, F = torch.nn, torch.nn.functional
    parametrize = torch.nn.utils.parametrize

    class LoRA(nn.Module):
        def __init__(self, i, o, rank=4, alpha=8):
            super().__init__()
            self.a, self.b = nn.Parameter(torch.zeros(rank, i)), nn.Parameter(torch.zeros(o, rank))
            nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))
            self.scale, self.enabled = alpha / rank, True

        def forward(self, w):
            return w + (self.b @ self.a).view(w.shape) * self.scale if self.enabled else w

    base = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    net = nn.Sequential(nn.Linear(10, 32), base, nn.Linear(32, 3))
    for p in net.parameters():
        p.requires_grad = False
    for m in (net[0], net[2], base.linear1, base.linear2, base.self_attn.out_proj):
        parametrize.register_parametrization(m, "weight", LoRA(m.in_features, m.out_features))
    params = [p for p in net.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(params, lr=5e-3, weight_decay=0.01)
    x, y = torch.randn(12, 7, 10), torch.randint(0, 3, (12, 7))
    calls = [0]

    def step():
        net.train()
        with parametrize.cached():
            loss = F.cross_entropy(net(x).movedim(-1, 1), y)
        loss.backward()
        opt.step()
        opt.zero_grad()
        calls[0] += 1
        if calls[0] % 5 == 0:
            for m in net.modules():
                if isinstance(m, LoRA):
                    m.enabled = False
            net.eval()
            with torch.inference_mode():
                before = net(x).argmax(-1).eq(y).float().mean()
            for m in net.modules():
                if isinstance(m, LoRA):
                    m.enabled = True
            return loss.detach() + 0 * before
        return loss.detach()

    return _kept(step, params)


def hyper(torch):
    """A network that makes another's weights, which is called by functional_call and stacked by vmap."""
    nn, F, func = torch.nn, torch.nn.functional, torch.func
    main = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    sizes = [(k, p.shape, p.numel()) for k, p in main.named_parameters()]
    total = sum(n for _, _, n in sizes)
    maker = nn.Sequential(nn.Linear(4, 32), nn.ELU(), nn.Linear(32, total))
    x, about, y = torch.randn(6, 10, 3), torch.randn(6, 4), torch.randn(6, 10, 1)

    def call(flat, x):
        parts = torch.split(flat, [n for _, _, n in sizes])
        return func.functional_call(
            main, {k: p.view(s) for (k, s, _), p in zip(sizes, parts)}, (x,)
        )

    def loss():
        flat = maker(about)
        return F.l1_loss(torch.vmap(call)(flat, x), y) + 1e-4 * flat.square().sum()

    return _step(torch, maker.parameters(), loss)


def private(torch):
    """Gradients of each row by vmap and grad, clipped one by one, with noise; ensembles stacked."""
    nn, F, func = torch.nn, torch.nn.functional, torch.func
    net = nn.Sequential(nn.Conv2d(1, 6, 3, 2), nn.ReLU(), nn.Flatten(), nn.Linear(54, 4))
    params = {k: v.detach() for k, v in net.named_parameters()}
    x, y = torch.randn(12, 1, 8, 8), torch.randint(0, 4, (12,))

    def loss_of(p, one, label):
        out = func.functional_call(net, p, (one.unsqueeze(0),))
        return F.cross_entropy(out, label.unsqueeze(0))

    each = func.vmap(func.grad_and_value(loss_of), in_dims=(None, 0, 0), randomness="different")

    def step():
        slopes, losses = each(params, x, y)
        size = torch.stack([g.flatten(1).norm(dim=1) for g in slopes.values()]).norm(dim=0)
        share = (0.5 / (size + 1e-6)).clamp(max=1.0)
        for k, g in slopes.items():
            mean = torch.einsum("n,n...->...", share, g) / 12
            params[k].sub_(0.1 * (mean + 0.01 * torch.randn_like(mean)))
        return losses.mean()

    return _kept(step, params.values())


def loaders(torch):
    """A loader with a sampler, workers' none, and rows of different lengths padded by a collate function."""
    nn, F, data = torch.nn, torch.nn.functional, torch.utils.data

    class Rows(data.Dataset):
        def __init__(self):
            self.rows = [
                torch.randint(1, 40, (int(n),), device="cpu")
                for n in torch.randint(3, 12, (96,), device="cpu")
            ]
            self.labels = torch.randint(0, 3, (96,), device="cpu").tolist()

        def __len__(self):
            return len(self.rows)

        def __getitem__(self, i):
            return self.rows[i], self.labels[i]

    def collate(batch):
        rows, labels = zip(*batch)
        lengths = torch.tensor([len(r) for r in rows], device="cpu")
        return (
            nn.utils.rnn.pad_sequence(rows, batch_first=True),
            lengths,
            torch.tensor(labels, device="cpu"),
        )

    rows = Rows()
    train, test = data.random_split(rows, [80, 16], generator=torch.Generator().manual_seed(1))
    weights = [1.0 + rows.labels[i] for i in train.indices]
    sampler = data.WeightedRandomSampler(
        weights, len(weights), generator=torch.Generator().manual_seed(2)
    )
    loader = data.DataLoader(
        train, batch_size=16, sampler=sampler, collate_fn=collate, drop_last=True
    )
    tests = data.DataLoader(test, batch_size=8, collate_fn=collate)
    words, gru, head = (
        nn.Embedding(40, 12, padding_idx=0),
        nn.GRU(12, 16, batch_first=True),
        nn.Linear(16, 3),
    )
    params = [*words.parameters(), *gru.parameters(), *head.parameters()]
    opt = torch.optim.Adagrad(params, lr=0.05)
    plan = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, factor=0.5, patience=1)
    where = torch.tensor(0).device

    def scores(x, lengths):
        packed = nn.utils.rnn.pack_padded_sequence(
            words(x.to(where)), lengths, batch_first=True, enforce_sorted=False
        )
        return head(gru(packed)[1][-1])

    def step():
        total = 0.0
        for x, lengths, y in loader:
            loss = F.cross_entropy(
                scores(x, lengths), y.to(where), weight=torch.tensor([1.0, 0.7, 0.5])
            )
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
        right = 0
        with torch.no_grad():
            for x, lengths, y in tests:
                right += (scores(x, lengths).argmax(1).cpu() == y).sum().item()
        plan.step(total)
        return torch.tensor(total / 80 + 1e-3 * right)

    return _kept(step, params)


def deformed(torch):
    """Convolutions that choose where they look: offsets, grid_sample, modulation, unfold and fold."""
    nn, F = torch.nn, torch.nn.functional

    class Deform(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.where, self.strength = (
                nn.Conv2d(i, 18, 3, padding=1),
                nn.Conv2d(i, 9, 3, padding=1),
            )
            nn.init.zeros_(self.where.weight)
            self.mix = nn.Conv2d(9 * i, o, 1)

        def forward(self, x):
            b, _c, h, w = x.shape
            ys, xs = torch.meshgrid(
                torch.linspace(-1, 1, h), torch.linspace(-1, 1, w), indexing="ij"
            )
            grid = torch.stack([xs, ys], -1)
            move = torch.tanh(self.where(x)).view(b, 9, 2, h, w).permute(0, 1, 3, 4, 2) * 0.3
            m = torch.sigmoid(self.strength(x)).unsqueeze(2)
            seen = [F.grid_sample(x, grid + move[:, k], mode="bilinear", padding_mode="border", align_corners=True)
                    for k in range(9)]  # fmt: skip
            return self.mix((torch.stack(seen, 1) * m).flatten(1, 2))

    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1),
        nn.InstanceNorm2d(8, affine=True),
        nn.Mish(),
        Deform(8, 12),
        nn.CELU(),
    )
    head = nn.Conv2d(12, 12, 1)
    x = torch.rand(4, 3, 16, 16)

    def loss():
        patches = F.unfold(head(net(x)), kernel_size=2, stride=2)
        back = F.fold(patches, (8, 8), 2, stride=2)
        out = F.pixel_shuffle(back, 2)
        return F.l1_loss(out, x) + 0.1 * (
            1 - F.cosine_similarity(out.flatten(1), x.flatten(1)).mean()
        )

    return _step(torch, [*net.parameters(), *head.parameters()], loss)


def routed(torch):
    """Experts of which each takes the rows that are sent to it: one_hot, cumsum, capacity, index_add."""
    nn, F = torch.nn, torch.nn.functional

    class Routed(nn.Module):
        def __init__(self, size, count):
            super().__init__()
            self.gate = nn.Linear(size, count, bias=False)
            self.experts = nn.ModuleList(
                [
                    nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))
                    for _ in range(count)
                ]
            )

        def forward(self, x):
            p = F.softmax(self.gate(x), dim=-1)
            top, at = p.max(dim=-1)
            hot = F.one_hot(at, len(self.experts))
            place = (hot.cumsum(0) * hot).sum(-1) - 1
            kept = place < 24
            out = torch.zeros_like(x)
            for i, expert in enumerate(self.experts):
                rows = torch.nonzero((at == i) & kept, as_tuple=True)[0]
                if rows.numel():
                    out.index_add_(0, rows, expert(x[rows]) * top[rows, None])
            balance = len(self.experts) * (hot.float().mean(0) * p.mean(0)).sum()
            return out, balance

    a, b, head = Routed(16, 4), Routed(16, 4), nn.Linear(16, 5)
    x, y = torch.randn(64, 16), torch.randint(0, 5, (64,))

    def loss():
        h, l1 = a(x)
        h = x + h
        g, l2 = b(h)
        return F.cross_entropy(head(h + g), y) + 0.01 * (l1 + l2)

    return _step(torch, [*a.parameters(), *b.parameters(), *head.parameters()], loss)


def diffusion(torch):
    """Noise that is learnt (DDPM): a table of betas, places in time, conditions that are dropped, then a few samples."""
    nn, F = torch.nn, torch.nn.functional
    betas = torch.linspace(1e-4, 0.02, 50)
    alphas = torch.cumprod(1 - betas, 0)

    class Net(nn.Module):
        def __init__(self, size=16):
            super().__init__()
            self.into, self.out = nn.Conv2d(1, size, 3, padding=1), nn.Conv2d(size, 1, 3, padding=1)
            self.time = nn.Sequential(nn.Linear(16, size), nn.SiLU(), nn.Linear(size, 2 * size))
            self.kind = nn.Embedding(5, 16)
            self.mid = nn.Conv2d(size, size, 3, padding=1, padding_mode="circular")
            self.norm = nn.GroupNorm(4, size)

        def forward(self, x, t, kind):
            f = torch.exp(-math.log(1e4) * torch.arange(8) / 8)
            e = torch.cat([(t[:, None] * f).sin(), (t[:, None] * f).cos()], -1)
            scale, shift = self.time(e + self.kind(kind))[:, :, None, None].chunk(2, 1)
            h = F.silu(self.into(x))
            return self.out(h + F.silu(self.norm(self.mid(h)) * (1 + scale) + shift))

    net = Net()
    opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
    plan = torch.optim.lr_scheduler.LambdaLR(opt, lambda i: min(1.0, (i + 1) / 10))
    x, kinds = torch.randn(12, 1, 8, 8), torch.randint(1, 5, (12,))
    calls = [0]

    def step():
        t = torch.randint(0, 50, (12,))
        noise = torch.randn_like(x)
        a = alphas[t].view(-1, 1, 1, 1)
        seen = a.sqrt() * x + (1 - a).sqrt() * noise
        kind = torch.where(torch.rand(12) < 0.1, torch.zeros_like(kinds), kinds)
        loss = F.mse_loss(net(seen, t, kind), noise)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        plan.step()
        calls[0] += 1
        if calls[0] % 4 == 0:
            net.eval()
            with torch.no_grad():
                z = torch.randn(2, 1, 8, 8)
                for i in range(49, -1, -10):
                    ti = torch.full((2,), i)
                    both = net(torch.cat([z, z]), ti.repeat(2), torch.tensor([1, 2, 0, 0]))
                    with_, without = both.chunk(2)
                    e = without + 2.0 * (with_ - without)
                    z = (z - betas[i] / (1 - alphas[i]).sqrt() * e) / (1 - betas[i]).sqrt()
                    if i > 0:
                        z += betas[i].sqrt() * torch.randn_like(z)
            net.train()
            return loss.detach() + 1e-4 * z.clamp(-3, 3).mean()
        return loss.detach()

    return _kept(step, net.parameters())


def sparse_codes(torch):
    """A sparse autoencoder: the largest few, neurons that died, columns kept at length 1."""
    nn, F = torch.nn, torch.nn.functional

    class SAE(nn.Module):
        def __init__(self, d=24, h=96, k=8):
            super().__init__()
            self.k = k
            self.bd = nn.Parameter(torch.zeros(d))
            self.be = nn.Parameter(torch.zeros(h))
            w = torch.randn(h, d)
            w = w / w.norm(dim=1, keepdim=True)
            self.Wd = nn.Parameter(w)
            self.We = nn.Parameter(w.t().clone())
            self.register_buffer("since", torch.zeros(h, dtype=torch.long))

        def forward(self, x):
            a = F.relu((x - self.bd) @ self.We + self.be)
            v, i = a.topk(self.k, -1)
            z = torch.zeros_like(a).scatter_(-1, i, v)
            return (z @ self.Wd + self.bd, z, a)

    net = SAE()
    opt = torch.optim.Adam(net.parameters(), lr=0.003)
    basis = torch.randn(48, 24)
    n = [0]

    def step():
        n[0] += 1
        x = torch.rand(128, 48) * (torch.rand(128, 48) < 0.1) @ basis
        r, z, a = net(x)
        l = (r - x).pow(2).sum(-1).mean() + 0.001 * a.abs().sum(-1).mean()
        dead = net.since > 2
        if dead.any():
            e = (x - r).detach()
            ad = a.masked_fill(~dead, 0.0)
            k = min(4, int(dead.sum()))
            v, i = ad.topk(k, -1)
            l = l + 0.03 * (torch.zeros_like(a).scatter(-1, i, v) @ net.Wd - e).pow(2).mean()
        opt.zero_grad()
        l.backward()
        with torch.no_grad():
            net.since += 1
            net.since[(z > 0).any(0)] = 0
            net.Wd.grad -= (net.Wd.grad * net.Wd).sum(1, keepdim=True) * net.Wd
        opt.step()
        with torch.no_grad():
            net.Wd /= net.Wd.norm(dim=1, keepdim=True)
        if n[0] == 6:
            with torch.no_grad():
                d = torch.where(net.since > 1)[0]
                if len(d):
                    net.We[:, d] = torch.randn(24, len(d)) * 0.1
                    net.be[d] = 0
                    st = opt.state[net.We]
                    st["exp_avg"][:, d] = 0
                    st["exp_avg_sq"][:, d] = 0
        return l.detach()

    return _kept(step, [*net.parameters(), net.since])


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


def quantised(torch):
    """Weights and inputs on a grid: a learnt step, observers in buffers, fake quantisation."""
    nn, F = torch.nn, torch.nn.functional

    class Round(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, s, lo, hi, g):
            ctx.save_for_backward(x, s)
            ctx.o = (lo, hi, g)
            return torch.clamp(torch.round(x / s), lo, hi) * s

        @staticmethod
        def backward(ctx, gy):
            x, s = ctx.saved_tensors
            lo, hi, g = ctx.o
            q = x / s
            a, b = (q < lo).float(), (q > hi).float()
            m = 1 - a - b
            gs = (a * lo + b * hi + m * (q.round() - q)) * gy * g
            return (m * gy, gs.sum().reshape(s.shape), None, None, None)

    class Q(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.l = nn.Linear(i, o)
            self.sw = nn.Parameter(self.l.weight.detach().abs().mean() * 2 / math.sqrt(7))
            self.register_buffer("lo", torch.tensor(0.0))
            self.register_buffer("hi", torch.tensor(0.0))
            self.register_buffer("on", torch.tensor(False))

        def forward(self, x):
            if self.training:
                with torch.no_grad():
                    a, b = torch.aminmax(x.detach())
                    self.lo.copy_(torch.where(self.on, 0.9 * self.lo + 0.1 * a, a))
                    self.hi.copy_(torch.where(self.on, 0.9 * self.hi + 0.1 * b, b))
                    self.on.fill_(True)
            sc = ((self.hi - self.lo) / 255).clamp(min=1e-08)
            zp = (-self.lo / sc).round().clamp(0, 255).to(torch.int32)
            x = torch.fake_quantize_per_tensor_affine(x, sc, zp, 0, 255)
            return F.linear(
                x,
                Round.apply(
                    self.l.weight, self.sw, -8, 7, 1 / math.sqrt(self.l.weight.numel() * 7)
                ),
                self.l.bias,
            )

    net = nn.Sequential(Q(10, 24), nn.ReLU6(), Q(24, 3))
    X = torch.randn(32, 10)
    Y = torch.randint(0, 3, (32,))
    s = _step(torch, net.parameters(), lambda: F.cross_entropy(net(X), Y), "SGD")
    s.kept = [*net.parameters(), *net.buffers()]
    return s


def surgery(torch):
    """Gradients of three tasks, each made not to work against the others."""
    nn, F = torch.nn, torch.nn.functional
    body = nn.Sequential(nn.Linear(10, 32), nn.Tanh())
    heads = nn.ModuleList([nn.Linear(32, 2) for _ in range(3)])
    X = torch.randn(40, 10)
    Y = torch.randn(3, 40, 2)
    P = [*body.parameters(), *heads.parameters()]
    opt = torch.optim.Adam(P, lr=0.003)
    rng = random.Random(1)

    def step():
        h = body(X)
        ls = [F.mse_loss(k(h), y) for k, y in zip(heads, Y)]
        gs = []
        for i, l in enumerate(ls):
            g = torch.autograd.grad(l, P, retain_graph=i < 2, allow_unused=True)
            gs.append(
                torch.cat(
                    [(torch.zeros_like(p) if v is None else v).flatten() for p, v in zip(P, g)]
                )
            )
        pc = [g.clone() for g in gs]
        for g in pc:
            o = list(gs)
            rng.shuffle(o)
            for b in o:
                d = torch.dot(g, b)
                if d < 0:
                    g -= d / b.norm() ** 2 * b
        m = torch.stack(pc).mean(0)
        i = 0
        for p in P:
            n = p.numel()
            p.grad = m[i : i + n].view_as(p)
            i += n
        opt.step()
        return sum(ls).detach()

    return _kept(step, P)


def newton(torch):
    """Truncated Newton: products with the Hessian inside of conjugate gradients, a line search."""
    nn, F = torch.nn, torch.nn.functional
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 3))
    X = torch.randn(50, 6)
    Y = torch.randint(0, 3, (50,))
    P = list(net.parameters())

    def step():
        l = F.cross_entropy(net(X), Y)
        g = torch.autograd.grad(l, P, create_graph=True)
        flat = torch.cat([v.reshape(-1) for v in g])

        def hvp(v):
            r = torch.autograd.grad(flat @ v, P, retain_graph=True)
            return torch.cat([x.reshape(-1) for x in r]) + 0.01 * v

        b = -flat.detach()
        x = torch.zeros_like(b)
        r = b.clone()
        p = r.clone()
        rs = r @ r
        for _ in range(8):
            Ap = hvp(p)
            pap = p @ Ap
            if pap.item() <= 0:
                break
            a = rs / pap
            x = x + a * p
            r = r - a * Ap
            nr = r @ r
            if nr.sqrt() < 0.001:
                break
            p = r + nr / rs * p
            rs = nr
        t = 1.0
        old = [q.detach().clone() for q in P]
        gd = float(flat.detach() @ x)
        while t > 0.001:
            with torch.no_grad():
                i = 0
                for q, o in zip(P, old):
                    n = q.numel()
                    q.copy_(o + t * x[i : i + n].view_as(q))
                    i += n
                if F.cross_entropy(net(X), Y) <= l + 0.0001 * t * gd:
                    break
            t *= 0.5
        return l.detach()

    return _kept(step, P)


def factors(torch):
    """Curvature in two factors from hooks, inverted by eigenvectors (K-FAC)."""
    nn, F = torch.nn, torch.nn.functional
    net = _mlp(torch, 8, 16, 4, act="Tanh")
    st = {}
    for m in net:
        if isinstance(m, nn.Linear):
            st[m] = dict(A=torch.eye(m.in_features + 1), G=torch.eye(m.out_features))
            m.register_forward_pre_hook(
                lambda m, i: st[m].__setitem__(
                    "a", torch.cat([i[0].detach(), torch.ones(i[0].shape[0], 1)], 1)
                )
            )
            m.register_full_backward_hook(lambda m, gi, go: st[m].__setitem__("g", go[0].detach()))
    X = torch.randn(40, 8)
    Y = torch.randint(0, 4, (40,))

    def step():
        l = F.cross_entropy(net(X), Y)
        net.zero_grad()
        l.backward()
        with torch.no_grad():
            for m, s in st.items():
                s["A"].mul_(0.9).add_(s["a"].t() @ s["a"] / 40, alpha=0.1)
                s["G"].lerp_(s["g"].t() @ s["g"] * 40, 0.1)
                da, qa = torch.linalg.eigh(s["A"] + 0.01 * torch.eye(len(s["A"])))
                dg, qg = torch.linalg.eigh(s["G"] + 0.01 * torch.eye(len(s["G"])))
                g = torch.cat([m.weight.grad, m.bias.grad[:, None]], 1)
                v = qg @ (qg.t() @ g @ qa / (dg[:, None] * da[None])) @ qa.t()
                v *= min(1.0, 0.1 / float(v.norm()))
                m.weight -= v[:, :-1]
                m.bias -= v[:, -1]
        return l.detach()

    return _kept(step, list(net.parameters()))


ROWS = {f.__name__: f for f in (
    codes, spikes, half, recomputed, critic, pruned, lora, hyper, private, loaders, deformed,
    routed, diffusion, sparse_codes, experts, quantised, surgery, newton, factors,
)}  # fmt: skip
