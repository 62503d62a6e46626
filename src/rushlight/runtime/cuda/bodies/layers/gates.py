"""Gated linear units on the GPU: one kernel forward, one backward."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ...code.sources import NUMBERS, blocks_for, load
from ..fills import row_major


@kernel_for("cuda", "glu")
def glu(x: DeviceArray, *, dim: int) -> Any:
    """The first half along `dim` times the sigmoid of the second."""
    if x.dtype.char not in NUMBERS or not x.size:
        return NotImplemented
    x = row_major(x)
    half = x.shape[dim] // 2
    out = cupy.ndarray((*x.shape[:dim], half, *x.shape[dim + 1 :]), x.dtype)
    load("gates.cu", "glu", x.dtype.char)(blocks_for(out.size), 256, x, out, out.size, half * prod(x.shape[dim + 1 :]))
    return out


@kernel_for("cuda", "glu_grad")
def glu_grad(gy: DeviceArray, x: DeviceArray, *, dim: int) -> Any:
    """The gradients of both halves, beside each other as the halves are."""
    if x.dtype.char not in NUMBERS or gy.dtype != x.dtype or not x.size:
        return NotImplemented
    gy, x = row_major(gy), row_major(x)
    gx = cupy.ndarray(x.shape, x.dtype)
    inner = x.shape[dim] // 2 * prod(x.shape[dim + 1 :])
    load("gates.cu", "glu_grad", x.dtype.char)(blocks_for(gy.size), 256, gy, x, gx, gy.size, inner)
    return gx
