"""Uses of lpips, without downloaded weights."""

import lpips
import torch

LIBRARY = "lpips"


def distance_of_pictures() -> object:
    net = lpips.LPIPS(net="squeeze", pretrained=False, pnet_rand=True, verbose=False)
    a = torch.rand(1, 3, 64, 64, requires_grad=True)
    value = net(a * 2 - 1, torch.rand(1, 3, 64, 64) * 2 - 1)
    value.sum().backward()
    return value, a.grad.norm()
