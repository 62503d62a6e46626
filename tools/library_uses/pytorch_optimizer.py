"""Uses of pytorch-optimizer: a few steps with its rules."""

import pytorch_optimizer
import torch

LIBRARY = "pytorch-optimizer"


def _losses(rule: object) -> object:
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer, x, losses = rule(net.parameters()), torch.randn(16, 4), []
    getattr(optimizer, "train", lambda: None)()
    for _ in range(6):
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        losses.append(loss)
    getattr(optimizer, "eval", lambda: None)()
    return losses, [p.norm() for p in net.parameters()]


def adan() -> object:
    return _losses(lambda p: pytorch_optimizer.Adan(p, lr=1e-2))


def lamb() -> object:
    return _losses(lambda p: pytorch_optimizer.Lamb(p, lr=1e-2))


def adabelief() -> object:
    return _losses(lambda p: pytorch_optimizer.AdaBelief(p, lr=1e-2))


def prodigy() -> object:
    return _losses(lambda p: pytorch_optimizer.Prodigy(p, lr=1.0))
