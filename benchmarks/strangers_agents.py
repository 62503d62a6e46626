"""Small scripts of agents, views and teachers that stand in no other table; see strangers_rows.py."""

from __future__ import annotations

import copy
import math

from strangers_rows import _kept, _mlp


def ppo(torch):
    """PPO whole: a rollout through an environment, GAE backwards in time, two epochs of shuffled batches."""
    nn = torch.nn
    actor, critic = _mlp(torch, 4, 32, 2, act="Tanh"), _mlp(torch, 4, 32, 1, act="Tanh")
    log_std = nn.Parameter(torch.zeros(2))
    params = [*actor.parameters(), *critic.parameters(), log_std]
    opt = torch.optim.Adam(params, lr=3e-4, eps=1e-5)
    drift = torch.randn(4, 4) * 0.3
    push = torch.randn(2, 4)

    def step():
        state, rows = torch.zeros(8, 4), []
        with torch.no_grad():
            for _ in range(8):
                d = torch.distributions.Normal(actor(state), log_std.exp())
                move = d.sample()
                after = torch.tanh(state @ drift + move @ push)
                rows.append(
                    (
                        state,
                        move,
                        d.log_prob(move).sum(-1),
                        critic(state).squeeze(-1),
                        -after.norm(dim=-1),
                    )
                )
                state = after
            last = critic(state).squeeze(-1)
        s, a, logp, v, r = (torch.stack(part) for part in zip(*rows))
        gains, running = torch.zeros_like(r), 0
        for t in reversed(range(8)):
            later = last if t == 7 else v[t + 1]
            delta = r[t] + 0.99 * later - v[t]
            gains[t] = running = delta + 0.99 * 0.95 * running
        wanted = gains + v
        s, a, logp, v, gains, wanted = (q.flatten(0, 1) for q in (s, a, logp, v, gains, wanted))
        total = 0.0
        for _ in range(2):
            for at in torch.randperm(64).split(32):
                d = torch.distributions.Normal(actor(s[at]), log_std.exp().expand(len(at), 2))
                g = gains[at]
                g = (g - g.mean()) / (g.std() + 1e-8)
                ratio = torch.exp(d.log_prob(a[at]).sum(-1) - logp[at])
                pg = torch.max(-g * ratio, -g * ratio.clamp(0.8, 1.2)).mean()
                value = critic(s[at]).squeeze(-1)
                kept = v[at] + (value - v[at]).clamp(-0.2, 0.2)
                vf = 0.5 * torch.maximum((value - wanted[at]) ** 2, (kept - wanted[at]) ** 2).mean()
                loss = pg + 0.5 * vf - 0.01 * d.entropy().sum(-1).mean()
                opt.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(params, 0.5)
                opt.step()
                total += loss.item()
        return torch.tensor(total)

    return _kept(step, params)


def soft_actor(torch):
    """Soft actor and critic: squashed normals, two critics, a learnt temperature, targets by averages."""
    F = torch.nn.functional
    actor, q1, q2 = _mlp(torch, 6, 48, 48, 4), _mlp(torch, 8, 48, 48, 1), _mlp(torch, 8, 48, 48, 1)
    t1, t2 = copy.deepcopy(q1).requires_grad_(False), copy.deepcopy(q2).requires_grad_(False)
    heat = torch.zeros(1, requires_grad=True)
    oa = torch.optim.Adam(actor.parameters(), lr=3e-4)
    oq = torch.optim.Adam([*q1.parameters(), *q2.parameters()], lr=1e-3)
    oh = torch.optim.Adam([heat], lr=1e-3)
    memory = {k: torch.randn(300, n) for k, n in (("s", 6), ("a", 2), ("n", 6), ("r", 1))}
    memory["d"] = (torch.rand(300, 1) < 0.05).float()

    def draw(s):
        mean, log = actor(s).chunk(2, dim=-1)
        d = torch.distributions.Normal(mean, log.clamp(-5, 2).exp())
        u = d.rsample()
        logp = d.log_prob(u).sum(-1, keepdim=True)
        logp = logp - (2 * (math.log(2) - u - F.softplus(-2 * u))).sum(1, keepdim=True)
        return torch.tanh(u), logp

    def step():
        at = torch.randint(300, (64,))
        b = {k: v[at] for k, v in memory.items()}
        with torch.no_grad():
            move, logp = draw(b["n"])
            both = torch.cat([b["n"], move], 1)
            v = torch.min(t1(both), t2(both)) - heat.exp() * logp
            goal = b["r"] + 0.99 * (1 - b["d"]) * v
        both = torch.cat([b["s"], b["a"]], 1)
        lq = F.mse_loss(q1(both), goal) + F.mse_loss(q2(both), goal)
        oq.zero_grad()
        lq.backward()
        oq.step()
        move, logp = draw(b["s"])
        both = torch.cat([b["s"], move], 1)
        la = (heat.exp().detach() * logp - torch.min(q1(both), q2(both))).mean()
        oa.zero_grad()
        la.backward()
        oa.step()
        lh = -(heat * (logp + 2.0).detach()).mean()
        oh.zero_grad()
        lh.backward()
        oh.step()
        with torch.no_grad():
            for target, own in ((t1, q1), (t2, q2)):
                for p, q in zip(target.parameters(), own.parameters()):
                    p.data.lerp_(q.data, 0.005)
        return lq.detach() + la.detach() + lh.detach()

    return _kept(
        step, [*actor.parameters(), *q1.parameters(), *q2.parameters(), heat, *t1.parameters()]
    )


def reinforce(torch):
    """REINFORCE with a baseline: a categorical policy with masked moves, returns from a list of rewards."""
    nn = torch.nn
    policy = _mlp(torch, 5, 32, 4)
    base = nn.Parameter(torch.zeros(1))
    opt = torch.optim.RMSprop(
        [{"params": policy.parameters()}, {"params": [base], "lr": 1e-2}], lr=1e-3
    )
    world = torch.randn(4, 5)

    def step():
        state, logs, rewards, entropies = torch.zeros(5), [], [], []
        for t in range(10):
            scores = policy(state)
            scores = scores.masked_fill(torch.arange(4) == t % 4, -1e9)
            d = torch.distributions.Categorical(logits=scores)
            move = d.sample()
            logs.append(d.log_prob(move))
            entropies.append(d.entropy())
            state = 0.9 * state + 0.1 * world[move]
            rewards.append(float(state.sum()))
        total, returns = 0.0, []
        for r in rewards[::-1]:
            total = r + 0.9 * total
            returns.insert(0, total)
        returns = torch.tensor(returns)
        gain = returns - base
        loss = (
            -(torch.stack(logs) * gain.detach()).sum()
            + gain.pow(2).mean()
            - 0.01 * torch.stack(entropies).sum()
        )
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return _kept(step, [*policy.parameters(), base])


def rainbow(torch):
    """Distributions of returns (C51) with duelling heads, noisy layers and weights of the replay."""
    nn, F = torch.nn, torch.nn.functional

    class Noisy(nn.Module):
        def __init__(self, i, o):
            super().__init__()
            self.w, self.b = nn.Parameter(torch.empty(o, i)), nn.Parameter(torch.empty(o))
            self.sw, self.sb = (
                nn.Parameter(torch.full((o, i), 0.5 / i**0.5)),
                nn.Parameter(torch.full((o,), 0.5 / i**0.5)),
            )
            self.register_buffer("ew", torch.zeros(o, i))
            self.register_buffer("eb", torch.zeros(o))
            nn.init.uniform_(self.w, -(i**-0.5), i**-0.5)
            nn.init.uniform_(self.b, -(i**-0.5), i**-0.5)

        @staticmethod
        def shape(n):
            x = torch.randn(n)
            return x.sign().mul_(x.abs().sqrt_())

        def draw(self):
            a, b = self.shape(self.w.size(1)), self.shape(self.w.size(0))
            self.ew.copy_(b.ger(a) if hasattr(b, "ger") else torch.outer(b, a))
            self.eb.copy_(b)

        def forward(self, x):
            if self.training:
                return F.linear(x, self.w + self.sw * self.ew, self.b + self.sb * self.eb)
            return F.linear(x, self.w, self.b)

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.body = nn.Sequential(nn.Linear(4, 32), nn.ReLU())
            self.v, self.a = Noisy(32, 21), Noisy(32, 3 * 21)

        def forward(self, x, log=False):
            h = self.body(x)
            v, a = self.v(h).view(-1, 1, 21), self.a(h).view(-1, 3, 21)
            q = v + a - a.mean(1, keepdim=True)
            return F.log_softmax(q, dim=2) if log else F.softmax(q, dim=2)

    net, old = Net(), Net()
    old.load_state_dict(net.state_dict())
    support = torch.linspace(-5, 5, 21)
    s, n, a = torch.randn(32, 4), torch.randn(32, 4), torch.randint(0, 3, (32,))
    r, weight = torch.randn(32), torch.rand(32)
    opt = torch.optim.Adam(net.parameters(), lr=1e-3, eps=1.5e-4)

    def step():
        net.v.draw(), net.a.draw(), old.v.draw(), old.a.draw()
        logs = net(s, log=True)[range(32), a]
        with torch.no_grad():
            best = (support * net(n)).sum(2).argmax(1)
            p = old(n)[range(32), best]
            tz = (r.unsqueeze(1) + 0.97 * support.unsqueeze(0)).clamp(min=-5, max=5)
            b = (tz + 5) / 0.5
            low, high = b.floor().to(torch.int64), b.ceil().to(torch.int64)
            low[(high > 0) * (low == high)] -= 1
            high[(low < 20) * (low == high)] += 1
            m = s.new_zeros(32, 21)
            offset = torch.linspace(0, 31 * 21, 32).unsqueeze(1).expand(32, 21).to(a)
            m.view(-1).index_add_(0, (low + offset).view(-1), (p * (high.float() - b)).view(-1))
            m.view(-1).index_add_(0, (high + offset).view(-1), (p * (b - low.float())).view(-1))
        each = -torch.sum(m * logs, 1)
        net.zero_grad()
        (weight * each).mean().backward()
        opt.step()
        return each.detach().mean()

    return _kept(step, net.parameters())


def byol(torch):
    """BYOL: two views, a predictor, a slow copy of the network with batch norms."""
    nn, F = torch.nn, torch.nn.functional
    online = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(inplace=True),
                           nn.Conv2d(8, 16, 3, 2, 1), nn.BatchNorm2d(16), nn.ReLU(inplace=True),
                           nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 24))  # fmt: skip
    predictor = nn.Sequential(
        nn.Linear(24, 32), nn.BatchNorm1d(32), nn.ReLU(inplace=True), nn.Linear(32, 24)
    )
    target = copy.deepcopy(online)
    for p in target.parameters():
        p.requires_grad_(False)
    params = [*online.parameters(), *predictor.parameters()]
    opt = torch.optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=1e-4)
    x = torch.rand(16, 3, 16, 16)

    def view():
        y = torch.where(torch.rand(16, 1, 1, 1) < 0.5, x.flip(-1), x)
        return (y * (0.8 + 0.4 * torch.rand(16, 1, 1, 1)) + 0.05 * torch.randn_like(y)).clamp(0, 1)

    def apart(p, z):
        return 2 - 2 * F.cosine_similarity(p, z.detach(), dim=-1)

    def step():
        a, b = view(), view()
        with torch.no_grad():
            for p, q in zip(online.parameters(), target.parameters()):
                q.data = q.data * 0.99 + p.data * 0.01
            za, zb = target(a), target(b)
        loss = (apart(predictor(online(a)), zb) + apart(predictor(online(b)), za)).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return _kept(step, [*params, *online.buffers()])


def barlow(torch):
    """Barlow twins: the correlation of two views, its diagonal and the rest; cosine schedule."""
    nn = torch.nn
    net = nn.Sequential(
        nn.Linear(32, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 48, bias=False)
    )
    norm = nn.BatchNorm1d(48, affine=False)
    opt = torch.optim.AdamW(net.parameters(), lr=2e-3)
    plan = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(opt, T_0=5, T_mult=2)
    x = torch.randn(64, 32)

    def rest(m):
        n, _ = m.shape
        return m.flatten()[:-1].view(n - 1, n + 1)[:, 1:].flatten()

    def step():
        a, b = (net(x + 0.2 * torch.randn_like(x)) for _ in range(2))
        c = norm(a).T @ norm(b)
        c.div_(64)
        on = torch.diagonal(c).add_(-1).pow_(2).sum()
        loss = on + 0.005 * rest(c).pow_(2).sum()
        opt.zero_grad()
        loss.backward()
        opt.step()
        plan.step()
        return loss.detach()

    return _kept(step, net.parameters())


def simclr(torch):
    """NT-Xent over two views with the diagonal masked out; LARS-like trust by hand."""
    nn, F = torch.nn, torch.nn.functional
    net = nn.Sequential(nn.Conv1d(2, 16, 5, 2, 2), nn.GroupNorm(4, 16), nn.ReLU(), nn.Conv1d(16, 16, 5, 2, 2),
                        nn.Flatten(), nn.Linear(128, 32), nn.ReLU(), nn.Linear(32, 16))  # fmt: skip
    x = torch.randn(24, 2, 32)
    opt = torch.optim.SGD(net.parameters(), lr=0.1)

    def step():
        views = torch.cat([x + 0.1 * torch.randn_like(x), x.roll(1, -1) * 0.9], 0)
        z = F.normalize(net(views), dim=1)
        like = z @ z.t() / 0.5
        own = torch.eye(48, dtype=torch.bool)
        like = like[~own].view(48, -1)
        labels = torch.cat([torch.arange(24) + 23, torch.arange(24)])
        loss = nn.CrossEntropyLoss()(like, labels)
        opt.zero_grad()
        loss.backward()
        with torch.no_grad():
            for p in net.parameters():
                size, slope = p.norm(), p.grad.norm()
                if size > 0 and slope > 0:
                    p.grad.mul_(0.02 * size / (slope + 1e-9))
        opt.step()
        return loss.detach()

    return _kept(step, net.parameters())


def distill(torch):
    """A pupil beside a teacher: temperatures, KL, hints by hooks on inner layers."""
    nn, F = torch.nn, torch.nn.functional
    teacher, pupil = _mlp(torch, 16, 64, 64, 10).eval(), _mlp(torch, 16, 24, 24, 10)
    adapter = nn.Linear(24, 64)
    seen = {}
    teacher[2].register_forward_hook(lambda m, i, o: seen.__setitem__("teacher", o.detach()))
    pupil[2].register_forward_hook(lambda m, i, o: seen.__setitem__("pupil", o))
    params = [*pupil.parameters(), *adapter.parameters()]
    opt = torch.optim.NAdam(params, lr=2e-3)
    plan = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=1e-2, total_steps=100_000)
    x, y = torch.randn(48, 16), torch.randint(0, 10, (48,))

    def step():
        with torch.no_grad():
            goal = teacher(x)
        out = pupil(x)
        soft = (
            nn.KLDivLoss(reduction="batchmean")(F.log_softmax(out / 4, 1), F.softmax(goal / 4, 1))
            * 16
        )
        hint = F.smooth_l1_loss(adapter(seen["pupil"]), seen["teacher"])
        loss = 0.7 * soft + 0.3 * F.cross_entropy(out, y) + 0.1 * hint
        opt.zero_grad()
        loss.backward()
        opt.step()
        plan.step()
        return loss.detach()

    return _kept(step, params)


def maml(torch):
    """MAML by torch.func: gradients through an inner step, over a batch of tasks by vmap."""
    F, func = torch.nn.functional, torch.func
    net = _mlp(torch, 1, 24, 24, 1)
    params = dict(net.named_parameters())
    opt = torch.optim.Adam(params.values(), lr=1e-3)

    def loss_of(p, x, y):
        return F.mse_loss(func.functional_call(net, p, (x,)), y)

    def task(p, x1, y1, x2, y2):
        slopes = func.grad(loss_of)(p, x1, y1)
        inner = {k: v - 0.1 * slopes[k] for k, v in p.items()}
        return loss_of(inner, x2, y2)

    def step():
        height, phase = torch.rand(8, 1, 1) * 4 + 0.1, torch.rand(8, 1, 1) * math.pi
        x = torch.rand(8, 20, 1) * 10 - 5
        y = height * torch.sin(x + phase)
        each = func.vmap(task, in_dims=(None, 0, 0, 0, 0))(
            params, x[:, :10], y[:, :10], x[:, 10:], y[:, 10:]
        )
        loss = each.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return _kept(step, net.parameters())


def reptile(torch):
    """Learning to learn in the old way: autograd.grad with a graph kept through three inner steps."""
    nn, F = torch.nn, torch.nn.functional
    w = [nn.Parameter(torch.randn(a, b) * 0.3) for a, b in ((20, 1), (20, 20), (1, 20))]
    b = [nn.Parameter(torch.zeros(a)) for a in (20, 20, 1)]
    rate = nn.Parameter(torch.full((6,), 0.05))
    opt = torch.optim.Adam([*w, *b, rate], lr=2e-3)

    def net(x, ps):
        for i in range(3):
            x = F.linear(x, ps[i], ps[3 + i])
            if i < 2:
                x = F.relu(x)
        return x

    def step():
        opt.zero_grad()
        total = 0
        for _ in range(3):
            height, phase = torch.empty(2).uniform_(0.5, 3.0).tolist()
            x = torch.empty(20, 1).uniform_(-5, 5)
            y = height * (x + phase).sin()
            fast = [*w, *b]
            for _ in range(3):
                slopes = torch.autograd.grad(
                    F.mse_loss(net(x[:10], fast), y[:10]), fast, create_graph=True
                )
                fast = [p - r * g for p, r, g in zip(fast, rate, slopes)]
            loss = F.mse_loss(net(x[10:], fast), y[10:]) / 3
            loss.backward()
            total = total + loss.detach()
        nn.utils.clip_grad_value_([*w, *b], 1.0)
        opt.step()
        return total

    return _kept(step, [*w, *b, rate])


def balance(torch):
    """Trajectories over a grid that are balanced (GFlowNet): masks, a loop until all are done."""
    nn, F = torch.nn, torch.nn.functional
    net = _mlp(torch, 12, 32, 3, act="LeakyReLU")
    logZ = nn.Parameter(torch.zeros(()))
    opt = torch.optim.Adam(
        [{"params": net.parameters(), "lr": 0.001}, {"params": [logZ], "lr": 0.1}]
    )

    def step():
        s = torch.zeros(16, 2, dtype=torch.long)
        done = torch.zeros(16, dtype=torch.bool)
        lpf = torch.zeros(16)
        lpb = torch.zeros(16)
        while not done.all():
            lg = net(F.one_hot(s, 6).flatten(1).float())
            m = torch.cat([s >= 5, torch.zeros(16, 1, dtype=torch.bool)], 1)
            lg = lg.masked_fill(m, -1000000000.0)
            a = torch.distributions.Categorical(logits=lg).sample()
            lp = lg.log_softmax(-1).gather(1, a[:, None])[:, 0]
            lpf = torch.where(done, lpf, lpf + lp)
            new = ~done & (a < 2)
            s = s + F.one_hot(a.clamp(max=1), 2) * new[:, None]
            lpb = lpb - torch.where(new, (s > 0).sum(1).clamp(min=1).float().log(), torch.zeros(16))
            done = done | (a == 2)
        r = (0.1 + ((s.float() / 5 - 0.5).abs() > 0.25).float().prod(1)).log()
        l = (logZ + lpf - r - lpb).pow(2).mean()
        opt.zero_grad()
        l.backward()
        opt.step()
        return l.detach()

    return _kept(step, [*net.parameters(), logZ])


ROWS = {f.__name__: f for f in (
    ppo, soft_actor, reinforce, rainbow, byol, barlow, simclr, distill, maml, reptile, balance,
)}  # fmt: skip
