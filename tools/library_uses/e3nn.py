"""Uses of e3nn."""

import torch
from e3nn import o3

LIBRARY = "e3nn"


def spherical_harmonics() -> object:
    return o3.spherical_harmonics([0, 1, 2], torch.randn(4, 3), normalize=True)


def irreducible_representations() -> object:
    x = o3.Irreps("2x0e + 1x1o")
    turn = o3.rand_matrix()
    return x.dim, x.D_from_matrix(turn), o3.wigner_3j(1, 1, 2)


def a_linear_layer() -> object:
    layer = o3.Linear("2x0e + 1x1o", "1x0e + 2x1o")
    return layer(torch.randn(3, 5))
