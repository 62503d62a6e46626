"""Uses of ncps: neurons with their own times, wired as circuits."""

import torch
from ncps.torch import LTC, CfC
from ncps.wirings import AutoNCP

LIBRARY = "ncps"


def circuits_over_time() -> object:
    found, x = [], torch.randn(2, 6, 3)
    for net in (CfC(3, AutoNCP(12, 2)), LTC(3, AutoNCP(12, 2)), CfC(3, 8, proj_size=2, mode="no_gate")):
        y, state = net(x)
        y.square().mean().backward()
        found.append((y, state, [p.grad.norm() for p in net.parameters() if p.grad is not None]))
    return found
