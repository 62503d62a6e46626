"""Uses of torchdyn: networks as differential equations."""

import torch
from torch import nn
from torchdyn.core import NeuralODE

LIBRARY = "torchdyn"
REQUIRES = ["torchcde"]


def a_neural_equation() -> object:
    field, found = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 2)), []
    x, times = torch.randn(6, 2), torch.linspace(0, 1, 5)
    for sensitivity in ("autograd", "adjoint", "interpolated_adjoint"):
        _, path = NeuralODE(field, sensitivity=sensitivity, solver="dopri5", atol=1e-4, rtol=1e-4)(x, times)
        field.zero_grad()
        path[-1].square().sum().backward()
        found.append((path, [p.grad.clone() for p in field.parameters()]))
    return found
