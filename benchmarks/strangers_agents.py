"""Small scripts of agents and learners that stand in no other table; see strangers_rows.py."""

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
                rows.append((state, move, d.log_prob(move).sum(-1), critic(state).squeeze(-1), -after.norm(dim=-1)))
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

    return _kept(step, [*actor.parameters(), *q1.parameters(), *q2.parameters(), heat, *t1.parameters()])


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
        each = func.vmap(task, in_dims=(None, 0, 0, 0, 0))(params, x[:, :10], y[:, :10], x[:, 10:], y[:, 10:])
        loss = each.mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
        return loss.detach()

    return _kept(step, net.parameters())


ROWS = {f.__name__: f for f in (ppo, soft_actor, maml)}
