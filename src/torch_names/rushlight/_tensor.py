"""`torch._tensor`: where PyTorch defines Tensor."""

from .core.tensor import Tensor

__all__ = ["Tensor"]
