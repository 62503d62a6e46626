"""Uses of dadaptation."""

import dadaptation
import torch

LIBRARY = "dadaptation"


def _steps(kind: type) -> object:
    net = torch.nn.Linear(4, 2)
    optimiser = kind(net.parameters(), lr=1.0)
    x = torch.randn(8, 4)
    losses = []
    for _ in range(5):
        loss = net(x).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss)
    return losses, list(net.parameters())


def adam() -> object:
    return _steps(dadaptation.DAdaptAdam)


def sgd() -> object:
    return _steps(dadaptation.DAdaptSGD)


def lion() -> object:
    return _steps(dadaptation.DAdaptLion)
