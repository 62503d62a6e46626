"""Uses of pytorch-msssim."""

import torch
from pytorch_msssim import SSIM, ms_ssim, ssim

LIBRARY = "pytorch-msssim"


def likeness_and_its_gradient() -> object:
    a, b = torch.rand(2, 3, 32, 32, requires_grad=True), torch.rand(2, 3, 32, 32)
    value = ssim(a, b, data_range=1.0, size_average=False)
    value.sum().backward()
    return value, a.grad.norm()


def over_scales() -> object:
    a = torch.rand(1, 1, 176, 176)
    return ms_ssim(a, (a + 0.1 * torch.rand_like(a)).clamp(0, 1), data_range=1.0)


def as_a_layer() -> object:
    a = torch.rand(1, 1, 16, 16)
    return SSIM(data_range=1.0, channel=1, win_size=5)(a, a.flip(-1))
