"""Uses of einops."""

import torch
from einops import einsum, rearrange, reduce, repeat
from einops.layers.torch import EinMix, Rearrange

LIBRARY = "einops"


def patches_and_back() -> object:
    x = torch.randn(2, 3, 8, 8, requires_grad=True)
    y = rearrange(x, "b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4)
    z = repeat(reduce(y, "b n d -> b d", "mean"), "b d -> b d r", r=2)
    (z**2).sum().backward()
    return y.sum(-1), z.sum(), x.grad.norm()


def products_by_name() -> object:
    a, b = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    return einsum(a, b, "n i j, n j k -> n i k")


def layers() -> object:
    net = torch.nn.Sequential(
        Rearrange("b c h w -> b (h w) c"), EinMix("b n c -> b n d", weight_shape="c d", bias_shape="d", c=3, d=5)
    )
    y = net(torch.randn(2, 3, 4, 4))
    y.pow(2).mean().backward()
    return y.mean(), [p.grad.norm() for p in net.parameters()]
