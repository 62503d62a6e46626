"""PyTorch's `torch.testing`: comparing results, and tensors to try functions on."""

from .comparison import assert_close
from .creation import make_tensor

__all__ = ["assert_close", "make_tensor"]
