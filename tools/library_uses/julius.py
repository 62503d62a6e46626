"""Uses of julius: filters and resampling of sound."""

import julius
import torch

LIBRARY = "julius"


def resampled() -> object:
    x = torch.randn(2, 400, requires_grad=True)
    y = julius.resample_frac(x, 4, 3)
    y.square().sum().backward()
    return y[:, :40], x.grad[:, :40], y.norm(), x.grad.norm()


def bands() -> object:
    x = torch.randn(1, 600)
    convolved = julius.fftconv.fft_conv1d(x[None], torch.randn(2, 1, 31))
    parts = julius.lowpass_filter(x, 0.1), julius.split_bands(x, 1000, n_bands=3), convolved
    return [(part[..., :20], part.norm()) for part in parts]
