"""Uses of mambapy: state spaces that choose, by a parallel scan."""

import torch
from mambapy.mamba import Mamba, MambaConfig

LIBRARY = "mambapy"


def a_scan() -> object:
    net = Mamba(MambaConfig(d_model=8, n_layers=2, d_state=4))
    x = torch.randn(2, 12, 8, requires_grad=True)
    y = net(x)
    y.square().mean().backward()
    return y, x.grad, [p.grad.norm() for p in net.parameters()]
