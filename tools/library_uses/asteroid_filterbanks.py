"""Uses of asteroid-filterbanks."""

import torch
from asteroid_filterbanks import Decoder, Encoder, FreeFB, ParamSincFB, make_enc_dec, transforms

LIBRARY = "asteroid-filterbanks"


def a_spectrogram_and_back() -> object:
    wav = torch.randn(2, 1, 256)
    encoder, decoder = make_enc_dec("stft", n_filters=32, kernel_size=32, stride=16)
    spec = encoder(wav)
    return spec[0, :3, :3], decoder(spec)[0, 0, :8], transforms.mag(spec).sum(-1)


def learnt_filters() -> object:
    wav = torch.randn(2, 1, 256)
    encoder = Encoder(FreeFB(16, 32, stride=16))
    decoder = Decoder(FreeFB(16, 32, stride=16))
    out = decoder(encoder(wav).relu())
    out.square().mean().backward()
    return out[0, 0, :8], encoder.filterbank._filters.grad.norm()


def sinc_filters() -> object:
    encoder = Encoder(ParamSincFB(n_filters=16, kernel_size=33, stride=16, sample_rate=8000))
    out = encoder(torch.randn(2, 1, 256))
    out.sum().backward()
    return out[0, :3, :3], [p.grad.norm() for p in encoder.parameters()]
