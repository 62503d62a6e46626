"""Uses of prodigyopt."""

import torch
from library_use import trained
from prodigyopt import Prodigy

LIBRARY = "prodigyopt"


def steps_without_a_rate() -> object:
    net = torch.nn.Linear(4, 2)
    optimiser = Prodigy(net.parameters(), lr=1.0, weight_decay=0.01, safeguard_warmup=True, use_bias_correction=True)
    x = torch.randn(8, 4)
    losses = trained(optimiser, 6, lambda: net(x).square().mean())
    return losses, list(net.parameters()), optimiser.param_groups[0]["d"]
