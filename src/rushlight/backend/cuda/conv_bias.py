"""The gradients of a convolution's weight and bias on the GPU, asked for together."""

from __future__ import annotations

from typing import Any

from ..door import kernel_for
from .conv import conv_grad_weight
from .reduce import reduce


@kernel_for("cuda", "conv_grads")
def conv_grads(gy: Any, x: Any, **how: Any) -> Any:
    """Two launches, one op: until a kernel finds both, the host's way is what is saved."""
    gw = conv_grad_weight(gy, x, **how)
    if gw is NotImplemented:
        return NotImplemented
    return gw, reduce("sum", gy, (0, *range(2, gy.ndim)), False)
