"""Uses of pypose: rotations and poses that are learnt."""

import pypose
import torch

LIBRARY = "pypose"


def poses() -> object:
    x = pypose.randn_SE3(4, requires_grad=True)
    moved = x.Act(torch.randn(4, 3))
    y = (x @ pypose.randn_SE3(4)).Log()
    (moved.square().sum() + y.tensor().square().sum()).backward()
    turned = pypose.euler2SO3(torch.tensor([0.1, 0.2, 0.3]))
    return moved, y.tensor(), x.grad, turned.tensor(), turned.matrix(), turned.Inv().tensor()
