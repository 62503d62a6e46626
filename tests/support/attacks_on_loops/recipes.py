"""Recipes of training that change the network in the middle, average it, write its weights, or read memory that changes."""

# ruff: noqa: E731, B023, B007, F841, E702, N806
from __future__ import annotations

import numpy as np

import rushlight as rl
from attacks_on_loops.common import attack, data, mlp, see, step
from rushlight import nn, optim
from rushlight.nn import functional as F
from rushlight.nn.utils import parametrizations, parametrize
from rushlight.optim import lr_scheduler as schedules
from rushlight.optim import swa_utils


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
