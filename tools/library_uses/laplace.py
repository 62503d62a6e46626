"""Uses of laplace-torch: how sure a trained network is."""

import torch
from laplace import Laplace
from library_use import trained
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

LIBRARY = "laplace-torch"


def how_sure() -> object:
    net, x = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 3)), torch.randn(40, 2)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    trained(optimizer, 10, lambda: nn.functional.cross_entropy(net(x), y))
    found = []
    for subset, structure in (("last_layer", "kron"), ("last_layer", "full"), ("all", "diag")):
        around = Laplace(net, "classification", subset_of_weights=subset, hessian_structure=structure)
        around.fit(DataLoader(TensorDataset(x, y), batch_size=20))
        found += [around(x[:5], link_approx="probit"), around.log_marginal_likelihood()]
    return found
