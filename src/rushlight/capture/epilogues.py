"""Kernels that passes make of a product and what follows it: generic bodies, and the GPU's own."""

from __future__ import annotations

from typing import Any

from ..backend.door import KERNELS, Kernel


def _linear_relu(xp: Any, x: Any, w: Any, b: Any) -> Any:
    return xp.maximum(KERNELS["linear"].generic(xp, x, w, b), 0)


def _linear_grads(xp: Any, g: Any, x: Any) -> tuple:
    return KERNELS["mm_tn"].generic(xp, g, x), g.sum(axis=0, dtype=g.dtype)


LINEAR_RELU = Kernel("linear_relu", _linear_relu)
LINEAR_GRADS = Kernel("linear_grads", _linear_grads)  # of the weight and of the bias
