"""Small scripts with unusual ways of training that stand in no other table; see strangers_rows.py."""

from __future__ import annotations

import math

from strangers_rows import _kept, _step


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
            self.body = nn.Sequential(nn.Linear(size, 2 * size), nn.GELU(), nn.Dropout(0.1), nn.Linear(2 * size, size))

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
    mean = torch.optim.swa_utils.AveragedModel(gen, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
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


def routed(torch):
    """Experts of which each takes the rows that are sent to it: one_hot, cumsum, capacity, index_add."""
    nn, F = torch.nn, torch.nn.functional

    class Routed(nn.Module):
        def __init__(self, size, count):
            super().__init__()
            self.gate = nn.Linear(size, count, bias=False)
            self.experts = nn.ModuleList(
                [nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size)) for _ in range(count)]
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


ROWS = {f.__name__: f for f in (half, recomputed, critic, lora, private, routed)}
