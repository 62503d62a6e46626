"""Uses of vit-pytorch."""

import torch
from vit_pytorch import ViT
from vit_pytorch.simple_vit import SimpleViT

LIBRARY = "vit-pytorch"
SIZES = {"image_size": 16, "patch_size": 4, "num_classes": 5, "dim": 32, "depth": 2, "heads": 2}


def _both_ways(net: torch.nn.Module) -> object:
    out = net(torch.randn(2, 3, 16, 16))
    out.pow(2).mean().backward()
    return out, [p.grad.norm() for p in net.parameters() if p.grad is not None]


def vit() -> object:
    return _both_ways(ViT(**SIZES, mlp_dim=48, dropout=0.1))


def simple_vit() -> object:
    return _both_ways(SimpleViT(**SIZES, mlp_dim=48))
