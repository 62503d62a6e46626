"""Uses of pytorch-wavelets: wavelets of pictures."""

import torch
from pytorch_wavelets import DTCWTForward, DTCWTInverse, DWT1DForward, DWTForward, DWTInverse

LIBRARY = "pytorch-wavelets"
REQUIRES = ["PyWavelets"]


def wavelets_and_back() -> object:
    x = torch.randn(2, 3, 16, 16, requires_grad=True)
    low, high = DWTForward(J=2, wave="db3", mode="symmetric")(x)
    back = DWTInverse(wave="db3", mode="symmetric")((low, high))[0, 0, 0]
    (low.square().sum() + sum(h.abs().sum() for h in high)).backward()
    return low[0, 0], back, x.grad[0, 0], DWT1DForward(J=1, wave="haar")(x[0])[0]


def complex_wavelets() -> object:
    x = torch.randn(1, 1, 32, 32)
    low, high = DTCWTForward(J=3, biort="near_sym_b", qshift="qshift_b")(x)
    return (low[0, 0, 0], high[-1][0, 0, 0], DTCWTInverse(biort="near_sym_b", qshift="qshift_b")((low, high))[0, 0, 0])
