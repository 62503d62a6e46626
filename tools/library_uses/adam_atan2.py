"""Uses of adam-atan2-pytorch: Adam without an epsilon."""

import torch
from adam_atan2_pytorch import AdamAtan2, MuonAdamAtan2
from library_use import trained
from torch import nn

LIBRARY = "adam-atan2-pytorch"


def steps() -> object:
    found, x = [], torch.randn(16, 5)
    for make in (
        lambda net: AdamAtan2(net.parameters(), lr=1e-2, weight_decay=0.1),
        lambda net: AdamAtan2(net.parameters(), lr=1e-2, cautious_factor=0.0),
        lambda net: MuonAdamAtan2([net[0].weight], net.parameters(), lr=1e-2, remove_muon_params_from_params=True),
    ):
        net = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 1))
        trained(make(net), 4, lambda net=net: net(x).square().mean())
        found.append(list(net.parameters()))
    return found
