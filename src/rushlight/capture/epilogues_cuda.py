"""Products with what follows them, on a GPU: cuBLASLt does both in one kernel."""

from __future__ import annotations

from typing import Any

from ..backend.cuda import blas
from ..backend.door import kernel_for


@kernel_for("cuda", "linear_relu")
def linear_relu(x: Any, w: Any, b: Any) -> Any:
    """relu(x @ w.T + b)."""
    return blas.linear(x, w, b, activation="relu")


@kernel_for("cuda", "linear_grads")
def linear_grads(g: Any, x: Any) -> Any:
    """g.T @ x and the sums of g over its rows."""
    return blas.grad_weight(g, x)
