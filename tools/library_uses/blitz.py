"""Uses of blitz-bayesian-pytorch: layers that draw their weights."""

import torch
from blitz.modules import BayesianConv2d, BayesianLinear, BayesianLSTM
from blitz.utils import variational_estimator
from torch import nn

LIBRARY = "blitz-bayesian-pytorch"


@variational_estimator
class _Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.out = BayesianConv2d(1, 2, (3, 3)), BayesianLinear(32, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(self.conv(x).relu().flatten(1))


def elbo() -> object:
    net = _Net()
    loss = net.sample_elbo(
        torch.randn(4, 1, 6, 6),
        torch.randint(2, (4,)),
        nn.CrossEntropyLoss(),
        sample_nbr=2,
        complexity_cost_weight=0.01,
    )
    loss.backward()
    return loss, [p.grad.norm() for p in net.parameters() if p.grad is not None]


def a_recurrent_layer() -> object:
    y, (h, c) = BayesianLSTM(3, 4)(torch.randn(2, 5, 3))
    return y, h, c
