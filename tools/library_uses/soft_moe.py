"""Uses of soft-moe-pytorch: experts that share every token."""

import torch
from soft_moe_pytorch import SoftMoE

LIBRARY = "soft-moe-pytorch"


def experts() -> object:
    layer, x = SoftMoE(dim=16, seq_len=12, num_experts=3, geglu=True), torch.randn(2, 12, 16)
    y = layer(x) + x
    y.square().mean().backward()
    return y[0], [p.grad.norm() for p in layer.parameters()]
