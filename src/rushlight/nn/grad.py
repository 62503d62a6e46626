"""Gradients of convolutions with respect to their input and weight, as functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core.gradients.differentiate import grad
from ..core.modes import enable_grad
from ..core.tensor import Tensor
from ..operators.layers import conv

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


_INPUT = """Return the gradient of `conv{n}d` with respect to its input.

Args:
    input_size: shape of the input.
    weight: the weight.
    grad_output: the gradient of the output.
    stride, padding, dilation, groups: those of the convolution.

Example:
    >>> weight = torch.full((2, 1{ones}), 3.0)
    >>> nn.grad.conv{n}d_input((1, 1{ones}), weight, torch.ones(1, 2{ones})).item()
    6.0
"""

_WEIGHT = """Return the gradient of `conv{n}d` with respect to its weight.

Args:
    input: the input.
    weight_size: shape of the weight.
    grad_output: the gradient of the output.
    stride, padding, dilation, groups: those of the convolution.

Example:
    >>> x = torch.full((2, 1{ones}), 3.0)
    >>> nn.grad.conv{n}d_weight(x, (1, 1{ones}), torch.ones(2, 1{ones})).item()
    6.0
"""


def _input_gradient(n: int) -> Callable[..., Tensor]:
    def gradient(
        input_size: Sequence[int],
        weight: Tensor,
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        with enable_grad():
            x = weight.detach().new_zeros(tuple(input_size)).requires_grad_()
            y = getattr(conv, f"conv{n}d")(x, weight, None, stride, padding, dilation, groups)
        return grad(y, x, grad_output)[0]

    gradient.__name__ = gradient.__qualname__ = f"conv{n}d_input"
    gradient.__doc__ = _INPUT.format(n=n, ones=", 1" * n)
    return gradient


def _weight_gradient(n: int) -> Callable[..., Tensor]:
    def gradient(
        input: Tensor,
        weight_size: Sequence[int],
        grad_output: Tensor,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
    ) -> Tensor:
        with enable_grad():
            w = input.detach().new_zeros(tuple(weight_size)).requires_grad_()
            y = getattr(conv, f"conv{n}d")(input, w, None, stride, padding, dilation, groups)
        return grad(y, w, grad_output)[0]

    gradient.__name__ = gradient.__qualname__ = f"conv{n}d_weight"
    gradient.__doc__ = _WEIGHT.format(n=n, ones=", 1" * n)
    return gradient


conv1d_input, conv1d_weight = _input_gradient(1), _weight_gradient(1)
conv2d_input, conv2d_weight = _input_gradient(2), _weight_gradient(2)
conv3d_input, conv3d_weight = _input_gradient(3), _weight_gradient(3)
