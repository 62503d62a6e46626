"""The kernel that a pass makes of a convolution with a bias and the relu behind it."""

from __future__ import annotations

from typing import Any

from ...runtime.door import KERNELS, Kernel
from .parts import PARTS


def _body(xp: Any, x: Any, w: Any, b: Any, **how: Any) -> Any:
    return KERNELS["relu"].generic(xp, KERNELS["conv"].generic(xp, x, w, b, **how))


def _by_parts(part: Any, arrays: list, attrs: dict) -> tuple[list, Any]:
    return arrays, part("relu", part("conv", *arrays, **attrs))


CONV_RELU = Kernel("conv_relu", _body)
PARTS["conv_relu"] = _by_parts
