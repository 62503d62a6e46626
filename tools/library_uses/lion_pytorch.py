"""Uses of lion-pytorch: a few steps with its rules."""

import torch
from lion_pytorch import Lion

LIBRARY = "lion-pytorch"


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


def lion() -> object:
    return _losses(lambda p: Lion(p, lr=1e-2, weight_decay=0.1))
