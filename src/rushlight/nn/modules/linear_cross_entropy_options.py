"""The options of LinearCrossEntropyLoss, at PyTorch's path."""

from ._linear_cross_entropy import LinearCrossEntropyOptions

__all__ = ["LinearCrossEntropyOptions"]
