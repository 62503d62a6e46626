"""Batch norm with its neighbours on a GPU: what follows it happens while its result is in registers."""

from __future__ import annotations

from typing import Any

from ...base.arrays import DeviceArray
from ...runtime.cuda.bodies.layers.batch_norm import ADD_RELU, RELU, evaluate, grad, train
from ...runtime.door import kernel_for


@kernel_for("cuda", "batch_norm_relu")
def batch_norm_relu(
    x: DeviceArray, weight: DeviceArray | None, bias: DeviceArray | None, *, eps: float
) -> Any:
    """relu(batch norm of x), mean, 1 / standard deviation."""
    return train(x, weight, bias, eps, RELU)


@kernel_for("cuda", "batch_norm_add_relu")
def batch_norm_add_relu(
    x: DeviceArray,
    weight: DeviceArray | None,
    bias: DeviceArray | None,
    other: DeviceArray,
    *,
    eps: float,
) -> Any:
    """relu(batch norm of x + other), mean, 1 / standard deviation."""
    return train(x, weight, bias, eps, ADD_RELU, other)


@kernel_for("cuda", "batch_norm_eval_relu")
def batch_norm_eval_relu(
    x: DeviceArray,
    weight: DeviceArray | None,
    bias: DeviceArray | None,
    mean: DeviceArray,
    var: DeviceArray,
    *,
    eps: float,
) -> Any:
    """relu(batch norm of x by given statistics)."""
    return evaluate(x, weight, bias, mean, var, eps, RELU)


@kernel_for("cuda", "batch_norm_eval_add_relu")
def batch_norm_eval_add_relu(
    x: DeviceArray,
    weight: DeviceArray | None,
    bias: DeviceArray | None,
    mean: DeviceArray,
    var: DeviceArray,
    other: DeviceArray,
    *,
    eps: float,
) -> Any:
    """relu(batch norm of x by given statistics + other)."""
    return evaluate(x, weight, bias, mean, var, eps, ADD_RELU, other)


@kernel_for("cuda", "batch_norm_relu_grad")
def batch_norm_relu_grad(
    g: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray | None,
    bias: DeviceArray | None,
    mean: DeviceArray,
    invstd: DeviceArray,
    *,
    eps: float,
) -> Any:
    """Gradients of x, weight and bias of relu(batch norm)."""
    return grad(g, x, weight, bias, mean, invstd, RELU)


@kernel_for("cuda", "batch_norm_add_relu_grad")
def batch_norm_add_relu_grad(
    g: DeviceArray,
    more: DeviceArray | None,
    y: DeviceArray,
    x: DeviceArray,
    weight: DeviceArray | None,
    mean: DeviceArray,
    invstd: DeviceArray,
    *,
    eps: float,
) -> Any:
    """Gradients of the other summand, x, weight and bias of y = relu(batch norm + other)."""
    return grad(g, x, weight, None, mean, invstd, ADD_RELU, more, y)
