"""Uses of madgrad."""

import madgrad
import torch

LIBRARY = "madgrad"


def _steps(kind: type, **options: float) -> object:
    net = torch.nn.Linear(4, 2)
    optimiser = kind(net.parameters(), **options)
    x = torch.randn(8, 4)
    losses = []
    for _ in range(4):
        loss = net(x).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss)
    return losses, list(net.parameters())


def plain() -> object:
    return _steps(madgrad.MADGRAD, lr=0.01, weight_decay=0.1)


def mirrored() -> object:
    return _steps(madgrad.MirrorMADGRAD, lr=0.01)
