"""Uses of backpack-for-pytorch: what a backward pass knows besides the mean gradient."""

import torch
from backpack import backpack, extend
from backpack.extensions import BatchGrad, BatchL2Grad, DiagGGNExact, DiagHessian, Variance
from torch import nn

LIBRARY = "backpack-for-pytorch"


def first_order() -> object:
    net = extend(nn.Sequential(nn.Conv2d(1, 3, 3), nn.ReLU(), nn.Flatten(), nn.Linear(48, 4)))
    loss_of = extend(nn.CrossEntropyLoss())
    x, y = torch.randn(5, 1, 6, 6), torch.randint(4, (5,))
    loss = loss_of(net(x), y)
    with backpack(BatchGrad(), BatchL2Grad(), Variance()):
        loss.backward()
    return loss, [(p.grad_batch.norm(dim=0), p.batch_l2, p.variance) for p in net.parameters()]


def second_order() -> object:
    net = extend(nn.Sequential(nn.Linear(4, 6), nn.Sigmoid(), nn.Linear(6, 3)))
    loss_of = extend(nn.CrossEntropyLoss())
    x, y = torch.randn(5, 4), torch.randint(3, (5,))
    loss = loss_of(net(x), y)
    with backpack(DiagGGNExact(), DiagHessian()):
        loss.backward()
    return [(p.diag_ggn_exact, p.diag_h) for p in net.parameters()]
