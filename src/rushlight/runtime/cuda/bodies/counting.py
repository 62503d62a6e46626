"""Counting and searching where CuPy's functions differ from NumPy's, and losses in two launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from ...door import KERNELS, kernel_for
from ..code.expressions import Expression, printed
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
    body = KERNELS["unique"].fallbacks[ndarray]
    values, inverse, counts = body(x.astype(np.uint8), dim=dim)
    return values.astype(np.bool_), inverse, counts


# -- losses ---------------------------------------------------------------------------------------


def _reduced(loss: DeviceArray, reduction: str) -> Any:
    if loss is NotImplemented or reduction == "none":
        return loss
    return reduce("mean" if reduction == "mean" else "sum", loss, None, False)


def _expressions(name: str) -> tuple[Expression, Expression]:
    """The loss of one pair and its slope, as the records of the two kernels say them."""
    each, slope = printed(KERNELS[name].facts.each), printed(KERNELS[f"{name}_grad"].facts.each)
    text = f"({slope.text['f']}) * (gy * scale)"
    return (
        Expression("x y", "beta", f=each.text["f"]),
        Expression("gy x y", "beta scale", f=text),
    )


def _loss(name: str) -> None:
    """Register a loss and its gradient."""
    loss, grad = _expressions(name)

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


for _name in [k for k, kernel in KERNELS.whole().items() if kernel.facts.each is not None]:
    if not _name.endswith("_grad"):
        _loss(_name)
