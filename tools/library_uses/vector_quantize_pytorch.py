"""Uses of vector-quantize-pytorch."""

import torch
from vector_quantize_pytorch import FSQ, VectorQuantize

LIBRARY = "vector-quantize-pytorch"


def a_codebook() -> object:
    net = VectorQuantize(dim=8, codebook_size=16, decay=0.8, commitment_weight=1.0)
    x = torch.randn(2, 10, 8, requires_grad=True)
    quantized, indices, loss = net(x)
    (quantized.pow(2).mean() + loss.sum()).backward()
    return quantized.mean(), indices, loss, x.grad.norm()


def finite_scalars() -> object:
    quantized, indices = FSQ([8, 5, 5])(torch.randn(1, 6, 3))
    return quantized, indices
