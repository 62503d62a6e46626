"""Distances and similarities between pairs."""

from __future__ import annotations

from ...core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """The p-norm of the difference of two vectors.

    Args:
        p: which norm.
        eps: added to differences, so that the distance can be differentiated at 0.

    Shape:
        (N, D) or (D,), twice -> (N,) or ().

    Example:
        >>> nn.PairwiseDistance()(torch.tensor([[0.0, 0.0]]), torch.tensor([[3.0, 4.0]]))
        tensor([5.0000])
    """

    __constants__ = ["norm", "eps", "keepdim"]

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """Cosine of the angle between two vectors.

    Args:
        dim: along which dimension the vectors lie.
        eps: the smallest norm that is divided by.

    Shape:
        (*, D, *), twice -> (*, *).

    Example:
        >>> nn.CosineSimilarity()(torch.tensor([[1.0, 0.0]]), torch.tensor([[0.6, 0.8]]))
        tensor([0.6000])
    """

    __constants__ = ["dim", "eps"]

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
