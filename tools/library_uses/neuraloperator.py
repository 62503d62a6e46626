"""Uses of neuraloperator: operators learnt by their modes."""

import torch
from neuralop.losses import H1Loss, LpLoss
from neuralop.models import FNO

LIBRARY = "neuraloperator"
REQUIRES = ["tensorly", "tensorly-torch"]


def modes_of_a_field() -> object:
    net = FNO(n_modes=(6, 6), in_channels=1, out_channels=1, hidden_channels=8, n_layers=2)
    x, y = torch.randn(2, 1, 12, 12), torch.randn(2, 1, 12, 12)
    out = net(x)
    loss = LpLoss(d=2, p=2)(out, y) + H1Loss(d=2)(out, y)
    loss.backward()
    return out[0], loss, [p.grad.abs().sum() for p in net.parameters()]
