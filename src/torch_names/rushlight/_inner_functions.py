"""PyTorch's inner names of derivatives and products, which some libraries call in functions of their own."""

from __future__ import annotations

from typing import Any

from .base.dtypes import float64, int8, int32, uint8
from .core.tensor import Tensor


def _softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    """The derivative of softmax from its result."""
    g = grad_output * output
    return (g - output * g.sum(dim, keepdim=True)).to(input_dtype)


def _log_softmax_backward_data(
    grad_output: Tensor, output: Tensor, dim: int, input_dtype: Any
) -> Tensor:
    """The derivative of log_softmax from its result."""
    return (grad_output - output.exp() * grad_output.sum(dim, keepdim=True)).to(input_dtype)


def _int_mm(input: Tensor, mat2: Tensor) -> Tensor:  # noqa: A002
    """The product of two matrices of int8, the first perhaps of uint8, in int32.

    Raises:
        RuntimeError: for other dtypes or numbers of dims.
    """
    for name, t in (("self", input), ("mat2", mat2)):
        if t.dim() != 2:
            raise RuntimeError(f"Expected {name} to be of dimension 2 but got {t.dim()}")
        if t.dtype != int8 and (name == "mat2" or t.dtype != uint8):
            raise RuntimeError(f"Expected {name} dtype to be of type int8 but got {t.dtype}")
    # Sums of products of bytes are exact in doubles, for which there are fast products.
    return (input.to(float64) @ mat2.to(float64)).to(int32)
