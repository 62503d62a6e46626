"""Uses of torchbnn: weights that are distributions."""

import torch
import torchbnn
from library_use import trained
from torch import nn

LIBRARY = "torchbnn"


def training() -> object:
    net = nn.Sequential(
        torchbnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=4, out_features=8), nn.ReLU(),
        torchbnn.BayesLinear(prior_mu=0, prior_sigma=0.1, in_features=8, out_features=3),
    )  # fmt: skip
    kl = torchbnn.BKLLoss(reduction="mean", last_layer_only=False)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
    x, y = torch.randn(20, 4), torch.randint(3, (20,))
    loss = lambda: nn.functional.cross_entropy(net(x), y) + 0.1 * kl(net).sum()  # noqa: E731
    return trained(optimizer, 4, loss)
