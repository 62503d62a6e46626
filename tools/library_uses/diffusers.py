"""Uses of diffusers: a small U-Net, its pipeline and an autoencoder."""

import torch
from diffusers import AutoencoderKL, DDIMScheduler, DDPMPipeline, DDPMScheduler, UNet2DModel

LIBRARY = "diffusers"


def _unet() -> UNet2DModel:
    return UNet2DModel(
        sample_size=8, in_channels=1, out_channels=1, layers_per_block=1, norm_num_groups=4,
        block_out_channels=(8, 16), down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"), attention_head_dim=4,
    )  # fmt: skip


def a_few_steps_of_training() -> object:
    net, noise = _unet(), DDPMScheduler(num_train_timesteps=50)
    optimizer, losses = torch.optim.AdamW(net.parameters(), lr=1e-3), []
    x = torch.rand(4, 1, 8, 8)
    for _ in range(3):
        e, t = torch.randn_like(x), torch.randint(50, (4,))
        loss = (net(noise.add_noise(x, e, t), t).sample - e).pow(2).mean()
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        losses.append(loss)
    return losses


def sampling_with_a_pipeline() -> object:
    pipeline = DDPMPipeline(unet=_unet().eval(), scheduler=DDPMScheduler(num_train_timesteps=20))
    pipeline.set_progress_bar_config(disable=True)
    seed = torch.Generator().manual_seed(0)
    return pipeline(num_inference_steps=3, generator=seed, output_type="np").images.mean((1, 2))


def ddim_and_a_saved_folder() -> object:
    net, noise = _unet().eval(), DDIMScheduler(num_train_timesteps=20)
    net.save_pretrained("unet")
    net = UNet2DModel.from_pretrained("unet").eval()
    noise.set_timesteps(3)
    x = torch.randn(1, 1, 8, 8)
    with torch.no_grad():
        for t in noise.timesteps:
            x = noise.step(net(x, t).sample, t, x).prev_sample
    return x


def an_autoencoder() -> object:
    net = AutoencoderKL(block_out_channels=(8,), norm_num_groups=4, latent_channels=2)
    out = net(torch.randn(1, 3, 16, 16), sample_posterior=False).sample
    out.pow(2).mean().backward()
    return out.mean(), sum(p.grad.norm() for p in net.parameters() if p.grad is not None)
