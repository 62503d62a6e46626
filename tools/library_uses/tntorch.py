"""Uses of tntorch: tensors as trains of small ones."""

import tntorch
import torch

LIBRARY = "tntorch"


def trains() -> object:
    full = torch.randn(6, 5, 4)
    train = tntorch.Tensor(full, ranks_tt=3)
    other = tntorch.rand([6, 5, 4], ranks_tt=2)
    both = train * other + other
    return (train.torch(), tntorch.dot(train, other), tntorch.norm(both), both[1:3, :, 0].torch(), tntorch.mean(both))


def a_train_learnt() -> object:
    full = torch.randn(5, 5, 5)
    train = tntorch.rand([5, 5, 5], ranks_tt=2, requires_grad=True)
    tntorch.optimize(train, lambda t: tntorch.relative_error(full, t), max_iter=20, verbose=False)
    return tntorch.relative_error(full, train)
