"""Uses of mup: rates that hold for every width."""

import mup
import torch
from torch import nn

LIBRARY = "mup"


def _net(width: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), mup.MuReadout(width, 2)
    )


def scaled_training() -> object:
    net = _net(32)
    mup.set_base_shapes(net, _net(8), delta=_net(16))
    optimizer = mup.MuAdam(net.parameters(), lr=0.01)
    x, y, losses = torch.randn(16, 4), torch.randint(2, (16,)), []
    for _ in range(4):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, [g["lr"] for g in optimizer.param_groups]
