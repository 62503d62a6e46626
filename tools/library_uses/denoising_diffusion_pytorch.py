"""Uses of denoising-diffusion-pytorch: a tiny U-Net, its loss and a few steps of sampling."""

import torch
from denoising_diffusion_pytorch import GaussianDiffusion, Unet

LIBRARY = "denoising-diffusion-pytorch"


def _diffusion() -> GaussianDiffusion:
    net = Unet(dim=8, dim_mults=(1, 2), flash_attn=False)
    return GaussianDiffusion(net, image_size=16, timesteps=20, sampling_timesteps=3)


def loss_and_gradients() -> object:
    diffusion = _diffusion()
    loss = diffusion(torch.rand(2, 3, 16, 16))
    loss.backward()
    return loss, sum(p.grad.abs().sum() for p in diffusion.parameters() if p.grad is not None)


def sampling() -> object:
    return _diffusion().sample(batch_size=1).mean((2, 3))
