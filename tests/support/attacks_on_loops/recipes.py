"""Recipes of training: augmented data, growing shapes, averages, schedules, norms of weights, metrics that are kept."""

# ruff: noqa: E731, B023, B007, F841, E702, N806
from __future__ import annotations

import copy
import io
import random

import numpy as np

import rushlight as rl
from attacks_on_loops.common import N, attack, data, descend, each, mlp, see, step, train
from rushlight import nn, optim
from rushlight.nn import functional as F
from rushlight.nn.utils import parametrizations, parametrize
from rushlight.optim import lr_scheduler as schedules
from rushlight.optim import swa_utils
from rushlight.utils.data import DataLoader, Dataset, Subset, WeightedRandomSampler


def _images(n=N, size=8):
    r = np.random.default_rng(1)
    return [
        (rl.tensor(r.standard_normal((4, 1, size, size)).astype("f4")), rl.tensor(r.integers(0, 3, 4)))
        for _ in range(n)
    ]  # fmt: skip


def _convnet():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))  # fmt: skip


@attack
def augmented():
    net, log = _convnet(), []
    opt = optim.Adam(net.parameters(), lr=0.01)
    for x, y in _images():
        if rl.rand(1) < 0.5:
            x = x.flip(-1)
        dx, dy = random.randint(-1, 1), random.randint(-1, 1)
        x = rl.roll(F.pad(x, (1, 1, 1, 1)), (dx, dy), (2, 3)) + 0.1 * rl.randn_like(F.pad(x, (1, 1, 1, 1)))  # fmt: skip
        step(net, opt, x, y, log)
    return log, see(net, opt)


@attack
def mixed_up(net, opt, log):
    for x, y in data():
        lam = float(np.random.beta(0.4, 0.4))
        order = rl.randperm(4)
        mixed = lam * x + (1 - lam) * x[order]
        opt.zero_grad()
        out = net(mixed)
        loss = lam * F.cross_entropy(out, y) + (1 - lam) * F.cross_entropy(out, y[order])
        loss.backward()
        opt.step()
        log.append(loss.item())


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
def growing_network():
    net, log = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3)), []
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    for i, (x, y) in enumerate(data(32)):
        if i in (10, 20):
            new = nn.Linear(8, 8)
            with rl.no_grad():
                new.weight.copy_(rl.eye(8))
                new.bias.zero_()
            net.insert(2, new)
            opt.add_param_group({"params": new.parameters(), "lr": 0.05})
        step(net, opt, x, y, log)
    return log, see(net, opt), [len(g["params"]) for g in opt.param_groups]


@attack
def average_by_state_dict():
    net, log = mlp(bn=True), []
    opt = optim.SGD(net.parameters(), lr=0.1)
    mean = copy.deepcopy(net.state_dict())
    for i, (x, y) in enumerate(data()):
        step(net, opt, x, y, log)
        for k, v in net.state_dict().items():
            if v.dtype.is_floating_point:
                mean[k].mul_(0.9).add_(v, alpha=0.1)
            else:
                mean[k].copy_(v)
        if i == 15:
            kept = copy.deepcopy(net.state_dict())
            net.load_state_dict(mean)
            net.eval()
            log.append(net(x))
            net.train()
            net.load_state_dict(kept)
    return log, mean, see(net, opt)


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
def norms_clipped_and_kept():
    net, log, norms = mlp(), [], []
    opt = optim.AdamW(net.parameters(), lr=0.01)
    for i, (x, y) in enumerate(data()):
        opt.zero_grad()
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        norms.append(nn.utils.clip_grad_norm_(net.parameters(), 0.1 + 0.01 * i, foreach=None))
        if i % 4 == 3:
            nn.utils.clip_grad_value_(net.parameters(), 0.01)
        opt.step()
        log.append(loss.item())
    return log, rl.stack(norms), see(net, opt)


@attack
def thawed_layer_by_layer():
    net, log = nn.Sequential(*[m for _ in range(3) for m in (nn.Linear(6, 6), nn.Tanh())], nn.Linear(6, 3)), []  # fmt: skip
    net.requires_grad_(False)
    net[-1].requires_grad_(True)
    opt = optim.SGD([p for p in net.parameters() if p.requires_grad], lr=0.1)
    for i, (x, y) in enumerate(data(32)):
        if i in (8, 16, 24):
            layer = net[4 - 2 * (i // 8 - 1)]
            layer.requires_grad_(True)
            opt.add_param_group({"params": list(layer.parameters()), "lr": 0.1 / i})
        step(net, opt, x, y, log)
    return log, see(net, opt)


@attack
def warm_up_by_lambda():
    net, log, rates = mlp(), [], []
    opt = optim.SGD([{"params": net[0].parameters()}, {"params": net[3].parameters(), "lr": 0.2}], lr=0.1, momentum=0.8)  # fmt: skip
    warm = schedules.LambdaLR(opt, [lambda t: min(1, (t + 1) / 8), lambda t: 0.95**t])
    for x, y in data():
        step(net, opt, x, y, log)
        warm.step()
        rates.append(warm.get_last_lr())
    return log, rates, see(net, opt)


@attack
def one_cycle_with_momenta(net, log):
    opt = optim.SGD(net.parameters(), lr=0.1, momentum=0.9, nesterov=True)
    cycle = schedules.OneCycleLR(opt, max_lr=0.3, total_steps=N + 1)
    for x, y in data():
        step(net, opt, x, y, log)
        cycle.step()
        log.append((opt.param_groups[0]["lr"], opt.param_groups[0]["momentum"]))
    return log, see(net, opt)


@attack
def betas_cycled(net, log):
    opt = optim.Adam(net.parameters(), lr=0.01)
    for i, (x, y) in enumerate(data()):
        opt.param_groups[0]["betas"] = (0.85 + 0.01 * (i % 5), 0.999)
        if i == 13:
            opt.param_groups[0]["eps"] = 1e-3
        if i == 17:
            opt.param_groups[0]["weight_decay"] = 0.1
        step(net, opt, x, y, log)
    return log, see(net, opt)


@attack
def plateaus(net, log):
    opt = optim.SGD(net.parameters(), lr=0.5)
    plateau = schedules.ReduceLROnPlateau(opt, patience=1, factor=0.5)
    for x, y in data():
        plateau.step(step(net, opt, x, y, log))
    return log, opt.param_groups[0]["lr"], see(net, opt)


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
def rounded_straight_through(net, opt, log):
    scale = rl.tensor(8.0)
    for i, (x, y) in enumerate(data()):
        w = net[0].weight
        rounded = w + ((w * scale).round() / scale - w).detach()
        h = F.linear(x, rounded, net[0].bias).relu()
        loss = F.cross_entropy(net[3](h), y)
        descend(opt, loss)
        if i == 14:
            scale.mul_(2)
        log.append(loss.item())


@attack
def hidden_state_carried():
    cell, head, log = nn.GRUCell(6, 5), nn.Linear(5, 3), []
    opt = optim.Adam([*cell.parameters(), *head.parameters()], lr=0.01)
    h = rl.zeros(4, 5)
    for i, (x, y) in enumerate(data(30)):
        h = rl.zeros(4, 5) if i % 7 == 6 else h.detach()
        total = 0
        for _ in range(1 + i % 3):
            h = cell(x, h)
            total = total + F.cross_entropy(head(h), y)
        opt.zero_grad()
        total.backward()
        opt.step()
        log.append(total.item())
    return log, h, see(cell, opt), see(head)


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
def subsets_and_weights(net, opt, log):
    class Squares(Dataset):
        def __len__(self):
            return 18

        def __getitem__(self, i):
            return {"x": rl.full((6,), i / 18.0), "y": i % 3, "name": f"n{i}"}

    part = Subset(Squares(), range(2, 17))
    pick = WeightedRandomSampler([1 + i % 2 for i in range(15)], 15)
    for _ in range(4):
        for batch in DataLoader(part, 4, sampler=pick):
            step(net, opt, batch["x"], batch["y"], log)
            log.append(batch["name"])


@attack
def adversary_on_inputs(net, opt, log):
    for x, y in data():
        x = x.clone().requires_grad_(True)
        F.cross_entropy(net(x), y).backward()
        worse = (x + 0.1 * x.grad.sign()).clamp(-2, 2).detach()
        log.append(x.grad.abs().sum().item())
        step(net, opt, worse, y, log)


@attack
def picture_optimised(net, log):
    net.requires_grad_(False)
    picture = rl.randn(4, 6, requires_grad=True)
    opt = optim.Adam([picture], lr=0.1)
    for i in range(N):
        opt.zero_grad()
        loss = F.cross_entropy(net(picture), rl.tensor([0, 1, 2, 0])) + 0.01 * picture.abs().sum()
        loss.backward()
        opt.step()
        with rl.no_grad():
            picture.clamp_(-1, 1)
            if i == 12:
                picture[0] = 0
        log.append(loss.item())
    return log, picture.detach(), picture._version, list(opt.state.values())


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
def dropout_at_test():
    net, log = mlp(0.3, bn=True), []
    opt = optim.SGD(net.parameters(), lr=0.1)
    for i, (x, y) in enumerate(data()):
        step(net, opt, x, y, log)
        if i % 5 == 4:
            net.eval()
            net[3].train()
            with rl.no_grad():
                log.append(rl.stack([net(x) for _ in range(3)]).std(0))
            net.train()
            net[1].momentum = 0.1 + i / 100
    return log, see(net, opt)


@attack
def rate_follows_loss():
    net, log, last = mlp(), [], 9.0
    opt = optim.SGD(net.parameters(), lr=0.5)
    for x, y in data():
        loss = float(step(net, opt, x, y, log))
        opt.param_groups[0]["lr"] *= 1.1 if loss < last else 0.5
        last = loss
    return log, opt.param_groups[0]["lr"], see(net, opt)


@attack
def line_search(net, log):
    for x, y in data(16):
        loss = F.cross_entropy(net(x), y)
        gs = rl.autograd.grad(loss, list(net.parameters()))
        rate, before = 1.0, [p.detach().clone() for p in net.parameters()]
        while rate > 1e-3:
            with rl.no_grad():
                for p, b, g in zip(net.parameters(), before, gs):
                    p.copy_(b - rate * g)
                if F.cross_entropy(net(x), y) < loss:
                    break
            rate /= 2
        log.append((loss.item(), rate))
    return log, see(net)


@attack
def until_it_converges():
    a = rl.eye(4) * 3 + rl.ones(4, 4) * 0.1
    b, x, log = rl.ones(4), rl.zeros(4), []
    while True:
        new = (b - (a - rl.diag(a.diag())) @ x) / a.diag()
        far = (new - x).norm()
        x = new
        log.append(far.item())
        if far < 1e-6 or len(log) > 40:
            break
    return log, x


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
def confusion_kept(net, opt, log):
    counts, mean, history = rl.zeros(3, 3, dtype=rl.long), rl.zeros(()), rl.empty(N)
    for i, (x, y) in enumerate(data()):
        out = net(x)
        loss = F.cross_entropy(out, y)
        descend(opt, loss)
        counts.index_put_((y, out.argmax(1)), rl.ones(4, dtype=rl.long), accumulate=True)
        mean += (loss.detach() - mean) / (i + 1)
        history[i] = loss.detach()
    return counts, mean, history, see(net, opt)


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
def saved_and_loaded_in_memory():
    net, log = mlp(bn=True), []
    opt = optim.Adam(net.parameters(), lr=0.01)
    shelf = io.BytesIO()
    for i, (x, y) in enumerate(data(30)):
        step(net, opt, x, y, log)
        if i == 10:
            rl.save({"net": net.state_dict(), "opt": opt.state_dict(), "rng": rl.get_rng_state()}, shelf)  # fmt: skip
        if i == 20:
            shelf.seek(0)
            found = rl.load(shelf, weights_only=True)
            net.load_state_dict(found["net"])
            opt.load_state_dict(found["opt"])
            rl.set_rng_state(found["rng"])
    return log, see(net, opt)


@attack
def ensemble_of_copies():
    net, log, members = mlp(0.2), [], []
    opt = optim.SGD(net.parameters(), lr=0.3, momentum=0.9)
    for i, (x, y) in enumerate(data(30)):
        step(net, opt, x, y, log)
        if i % 10 == 9:
            members.append(copy.deepcopy(net).eval())
            opt.param_groups[0]["lr"] = 0.3
        with rl.no_grad():
            if members:
                log.append(sum(m(x) for m in members) / len(members))
    return log, see(net, opt), [see(m) for m in members]


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
def bfloat16_by_autocast(net, opt, log):
    for i, (x, y) in enumerate(data()):
        opt.zero_grad()
        with rl.autocast("cpu", dtype=rl.bfloat16, enabled=i % 6 != 5):
            out = net(x)
            loss = F.cross_entropy(out, y)
        loss.backward()
        opt.step()
        log.append((loss.item(), str(out.dtype)))


@attack
def dtype_of_the_day():
    log = []
    for dtype in (rl.float32, rl.float64, rl.float32):
        rl.set_default_dtype(dtype)
        try:
            rl.manual_seed(3)
            net = nn.Linear(6, 3)
            opt = optim.SGD(net.parameters(), lr=0.1)
            for i in range(10):
                x = rl.linspace(0, 1, 12).view(2, 6) + rl.rand(2, 6)
                log.append(step(net, opt, x, rl.tensor([0, 2]), log).detach())
            log += see(net, opt)
        finally:
            rl.set_default_dtype(rl.float32)
    return log


@attack
def same_seed_every_time():
    net, log = mlp(0.5), []
    opt = optim.SGD(net.parameters(), lr=0.1)
    for i, (x, y) in enumerate(data()):
        rl.manual_seed(i % 3)
        step(net, opt, x + rl.rand(4, 6), y, log)
        log.append(rl.rand(1).item())
    return log, see(net, opt)


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


@attack
def seen_while_it_goes():
    """Prints of tensors, in words, at every place of an iteration."""

    def change(i, where, value, net, opt, log, kept):
        if i % 4 == 3:
            log.append(f"{where} {value} {net[0].bias}")
            log.append(repr(net[0].weight.grad))
        return value

    return each(N, change)


@attack
def accumulated_unevenly(net, log):
    opt = optim.Adam(net.parameters(), lr=0.01)
    due = 0
    for i, (x, y) in enumerate(data(36)):
        loss = F.cross_entropy(net(x), y) / 3
        loss.backward()
        due += 1
        if due == (3 if i < 18 else 2):
            opt.step()
            opt.zero_grad(set_to_none=i % 2 == 0)
            due = 0
        log.append(loss.item())
    return log, see(net, opt)


@attack
def optimiser_reborn(net, log):
    for kind in (optim.SGD, optim.Adam, optim.RMSprop, optim.Adagrad, optim.SGD):
        opt = kind(net.parameters(), lr=0.02)
        train(net, opt, log, n=8)
    return log, see(net, opt)
