"""Uses of madgrad."""

import madgrad
import torch
from library_use import trained

LIBRARY = "madgrad"


def _steps(kind: type, **options: float) -> object:
    net = torch.nn.Linear(4, 2)
    optimiser = kind(net.parameters(), **options)
    x = torch.randn(8, 4)
    return trained(optimiser, 4, lambda: net(x).square().mean()), list(net.parameters())


def plain() -> object:
    return _steps(madgrad.MADGRAD, lr=0.01, weight_decay=0.1)


def mirrored() -> object:
    return _steps(madgrad.MirrorMADGRAD, lr=0.01)
