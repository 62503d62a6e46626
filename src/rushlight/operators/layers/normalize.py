"""Normalisation of vectors to length 1, and of channels by their neighbours."""

from __future__ import annotations

from typing import Any

from ...base.shapes import whole
from ...core.public import NAMESPACES, into, public
from ...core.tensor import Tensor


@public("functional")
def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Tensor:
    """Divide by the p-norm along a dimension, so that vectors have length 1.

    Args:
        input: any shape.
        p: which norm.
        dim: along which dimension, or dimensions.
        eps: the smallest divisor.

    Example:
        >>> F.normalize(torch.tensor([[3.0, 4.0], [0.0, 2.0]]))
        tensor([[0.6000, 0.8000],
                [0.0000, 1.0000]])
    """
    size = input.norm(p, dim, keepdim=True).clamp(min=eps)
    return into(out, input / size)


@public("functional")
def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """As `nn.LocalResponseNorm`, as one call."""
    ndim = input._a.ndim
    if ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {ndim} dimensions)")
    if input._a.size == 0:
        return input
    size = whole(size, "size")
    before, after = size // 2, (size - 1) // 2
    pad = NAMESPACES["functional"]["pad"]
    padded = pad(input * input, (0, 0) * (ndim - 2) + (before, after))
    channels = input._a.shape[1]
    total = padded.narrow(1, 0, channels)
    for shift in range(1, size):
        total = total + padded.narrow(1, shift, channels)
    return input / (total * (alpha / size) + k) ** beta
