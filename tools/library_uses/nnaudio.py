"""Uses of nnAudio: spectrograms as layers that can be trained."""

import torch
from nnAudio import features

LIBRARY = "nnAudio"


def a_spectrogram() -> object:
    layer = features.STFT(n_fft=64, hop_length=16, output_format="Magnitude", sr=800, verbose=False)
    return layer(torch.rand(1, 400))[:, ::8, ::5]


def mel_bands_and_their_gradient() -> object:
    layer = features.MelSpectrogram(sr=800, n_fft=64, n_mels=8, hop_length=16, trainable_mel=True, verbose=False)
    out = layer(torch.rand(2, 400))
    out.log1p().sum().backward()
    return out.mean(2), layer.mel_basis.grad.abs().sum()


def a_constant_q_transform() -> object:
    layer = features.CQT1992v2(sr=800, hop_length=16, fmin=40, n_bins=12, bins_per_octave=6, verbose=False)
    return layer(torch.rand(1, 600)).mean(2)
