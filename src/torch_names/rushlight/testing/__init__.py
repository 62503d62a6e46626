"""PyTorch's `torch.testing`: comparing results, and tensors to try functions on."""

from ._comparison import assert_close
from .creation import make_tensor
from .older import assert_allclose

__all__ = ["assert_allclose", "assert_close", "make_tensor"]
