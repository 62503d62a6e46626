"""Rotary embeddings on the GPU: one kernel for x cos + rotated(x) sin, whatever memory the operands lie in."""

from __future__ import annotations

from typing import Any

import cupy

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ...code.sources import NUMBERS, blocks_for, load


def _steps(a: DeviceArray, dims: int) -> list[int]:
    """Steps of an operand along the three dims in front of the last, 0 where it is broadcast."""
    front = [0] * (dims - a.ndim)
    own = [0 if n == 1 else s // a.itemsize for n, s in zip(a.shape[:-1], a.strides[:-1])]
    return [0] * (4 - dims) + front + own


@kernel_for("cuda", "rotary")
def rotary(x: DeviceArray, cos: DeviceArray, sin: DeviceArray, *, back: bool, order: tuple[int, ...]) -> Any:
    dims, char = x.ndim, x.dtype.char
    if char not in NUMBERS or dims > 4 or not x.size:
        return NotImplemented
    if any(a.dtype != x.dtype or a.strides[-1] != a.itemsize for a in (x, cos, sin)):
        return NotImplemented
    out = cupy.ndarray(tuple([x.shape[axis] for axis in order]), x.dtype)
    out = out.transpose([order.index(axis) for axis in range(dims)])
    size = [1] * (4 - dims) + list(x.shape[:-1])
    steps = [step for a in (x, cos, sin, out) for step in _steps(a, dims)]
    half = x.shape[-1] // 2
    load("rotary.cu", "rotate", char)(
        blocks_for(x.size // 2), 256, x, cos, sin, out, x.size // 2, half, int(back), *size, *steps
    )
    return out
