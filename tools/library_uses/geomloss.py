"""Uses of geomloss: distances of clouds of points."""

import torch
from geomloss import SamplesLoss

LIBRARY = "geomloss"


def distances_of_clouds() -> object:
    x, y, found = torch.rand(20, 2, requires_grad=True), torch.rand(30, 2), []
    for kind in ("sinkhorn", "gaussian", "laplacian", "energy"):
        found.append(SamplesLoss(kind, p=2, blur=0.1, backend="tensorized")(x, y))
    sum(found).backward()
    return found, x.grad
