"""Uses of schedulefree: a few steps with its rules."""

import schedulefree
import torch

LIBRARY = "schedulefree"


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


def adamw() -> object:
    return _losses(lambda p: schedulefree.AdamWScheduleFree(p, lr=1e-2, foreach=False))


def sgd() -> object:
    return _losses(lambda p: schedulefree.SGDScheduleFree(p, lr=1e-1, foreach=False))
