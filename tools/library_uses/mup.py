"""Uses of mup: rates that hold for every width."""

import mup
import torch
from library_use import trained
from torch import nn

LIBRARY = "mup"


def _net(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(4, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), mup.MuReadout(width, 2))


def scaled_training() -> object:
    net = _net(32)
    mup.set_base_shapes(net, _net(8), delta=_net(16))
    optimizer = mup.MuAdam(net.parameters(), lr=0.01)
    x, y = torch.randn(16, 4), torch.randint(2, (16,))
    losses = trained(optimizer, 4, lambda: nn.functional.cross_entropy(net(x), y))
    return losses, [g["lr"] for g in optimizer.param_groups]
