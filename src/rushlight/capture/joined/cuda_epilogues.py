"""A dense layer's joined kernels on a GPU: our own where products are small, cuBLASLt's epilogues elsewhere."""

from __future__ import annotations

from typing import Any

import cupy

from ...base.arrays import DeviceArray
from ...runtime.cuda.bodies import products as blas
from ...runtime.cuda.bodies.column_sums import with_sums
from ...runtime.cuda.bodies.layers import cross_entropy
from ...runtime.cuda.code.expressions import expression_of
from ...runtime.cuda.small import dense, head
from ...runtime.door import KERNELS, kernel_for, run
from .epilogues import step_by_parts, whole_by_parts


@kernel_for("cuda", "linear_relu")
def linear_relu(x: DeviceArray, w: DeviceArray, b: DeviceArray | None) -> Any:
    """relu(x @ w.T + b)."""
    return blas.linear(x, w, b, activation="relu")


@kernel_for("cuda", "linear_gelu")
def linear_gelu(x: DeviceArray, w: DeviceArray, b: DeviceArray | None) -> Any:
    """gelu(x @ w.T + b) by tanh."""
    return blas.linear(x, w, b, activation="gelu")


@kernel_for("cuda", "gelu_grad_sums")
def gelu_grad_sums(gy: DeviceArray, x: DeviceArray, *, approximate: str) -> Any:
    """The gradient of gelu, and its sums over all rows."""
    gelu_grad = expression_of("gelu_grad", {"approximate": approximate})
    assert gelu_grad is not None  # pointwise by its record
    return with_sums(gelu_grad, (gy, x))


@kernel_for("cuda", "mm_masked")
def mm_masked(g: DeviceArray, w: DeviceArray, y: DeviceArray) -> Any:
    """g @ w where y is positive."""
    (m, k), n = g.shape, w.shape[1]
    if not y._c_contiguous:
        return NotImplemented
    out = dense.product("nn", g, w, m, n, k, mask=y)
    return NotImplemented if out is None else out


@kernel_for("cuda", "linear_backward")
def linear_backward(g: DeviceArray, x: DeviceArray, w: DeviceArray, y: DeviceArray | None) -> Any:
    """All gradients of a layer with few rows."""
    out = dense.backward(g, x, w, y)
    return NotImplemented if out is None else out


@kernel_for("cuda", "cross_entropy_step")
def cross_entropy_step(
    x: DeviceArray, target: DeviceArray, gy: DeviceArray, *, ignore_index: int, reduction: str
) -> Any:
    """The loss and its gradient by the logits."""
    return cross_entropy.step(x, target, gy, ignore_index, reduction)


@kernel_for("cuda", "cross_entropy_grad_over")
def cross_entropy_grad_over(
    gy: DeviceArray, x: DeviceArray, stats: DeviceArray, target: DeviceArray, *, ignore_index: int, reduction: str
) -> Any:
    """The gradient by the logits in their place."""
    return cross_entropy.grad_over(gy, x, stats, target, ignore_index, reduction)


def _part(name: str, *arrays: Any, **attrs: Any) -> Any:
    return run(KERNELS[name], cupy.ndarray, arrays, attrs)


@kernel_for("cuda", "head_step")
def head_step(*arrays: Any, **attrs: Any) -> Any:
    """The loss, its gradients by the logits and by the layer's input."""
    out = head.step(*arrays, **attrs)
    return step_by_parts(_part, *arrays, **attrs) if out is NotImplemented else out


@kernel_for("cuda", "head_whole")
def head_whole(*arrays: Any, **attrs: Any) -> Any:
    """The loss, its gradients by the layer's input, weight and bias."""
    out = head.step(*arrays, **attrs, whole=True)
    return whole_by_parts(_part, *arrays, **attrs) if out is NotImplemented else out
