"""Counting and searching where CuPy's functions differ from NumPy's, and losses in two launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from ...door import kernel_for
from ..code.expressions import Expression
from .pointwise import compute
from .reduce import reduce

if TYPE_CHECKING:
    from ....base.protocols import DeviceArray

ndarray = cupy.ndarray


@kernel_for("cuda", "isin")
def _isin(x: DeviceArray, y: Any, *, invert: bool) -> Any:
    if x.__class__ is not ndarray:
        x = cupy.asarray(x)
    if y.__class__ is not ndarray:
        y = cupy.asarray(y)
    if x.dtype.kind == "V":
        x, y = x.astype(np.float32), y.astype(np.float32)
    return cupy.isin(x, y, invert=invert)


@kernel_for("cuda", "unique")
def _unique(x: DeviceArray, *, dim: int | None) -> Any:
    if x.dtype.kind != "b":
        return NotImplemented
    from ...door import KERNELS

    body = KERNELS["unique"].fallbacks[ndarray]
    values, inverse, counts = body(x.astype(np.uint8), dim=dim)
    return values.astype(np.bool_), inverse, counts


# -- losses ---------------------------------------------------------------------------------------


def _reduced(loss: DeviceArray, reduction: str) -> Any:
    if loss is NotImplemented or reduction == "none":
        return loss
    return reduce("mean" if reduction == "mean" else "sum", loss, None, False)


def _loss(name: str, each: str, slope: str) -> None:
    """Register a loss and its gradient, whose texts are given for one element."""
    loss = Expression("x y", "beta", f=each)
    grad = Expression("gy x y", "beta scale", f=f"{slope} * (gy * scale)")

    def forward(x: DeviceArray, y: DeviceArray, *, reduction: str, beta: float = 0.0) -> Any:
        return _reduced(compute(loss, (x, y), (beta,)), reduction)

    def backward(
        gy: DeviceArray, x: DeviceArray, y: DeviceArray, *, reduction: str, beta: float = 0.0
    ) -> Any:
        scale = 1.0 / x.size if reduction == "mean" and x.size else 1.0
        if gy.dtype != x.dtype:
            return NotImplemented
        return compute(grad, (gy, x, y), (beta, scale))

    kernel_for("cuda", name)(forward)
    kernel_for("cuda", f"{name}_grad")(backward)


_D, _SIGN = "(x - y)", "T(x > y) - T(x < y)"
_loss("mse_loss", f"{_D} * {_D}", f"{_D} * T(2)")
_loss("l1_loss", f"fabs({_D})", f"({_SIGN})")
_loss(
    "smooth_l1_loss",
    f"fabs({_D}) < beta ? T(0.5) / beta * {_D} * {_D} : fabs({_D}) - T(0.5) * beta",
    f"(beta == T(0) ? {_SIGN} : bottom(top({_D} / beta, T(-1)), T(1)))",
)
_loss(
    "huber_loss",
    f"fabs({_D}) <= beta ? T(0.5) * {_D} * {_D} : beta * (fabs({_D}) - T(0.5) * beta)",
    f"bottom(top({_D}, -beta), beta)",
)
_loss(
    "binary_cross_entropy",
    "(y - T(1)) * top(log1p(-x), T(-100)) - y * top(log(x), T(-100))",
    "(x - y) / top((T(1) - x) * x, T(1e-12))",
)
_loss(
    "binary_cross_entropy_with_logits",
    "top(x, T(0)) - x * y + log1p(exp(-fabs(x)))",
    "(sigmoid(x) - y)",
)
