"""Loops of models and methods: games, generation, distillation, diffusion, solvers, nested and interleaved ones."""

# ruff: noqa: E731, E741, B023, B007, B904, B018, F841, E702, C408, N801, N806
from __future__ import annotations

import collections
import random

import numpy as np

import rushlight as rl
from attacks_on_loops.common import attack, data, descend, learn, mlp, see, sets, step
from rushlight import nn, optim
from rushlight.nn import functional as F
from rushlight.utils.data import DataLoader


@attack
def lbfgs(net, log):
    opt = optim.LBFGS(net.parameters(), lr=0.1, max_iter=4)
    for x, y in data(10):

        def closure():
            opt.zero_grad()
            l = F.cross_entropy(net(x), y)
            l.backward()
            return l

        log.append(float(opt.step(closure)))
    return (log, see(net))


@attack
def rl_loop():
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 2))
    opt = optim.Adam(net.parameters(), lr=0.01)
    log = []
    for ep in range(5):
        s = np.array([0.1, 0.2, 0.3], "f4")
        lps = []
        rs = []
        for t in range(30):
            pr = F.softmax(net(rl.from_numpy(s)), -1)
            d = rl.distributions.Categorical(pr)
            a = d.sample()
            lps.append(d.log_prob(a))
            s = s * 0.9 + 0.1 * (a.item() - 0.5)
            s = s.astype("f4")
            rs.append(float(s[0]))
            if s[1] < 0.06:
                break
        G = 0
        ret = []
        for r in reversed(rs):
            G = r + 0.9 * G
            ret.insert(0, G)
        ret = rl.tensor(ret)
        ret = (ret - ret.mean()) / (ret.std() + 1e-06)
        loss = -(rl.stack(lps) * ret).sum()
        descend(opt, loss)
        log.append((loss.item(), t))
    return (log, see(net, opt))


@attack
def replay_buffer():
    q, tg = (mlp(), mlp())
    tg.load_state_dict(q.state_dict())
    opt = optim.RMSprop(q.parameters(), lr=0.01)
    mem = collections.deque(maxlen=20)
    log = []
    s = rl.randn(1, 6)
    for i in range(60):
        a = (
            q(s).max(1).indices.view(1, 1)
            if random.random() > 0.3
            else rl.tensor([[random.randrange(3)]])
        )
        n = s * 0.9 + a.float() * 0.1 + rl.randn(1, 6) * 0.05
        r = n.sum(1)
        mem.append((s, a, n, r))
        s = n
        if len(mem) >= 8:
            b = random.sample(mem, 8)
            S, Aa, Nn, R = (rl.cat(c) for c in zip(*b))
            v = q(S).gather(1, Aa)
            with rl.no_grad():
                t = tg(Nn).max(1).values * 0.9 + R
            loss = F.smooth_l1_loss(v, t.unsqueeze(1))
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_value_(q.parameters(), 1)
            opt.step()
            log.append(loss.item() if i % 3 else None)
        sd = tg.state_dict()
        for k_, v_ in q.state_dict().items():
            sd[k_] = v_ * 0.05 + sd[k_] * 0.95
        tg.load_state_dict(sd)
    return (log, see(q, opt), see(tg))


@attack
def ppo():
    net = nn.Sequential(nn.Linear(6, 8), nn.Tanh())
    pi = nn.Linear(8, 3)
    vf = nn.Linear(8, 1)
    ps = [*net.parameters(), *pi.parameters(), *vf.parameters()]
    opt = optim.Adam(ps, lr=0.01)
    log = []
    for it in range(2):
        obs = rl.randn(16, 6)
        with rl.no_grad():
            h = net(obs)
            d = rl.distributions.Categorical(logits=pi(h))
            a = d.sample()
            lp0 = d.log_prob(a)
            adv = rl.randn(16) - vf(h)[:, 0]
        for ep in range(3):
            for idx in rl.randperm(16).split(4):
                h = net(obs[idx])
                d = rl.distributions.Categorical(logits=pi(h))
                r = (d.log_prob(a[idx]) - lp0[idx]).exp()
                A_ = adv[idx]
                A_ = (A_ - A_.mean()) / (A_.std() + 1e-08)
                loss = (
                    -rl.min(r * A_, r.clamp(0.8, 1.2) * A_).mean()
                    + 0.5 * ((vf(h)[:, 0] - adv[idx]) ** 2).mean()
                    - 0.01 * d.entropy().mean()
                )
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(ps, 0.5)
                opt.step()
                log.append((r - 1 - r.log()).mean().item())
                if log[-1] > 0.5:
                    break
    return (log, [p.detach() for p in ps])


@attack
def masks(net, opt, log):
    for i, (x, y) in enumerate(data(40)):
        opt.zero_grad()
        o = net(x)
        m = y > 0
        if m.any():
            loss = F.cross_entropy(o[m], y[m])
        else:
            loss = o.sum() * 0
        loss.backward()
        opt.step()
        log.append((loss.item(), rl.nonzero(m).flatten().tolist(), o.detach()[m].shape))


@attack
def optimiser_of_results():
    """Optimising an input (style transfer, adversarial)."""
    net = mlp().requires_grad_(False)
    log = []
    x0, y = data(1)[0]
    img = x0.clone().requires_grad_()
    opt = optim.LBFGS([img], max_iter=3)
    run = [0]
    for k in range(8):

        def closure():
            with rl.no_grad():
                img.clamp_(-1, 1)
            opt.zero_grad()
            l = F.cross_entropy(net(img), y)
            l.backward()
            run[0] += 1
            return l

        log.append(opt.step(closure).item())
    adv = x0.clone()
    for k in range(20):
        a = adv.clone().detach().requires_grad_(True)
        l = F.cross_entropy(net(a), y)
        l.backward()
        adv = (adv + 0.05 * a.grad.sign()).clamp(-1, 1).detach()
        adv = rl.min(rl.max(adv, x0 - 0.2), x0 + 0.2)
        log.append(l.item())
    d = rl.zeros_like(x0, requires_grad=True)
    for k in range(20):
        l = -F.cross_entropy(net(x0 + d), y)
        l.backward()
        d.data = (d - 0.05 * d.grad.sign()).clamp(-0.2, 0.2).data
        d.grad.zero_()
        log.append(l.item())
    return (log, img.detach(), adv, d.detach(), run)


@attack
def sampler_weights(net, opt):
    d = sets()
    w = rl.ones(24)
    log = []
    for ep in range(5):
        for x, y in DataLoader(d, 4, sampler=rl.utils.data.WeightedRandomSampler(w, 24)):
            loss = step(net, opt, x, y, log)
        with rl.no_grad():
            w = F.cross_entropy(net(d.tensors[0]), d.tensors[1], reduction="none")
    return (log, w, see(net, opt))


@attack
def async_iter():
    import asyncio

    net = mlp()
    opt = optim.SGD(net.parameters(), lr=0.1)
    log = []

    async def feed():
        for b in data(40):
            await asyncio.sleep(0)
            yield b

    async def watch():
        for _ in range(20):
            await asyncio.sleep(0)
            log.append(float(net[0].weight.detach().sum()))

    async def go():
        t = asyncio.create_task(watch())
        async for x, y in feed():
            opt.zero_grad()
            o = net(x)
            await asyncio.sleep(0)
            loss = learn(opt, o, y, log)
        await t

    asyncio.run(go())
    return (log, see(net, opt))


@attack
def diffusion():
    net = nn.Sequential(nn.Linear(7, 16), nn.SiLU(), nn.Linear(16, 6))
    opt = optim.AdamW(net.parameters(), lr=0.01)
    ab = rl.cumprod(1 - rl.linspace(0.001, 0.2, 20), 0)
    log = []
    for i, (x, _) in enumerate(data(40)):
        t = rl.randint(0, 20, (4,))
        a = ab[t][:, None]
        n = rl.randn_like(x)
        z = a.sqrt() * x + (1 - a).sqrt() * n
        loss = F.mse_loss(net(rl.cat([z, t[:, None] / 20], 1)), n)
        descend(opt, loss, log)
    with rl.no_grad():
        for rep in range(3):
            z = rl.randn(4, 6)
            for t in reversed(range(20)):
                e = net(rl.cat([z, rl.full((4, 1), t / 20)], 1))
                z = (z - (1 - ab[t]).sqrt() * e) / ab[t].sqrt() + (
                    rl.randn_like(z) * 0.1 if t else 0
                )
            log.append(z)
    return (log, see(net, opt))


@attack
def tbptt():
    c = nn.LSTMCell(6, 5)
    hd = nn.Linear(5, 3)
    ps = [*c.parameters(), *hd.parameters()]
    opt = optim.Adam(ps, lr=0.01)
    log = []
    h = rl.zeros(4, 5)
    s = rl.zeros(4, 5)
    loss = 0
    for i, (x, y) in enumerate(data(60)):
        h, s = c(x, (h, s))
        loss = loss + F.cross_entropy(hd(h), y)
        if i % 5 == 4:
            descend(opt, loss, log)
            h, s = (h.detach(), s.detach())
            loss = 0
        if i == 31:
            h = h.detach().clone()
            h[0] = 0
    return (log, h, s, [p.detach() for p in ps])


@attack
def beam():
    E = nn.Embedding(9, 6)
    g = nn.GRUCell(6, 6)
    o = nn.Linear(6, 9)
    log = []
    with rl.no_grad():
        for s in range(5):
            h = rl.zeros(3, 6)
            t = rl.full((3,), s)
            sc = rl.tensor([0.0, -1000000000.0, -1000000000.0])
            seq = rl.zeros(3, 0, dtype=rl.long)
            for k in range(8):
                h = g(E(t), h)
                lp = o(h).log_softmax(-1) + sc[:, None]
                sc, ix = lp.flatten().topk(3)
                b = ix // 9
                t = ix % 9
                h = h[b]
                seq = rl.cat([seq[b], t[:, None]], 1)
                if (t == 0).all():
                    break
            log.append((seq, sc.tolist()))
    return log
