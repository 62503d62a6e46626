"""Uses of higher: gradients through the steps of an optimiser."""

import higher
import torch
from torch import nn

LIBRARY = "higher"


def through_steps() -> object:
    net = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    with higher.innerloop_ctx(net, optimizer) as (inner, steps):
        for _ in range(3):
            steps.step(nn.functional.mse_loss(inner(x), y))
        loss = nn.functional.mse_loss(inner(x), y)
        grads = torch.autograd.grad(loss, inner.parameters(time=0))
    return loss, grads


def through_adam() -> object:
    net = nn.Linear(3, 1)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.05)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    with higher.innerloop_ctx(net, optimizer, copy_initial_weights=False) as (inner, steps):
        for _ in range(2):
            steps.step(nn.functional.mse_loss(inner(x), y))
        nn.functional.mse_loss(inner(x), y).backward()
    return [p.grad for p in net.parameters()]
