"""Uses of diffusers: small networks, schedulers and pipelines."""

import json
from inspect import signature
from pathlib import Path

import diffusers
import torch
from diffusers import (
    AutoencoderKL,
    ControlNetModel,
    DDIMScheduler,
    DDPMPipeline,
    DDPMScheduler,
    EulerDiscreteScheduler,
    FluxTransformer2DModel,
    SD3Transformer2DModel,
    StableDiffusionPipeline,
    UNet2DConditionModel,
    UNet2DModel,
)
from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

LIBRARY = "diffusers"
REQUIRES = ["transformers", "accelerate", "scipy"]


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


# -- pictures from words, with random weights -----------------------------------------------------


def _words_unet() -> UNet2DConditionModel:
    torch.manual_seed(0)
    return UNet2DConditionModel(
        sample_size=8, in_channels=4, out_channels=4, layers_per_block=1, norm_num_groups=4, block_out_channels=(8, 16),
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        attention_head_dim=4, cross_attention_dim=32,
    )  # fmt: skip


def _latents() -> AutoencoderKL:
    torch.manual_seed(0)
    return AutoencoderKL(
        block_out_channels=(8, 16), norm_num_groups=4, latent_channels=4, sample_size=16,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip


def _words() -> tuple[CLIPTextModel, CLIPTokenizer]:
    letters = "abcdefghijklmnopqrstuvwxyz"
    marks = ["<|startoftext|>", "<|endoftext|>", *letters, *[f"{c}</w>" for c in letters]]
    Path("vocab.json").write_text(json.dumps({mark: i for i, mark in enumerate(marks)}))
    Path("merges.txt").write_text("#version: 0.2\n")
    torch.manual_seed(0)
    config = CLIPTextConfig(
        vocab_size=60, hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=4,
        max_position_embeddings=16, bos_token_id=0, eos_token_id=1, pad_token_id=1,
    )  # fmt: skip
    tokens = CLIPTokenizer("vocab.json", "merges.txt", model_max_length=16)
    return CLIPTextModel(config), tokens


def _sampled(name: str, **options: object) -> torch.Tensor:
    """A picture after four steps of a scheduler."""
    noise = getattr(diffusers, name)(num_train_timesteps=50, **options)
    noise.set_timesteps(4)
    torch.manual_seed(0)
    net, seed = _unet().eval(), torch.Generator().manual_seed(0)
    x = torch.randn(1, 1, 8, 8, generator=seed) * noise.init_noise_sigma
    drawn = {"generator": seed} if "generator" in signature(noise.step).parameters else {}
    with torch.no_grad():
        for t in noise.timesteps:
            guess = net(noise.scale_model_input(x, t), t).sample
            x = noise.step(guess, t, x, **drawn).prev_sample
    return x[0, 0, ::3]


def euler_heun_and_lms() -> object:
    names = "EulerDiscrete EulerAncestralDiscrete HeunDiscrete KDPM2Discrete LMSDiscrete".split()
    karras = _sampled("EulerDiscreteScheduler", use_karras_sigmas=True)
    return [_sampled(f"{name}Scheduler") for name in names], karras


def solvers_of_several_steps() -> object:
    names = "DPMSolverMultistep DPMSolverSinglestep UniPCMultistep DEISMultistep PNDM".split()
    noisy = _sampled("DPMSolverMultistepScheduler", algorithm_type="sde-dpmsolver++")
    return [_sampled(f"{name}Scheduler") for name in names], noisy


def a_conditioned_unet_trained() -> object:
    net, noise = _words_unet(), DDPMScheduler(num_train_timesteps=50)
    net.enable_gradient_checkpointing()
    optimizer, losses = torch.optim.AdamW(net.parameters(), lr=1e-3), []
    x, words = torch.randn(2, 4, 8, 8), torch.randn(2, 5, 32)
    for _ in range(3):
        e, t = torch.randn_like(x), torch.randint(50, (2,))
        loss = (net(noise.add_noise(x, e, t), t, words).sample - e).pow(2).mean()
        optimizer.zero_grad(), loss.backward(), optimizer.step()
        losses.append(loss)
    return losses


def stable_diffusion_saved_and_loaded() -> object:
    encoder, tokens = _words()
    made = StableDiffusionPipeline(
        vae=_latents(), text_encoder=encoder, tokenizer=tokens, unet=_words_unet(), safety_checker=None,
        scheduler=DDIMScheduler(num_train_timesteps=50, clip_sample=False), feature_extractor=None,
        requires_safety_checker=False,
    )  # fmt: skip
    made.save_pretrained("sd")
    read = StableDiffusionPipeline.from_pretrained("sd")
    read.scheduler = EulerDiscreteScheduler.from_config(read.scheduler.config)
    found = []
    for pipeline in (made, read):
        pipeline.set_progress_bar_config(disable=True)
        seed = torch.Generator().manual_seed(0)
        given = {"height": 16, "width": 16, "num_inference_steps": 3, "guidance_scale": 3.0}
        picture = pipeline("a cat", negative_prompt="b", generator=seed, output_type="np", **given)
        found.append(picture.images.mean((1, 2)))
    return found


def a_control_net() -> object:
    net = _words_unet()
    control = ControlNetModel.from_unet(net, conditioning_channels=3)
    x, words = torch.randn(1, 4, 8, 8), torch.randn(1, 5, 32)
    down, mid = control(x, 3, words, torch.randn(1, 3, 64, 64), return_dict=False)
    more = {"down_block_additional_residuals": down, "mid_block_additional_residual": mid}
    return net(x, 3, words, **more).sample[0, :, ::4]


def transformers_in_place_of_unets() -> object:
    flux = FluxTransformer2DModel(
        patch_size=1, in_channels=4, num_layers=1, num_single_layers=1, attention_head_dim=16, num_attention_heads=2,
        joint_attention_dim=32, pooled_projection_dim=32, axes_dims_rope=(4, 4, 8),
    ).eval()  # fmt: skip
    sd3 = SD3Transformer2DModel(
        sample_size=8, patch_size=2, in_channels=4, num_layers=2, attention_head_dim=8, num_attention_heads=4,
        joint_attention_dim=32, caption_projection_dim=32, pooled_projection_dim=16, out_channels=4,
    ).eval()  # fmt: skip
    words, t = torch.randn(1, 5, 32), torch.tensor([0.3])
    first = flux(
        hidden_states=torch.randn(1, 16, 4), encoder_hidden_states=words, pooled_projections=torch.randn(1, 32),
        timestep=t, img_ids=torch.randint(0, 4, (16, 3)).float(), txt_ids=torch.zeros(5, 3),
    )  # fmt: skip
    second = sd3(torch.randn(1, 4, 8, 8), words, torch.randn(1, 16), t)
    return first.sample, second.sample[0, :, ::4]
