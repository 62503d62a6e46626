"""Activation functions."""

from __future__ import annotations

from typing import Any

from ..core.inplace import change
from ..core.op import Op
from ..core.public import publish
from ..core.tensor import Tensor
from .pointwise import same_meta


def _grad_meta(gy: Any, x: Any, **attrs: Any) -> tuple:
    return x.shape, x.dtype


relu_op = Op(lambda xp, x: xp.maximum(x, 0), "relu", meta=same_meta)
relu_grad = Op(lambda xp, gy, y: gy * (y > 0), "relu_grad", meta=_grad_meta)
relu_op.derivative(x=lambda g, out: relu_grad(g, out))
relu_grad.derivative(gy=lambda g, y: relu_grad(g, y))


def relu(input: Tensor) -> Tensor:
    """max(0, x)."""
    if input._a.dtype.kind == "b":
        raise RuntimeError("Boolean inputs not supported for relu")
    return relu_op(input)


def relu_(input: Tensor) -> Tensor:
    """In-place `relu`."""
    return change(input, relu)


def _f_relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(0, x)."""
    return change(input, relu) if inplace else relu(input)


for _place in ("torch", "Tensor"):
    publish(_place, "relu", relu)
    publish(_place, "relu_", relu_)
publish("functional", "relu", _f_relu)
publish("functional", "relu_", relu_)
