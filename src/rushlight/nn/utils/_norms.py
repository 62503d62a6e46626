"""The norms that weight and spectral normalisation divide by."""

from __future__ import annotations

from ...core.tensor import Tensor
from .. import functional as F


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm over all dimensions but `dim` (-1: over all), with a shape that divides `v`."""
    if dim == -1:
        return v.norm(pow)
    dims = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.norm(pow, dims, keepdim=True) if dims else v.abs()


def scaled_to_norm(v: Tensor, g: Tensor, dim: int = 0) -> Tensor:
    """Scale `v` so that its norms are `g`."""
    return v * (g / norm_except_dim(v, 2, dim))


def as_matrix(weight: Tensor, dim: int) -> Tensor:
    """The weight as a matrix whose rows run along `dim`."""
    if dim != 0:
        rest = [d for d in range(weight.dim()) if d != dim]
        weight = weight.permute(dim, *rest)
    return weight.reshape(weight.size(0), -1)


def power_steps(
    matrix: Tensor, u: Tensor, v: Tensor, steps: int, eps: float, v_first: bool = False
) -> tuple[Tensor, Tensor]:
    """Better estimates of the first singular vectors, by power iteration."""
    for _ in range(steps):
        if v_first:  # the older function, which has no complex weights
            v = F.normalize(matrix.t().mv(u), dim=0, eps=eps)
            u = F.normalize(matrix.mv(v), dim=0, eps=eps)
        else:
            u = F.normalize(matrix.mv(v), dim=0, eps=eps)
            v = F.normalize(matrix.mH.mv(u), dim=0, eps=eps)
    return u, v
