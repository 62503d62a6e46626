"""Uses of perceiver-pytorch."""

import torch
from perceiver_pytorch import Perceiver, PerceiverIO

LIBRARY = "perceiver-pytorch"


def pictures() -> object:
    net = Perceiver(
        input_channels=3, input_axis=2, num_freq_bands=3, max_freq=4.0, depth=2, num_latents=8, latent_dim=16,
        cross_heads=1, latent_heads=2, cross_dim_head=8, latent_dim_head=8, num_classes=5, self_per_cross_attn=1,
    )  # fmt: skip
    out = net(torch.randn(2, 8, 8, 3))
    out.sum().backward()
    return out, [p.grad.norm() for p in net.parameters() if p.grad is not None]


def queries() -> object:
    net = PerceiverIO(
        dim=8, queries_dim=8, logits_dim=4, depth=2, num_latents=6, latent_dim=12, cross_heads=1, latent_heads=2
    )
    return net(torch.randn(1, 10, 8), queries=torch.randn(5, 8))
