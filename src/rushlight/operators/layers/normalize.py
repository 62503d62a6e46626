"""Normalisation of vectors, and the family's other files, imported here."""

from __future__ import annotations

from typing import Any

from ...core.public import NAMESPACES, into, public
from ...core.tensor import Tensor


@public("functional")
def normalize(
    input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None
) -> Tensor:
    """`input` divided by its p-norm along `dim`, or by `eps` where that is larger."""
    size = input.norm(p, dim, keepdim=True).clamp(min=eps)
    return into(out, input / size)


@public("functional")
def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Each channel divided by a power of the mean square of its `size` neighbouring channels."""
    ndim = input._a.ndim
    if ndim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {ndim} dimensions)")
    if input._a.size == 0:
        return input
    before, after = size // 2, (size - 1) // 2
    pad = NAMESPACES["functional"]["pad"]
    padded = pad(input * input, (0, 0) * (ndim - 2) + (before, after))
    channels = input._a.shape[1]
    total = padded.narrow(1, 0, channels)
    for shift in range(1, size):
        total = total + padded.narrow(1, shift, channels)
    return input / (total * (alpha / size) + k) ** beta
