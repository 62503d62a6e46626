"""Uses of conformer: convolutions and attention for sound."""

import torch
from conformer import Conformer

LIBRARY = "conformer"


def a_block_forward_and_backward() -> object:
    net = Conformer(dim=16, depth=2, dim_head=8, heads=2, ff_mult=2, conv_kernel_size=7)
    y = net(torch.randn(2, 20, 16))
    y.square().mean().backward()
    return y[0, :4], [p.grad.norm() for p in net.parameters()]
