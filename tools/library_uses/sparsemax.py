"""Uses of sparsemax: a softmax with zeros."""

import torch
from sparsemax import Sparsemax

LIBRARY = "sparsemax"


def zeros_among_weights() -> object:
    x = torch.randn(3, 4, 6, requires_grad=True)
    y = Sparsemax(dim=-1)(x) + Sparsemax(dim=1)(x)
    (y * torch.randn(3, 4, 6)).sum().backward()
    return y, x.grad
