"""Batch norm with its neighbours on a GPU: what follows it happens while its result is in registers."""

from __future__ import annotations

from typing import Any

from ...runtime.cuda.bodies.layers.batch_norm import ADD_RELU, RELU, differentiating, evaluating, lying, training
from ...runtime.door import kernel_for


def _relu(x: Any, weight: Any, bias: Any, *, eps: float) -> Any:
    """relu(batch norm of x), mean, 1 / standard deviation."""
    return training(x, weight, bias, eps, RELU)


def _add_relu(x: Any, weight: Any, bias: Any, other: Any, *, eps: float) -> Any:
    """relu(batch norm of x + other), mean, 1 / standard deviation."""
    return training(x, weight, bias, eps, ADD_RELU, other)


def _relu_grad(g: Any, x: Any, weight: Any, bias: Any, mean: Any, invstd: Any, *, eps: float) -> Any:
    """Gradients of x, weight and bias of relu(batch norm)."""
    return differentiating(g, x, weight, bias, mean, invstd, RELU)


def _add_relu_grad(g: Any, more: Any, y: Any, x: Any, weight: Any, mean: Any, invstd: Any, *, eps: float) -> Any:
    """Gradients of the other summand, x, weight and bias of y = relu(batch norm + other)."""
    call = differentiating(g, x, weight, None, mean, invstd, ADD_RELU, more, y)
    return call and (lambda g, more, y, x, weight, *stats: call(g, x, weight, None, *stats, more, y))


kernel_for("cuda", "batch_norm_relu")(lying(0, _relu))
kernel_for("cuda", "batch_norm_add_relu")(lying(0, _add_relu))
kernel_for("cuda", "batch_norm_eval_relu")(evaluating(RELU))
kernel_for("cuda", "batch_norm_eval_add_relu")(evaluating(ADD_RELU))
kernel_for("cuda", "batch_norm_relu_grad")(lying(1, _relu_grad))
kernel_for("cuda", "batch_norm_add_relu_grad")(lying(3, _add_relu_grad))
