"""Uses of dadaptation."""

import dadaptation
import torch
from library_use import trained

LIBRARY = "dadaptation"


def _steps(kind: type) -> object:
    net = torch.nn.Linear(4, 2)
    optimiser = kind(net.parameters(), lr=1.0)
    x = torch.randn(8, 4)
    return trained(optimiser, 5, lambda: net(x).square().mean()), list(net.parameters())


def adam() -> object:
    return _steps(dadaptation.DAdaptAdam)


def sgd() -> object:
    return _steps(dadaptation.DAdaptSGD)


def lion() -> object:
    return _steps(dadaptation.DAdaptLion)
