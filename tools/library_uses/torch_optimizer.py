"""Uses of torch-optimizer: a few steps with its rules."""

import torch
import torch_optimizer

LIBRARY = "torch-optimizer"


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


def yogi() -> object:
    return _losses(lambda p: torch_optimizer.Yogi(p, lr=1e-2))


def diffgrad() -> object:
    return _losses(lambda p: torch_optimizer.DiffGrad(p, lr=1e-2))


def lamb() -> object:
    return _losses(lambda p: torch_optimizer.Lamb(p, lr=1e-2))
