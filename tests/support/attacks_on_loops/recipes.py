"""Recipes of training: augmented data, growing shapes, averages, schedules, norms of weights, metrics that are kept."""

# ruff: noqa: E731, B023, B007, F841, E702, N806
from __future__ import annotations

import numpy as np

import rushlight as rl
from attacks_on_loops.common import N, attack, data, descend, mlp, see, step
from rushlight import nn, optim
from rushlight.nn import functional as F
from rushlight.nn.utils import parametrizations, parametrize
from rushlight.optim import lr_scheduler as schedules
from rushlight.optim import swa_utils


def _convnet():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))  # fmt: skip


@attack
def curriculum():
    """Images and batches grow after every few iterations, then come back."""
    net, log = _convnet(), []
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for i in range(36):
        size, batch = (6, 8, 10, 6, 8, 6)[i // 6], (2, 2, 4, 2, 4, 2)[i // 6]
        x = rl.linspace(-1, 1, batch * size * size).view(batch, 1, size, size) * (i % 3)
        step(net, opt, x, rl.arange(batch) % 3, log)
    return log, see(net, opt)


@attack
def average_model_of_swa():
    net, log = mlp(bn=True), []
    opt = optim.SGD(net.parameters(), lr=0.2)
    swa = swa_utils.AveragedModel(net)
    ahead = schedules.CosineAnnealingLR(opt, T_max=10)
    behind = swa_utils.SWALR(opt, swa_lr=0.05, anneal_epochs=3)
    for i, (x, y) in enumerate(data(30)):
        step(net, opt, x, y, log)
        if i > 12:
            swa.update_parameters(net)
            behind.step()
        else:
            ahead.step()
    swa_utils.update_bn([x for x, _ in data(3)], swa)
    return log, see(swa), see(net, opt), opt.param_groups[0]["lr"]


@attack
def prioritised_replay():
    net, log = nn.Linear(6, 1), []
    opt = optim.Adam(net.parameters(), lr=0.05)
    states, wanted, weights = rl.randn(16, 6), rl.randn(16, 1), rl.ones(16)
    for i in range(N):
        chosen = rl.multinomial(weights, 4, replacement=False)
        off = net(states[chosen]) - wanted[chosen]
        loss = (off.squeeze(1) ** 2 * (1 / weights[chosen])).mean()
        descend(opt, loss)
        weights[chosen] = off.detach().abs().squeeze(1) + 1e-3
        states[i % 16] = rl.full((6,), i / 10)
        log.append(loss.item())
    return log, weights, states, see(net, opt)


@attack
def weight_norms(net, log):
    net[0] = parametrizations.weight_norm(net[0])
    opt = optim.SGD(net.parameters(), lr=0.1)
    for i, (x, y) in enumerate(data()):
        step(net, opt, x, y, log)
        if i == 12:
            parametrize.remove_parametrizations(net[0], "weight")
            opt = optim.SGD(net.parameters(), lr=0.1)
    return log, see(net, opt)


@attack
def spectral_norms(net, log):
    net[0] = parametrizations.spectral_norm(net[0])
    net[3] = nn.utils.spectral_norm(net[3])
    opt = optim.Adam(net.parameters(), lr=0.01)
    for i, (x, y) in enumerate(data()):
        step(net, opt, x, y, log)
        if i % 8 == 7:
            net.eval()
            log.append(net(x))
            net.train()
    return log, see(net, opt)


@attack
def parametrised_in_the_middle():
    class Symmetric(nn.Module):
        def forward(self, w):
            return w.triu() + w.triu(1).transpose(-1, -2)

    net, log = nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Linear(6, 3)), []
    opt = optim.SGD(net.parameters(), lr=0.1)
    for i, (x, y) in enumerate(data()):
        if i == 10:
            parametrize.register_parametrization(net[0], "weight", Symmetric())
        if i == 18:
            parametrize.remove_parametrizations(net[0], "weight", leave_parametrized=True)
        with parametrize.cached():
            step(net, opt, x, y, log)
    return log, see(net, opt)


@attack
def momentum_encoder_with_queue():
    """A queue of keys, its pointer a buffer, and a second network that follows the first."""
    net, keys, log = nn.Linear(6, 4), nn.Linear(6, 4), []
    keys.load_state_dict(net.state_dict())
    keys.requires_grad_(False)
    queue, at = F.normalize(rl.randn(4, 12), dim=0), rl.zeros(1, dtype=rl.long)
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for x, _ in data():
        q = F.normalize(net(x + 0.1 * rl.randn_like(x)), dim=1)
        with rl.no_grad():
            for a, b in zip(keys.parameters(), net.parameters()):
                a.lerp_(b, 0.1)
            k = F.normalize(keys(x), dim=1)
        near = (q * k).sum(1, keepdim=True)
        loss = F.cross_entropy(rl.cat([near, q @ queue.clone().detach()], 1) / 0.1, rl.zeros(4, dtype=rl.long))  # fmt: skip
        descend(opt, loss)
        p = int(at)
        queue[:, p : p + 4] = k.T
        at[0] = (p + 4) % 12
        log.append(loss.item())
    return log, queue, at, see(net, opt), see(keys)


@attack
def temperature_annealed(net, log):
    opt = optim.Adam(net.parameters(), lr=0.01)
    for i, (x, y) in enumerate(data()):
        tau = max(0.5, 2 * 0.9**i)
        soft = F.gumbel_softmax(net(x), tau=tau, hard=i % 3 == 2)
        loss = ((soft - F.one_hot(y, 3)) ** 2).mean()
        descend(opt, loss, log)
    return log, see(net, opt)


@attack
def packed_lengths():
    net, head, log = nn.LSTM(6, 5, batch_first=True), nn.Linear(5, 3), []
    opt = optim.SGD([*net.parameters(), *head.parameters()], lr=0.1)
    for i in range(16):
        lengths = [5, 4, 2] if i % 5 else [3, 3, 1]
        x = rl.linspace(-1, 1, 3 * 5 * 6).view(3, 5, 6)[:, : lengths[0]]
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        _, (h, _) = net(packed)
        loss = F.cross_entropy(head(h[-1]), rl.tensor([0, 1, 2]))
        descend(opt, loss, log)
    return log, see(net, opt), see(head)


@attack
def private_gradients(net, opt, log):
    for i, (x, y) in enumerate(data(16)):
        total = [rl.zeros_like(p) for p in net.parameters()]
        for k in range(4):
            opt.zero_grad()
            F.cross_entropy(net(x[k : k + 1]), y[k : k + 1]).backward()
            norm = rl.sqrt(sum(p.grad.pow(2).sum() for p in net.parameters()))
            for t, p in zip(total, net.parameters()):
                t.add_(p.grad * (1 / norm).clamp(max=1.0))
        for t, p in zip(total, net.parameters()):
            p.grad = (t + 0.1 * rl.randn_like(t)) / 4
        opt.step()
        log.append(norm.item())


@attack
def neurons_revived(net, log):
    opt = optim.Adam(net.parameters(), lr=0.05)
    for i, (x, y) in enumerate(data()):
        step(net, opt, x, y, log)
        if i % 6 == 5:
            with rl.no_grad():
                dead = (net[0](x).relu().sum(0) < 0.5).nonzero().squeeze(1)
                net[0].weight[dead] = 0.1
                opt.state[net[0].weight]["exp_avg"][dead] = 0
            log.append(dead.tolist())
    return log, see(net, opt)


@attack
def messages_on_a_graph():
    net, log = nn.ModuleList([nn.Linear(6, 6), nn.Linear(6, 3)]), []
    opt = optim.Adam(net.parameters(), lr=0.01)
    src, dst = rl.tensor([0, 1, 2, 3, 3, 1]), rl.tensor([1, 2, 3, 0, 1, 3])
    for i, (x, y) in enumerate(data()):
        keep = rl.arange(6) if i % 4 else rl.arange(5)
        h = x
        for layer in net:
            m = layer(h)
            h = rl.zeros_like(m).index_add_(0, dst[keep], m[src[keep]]) + m
        loss = F.cross_entropy(h, y)
        descend(opt, loss, log)
    return log, see(net, opt)


@attack
def hard_negatives(net, opt, log):
    for i, (x, y) in enumerate(data(size=6)):
        losses = F.cross_entropy(net(x), y, reduction="none")
        worst, _ = losses.topk(2 + i % 2)
        above = losses[losses > losses.detach().mean()]
        loss = worst.mean() + above.mean()
        descend(opt, loss)
        log.append((loss.item(), above.numel()))


@attack
def stacked_history():
    net, kept = mlp(), []
    opt = optim.SGD(net.parameters(), lr=0.1)
    means = []
    for x, y in data():
        loss = step(net, opt, x, y)
        kept.append(loss.detach())
        means.append(rl.stack(kept[-5:]).mean())
    return rl.stack(kept), rl.stack(means), see(net, opt)


@attack
def evolution(net, log):
    theta = nn.utils.parameters_to_vector(net.parameters()).detach()
    for i, (x, y) in enumerate(data(12)):
        noise = rl.randn(6, theta.numel())
        scores = []
        for n in noise:
            nn.utils.vector_to_parameters(theta + 0.1 * n, net.parameters())
            with rl.no_grad():
                scores.append(-F.cross_entropy(net(x), y))
        s = rl.stack(scores)
        theta = theta + 0.1 * ((s - s.mean()) @ noise)
        log.append(s.max().item())
    return log, theta, see(net)


@attack
def mapped_memory():
    import os
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        stored = np.memmap(os.path.join(folder, "x"), "f4", "w+", shape=(16, 6))
        stored[:] = np.linspace(-1, 1, 96).reshape(16, 6)
        x = rl.from_numpy(stored)
        net, log = mlp(), []
        opt = optim.SGD(net.parameters(), lr=0.1)
        for i in range(20):
            at = 4 * (i % 4)
            step(net, opt, x[at : at + 4], rl.tensor([0, 1, 2, 0]), log)
            stored[at] += 0.5  # between the iterations, and unseen
        found = see(net, opt)
        del x, stored
    return log, found


@attack
def frequencies():
    filt = rl.randn(4, dtype=rl.complex64).requires_grad_(True)
    log = []
    opt = optim.SGD([filt], lr=0.01)
    for x, _ in data():
        opt.zero_grad()
        y = rl.fft.irfft(rl.fft.rfft(x) * filt, n=6)
        loss = (y - x.flip(-1)).pow(2).mean()
        loss.backward()
        opt.step()
        log.append(loss.item())
    return log, filt.detach(), filt.grad


@attack
def labels_reweighted(net, opt, log):
    weight = rl.ones(3)
    for i, (x, y) in enumerate(data()):
        if i % 8 == 7:
            weight = weight * rl.tensor([1.0, 1.5, 0.5])
        smooth = 0.1 if i > 12 else 0.0
        step(net, opt, x, y, log, lambda o, t: F.cross_entropy(o, t, weight, label_smoothing=smooth))  # fmt: skip
