"""Uses of piq: quality of pictures."""

import piq
import torch

LIBRARY = "piq"


def _pictures() -> tuple:
    return torch.rand(1, 3, 64, 64, requires_grad=True), torch.rand(1, 3, 64, 64)


def likeness() -> object:
    x, y = _pictures()
    return [f(x, y, data_range=1.0) for f in (piq.psnr, piq.ssim, piq.gmsd, piq.vif_p, piq.haarpsi)]


def losses_and_gradients() -> object:
    x, y = _pictures()
    loss = piq.SSIMLoss()(x, y) + piq.GMSDLoss()(x, y) + piq.TVLoss()(x)
    loss.backward()
    return loss, x.grad.abs().sum()
