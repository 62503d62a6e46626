"""Layers that merge and split dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...core.tensor import Tensor
from .module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Merge neighbouring dimensions into one; the batch dimension stays by default.

    Args:
        start_dim: the first that is merged.
        end_dim: the last that is merged.

    Shape:
        (N, A, B, *) -> (N, A B *).

    Example:
        >>> nn.Flatten()(torch.zeros(32, 8, 5, 5)).shape
        torch.Size([32, 200])
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim: int = 1, end_dim: int = -1) -> None:
        super().__init__()
        self.start_dim = start_dim
        self.end_dim = end_dim

    def forward(self, input: Tensor) -> Tensor:
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self) -> str:
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """Split one dimension into several.

    Args:
        unflattened_size: the sizes it becomes; one of them may be -1.

    Shape:
        (*, A B, *) -> (*, A, B, *).

    Raises:
        TypeError: if `dim` is not an int or the sizes are not ints.

    Example:
        >>> nn.Unflatten(1, (2, 5, 5))(torch.zeros(32, 50)).shape
        torch.Size([32, 2, 5, 5])
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim: int | str, unflattened_size: Sequence[Any]) -> None:
        super().__init__()
        if isinstance(dim, str):
            raise NotImplementedError("rushlight has no named dimensions; give the dim as an int")
        if not isinstance(dim, int):
            raise TypeError("invalid argument type for dim parameter")
        _check_size(unflattened_size)
        self.dim = dim
        self.unflattened_size = unflattened_size

    def forward(self, input: Tensor) -> Tensor:
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"


def _check_size(size: Sequence[Any]) -> None:
    if not isinstance(size, (tuple, list)):
        raise TypeError(f"unflattened_size must be a tuple of ints, but found type {type(size).__name__}")
    for i, element in enumerate(size):
        if not isinstance(element, int):
            raise TypeError(
                f"unflattened_size must be tuple of ints, but found element of type {type(element).__name__} at pos {i}"
            )
