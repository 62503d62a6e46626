"""softmax and log_softmax on the GPU: one kernel forward, one backward."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import cupy

from ....door import kernel_for
from ...code.sources import NUMBERS, load
from ..fills import row_major

if TYPE_CHECKING:
    from .....base.protocols import DeviceArray

_LONG = 2048  # rows from here on take a whole block


def _along(kind: int, stem: str, arrays: tuple, dim: int) -> Any:
    """Launch the kernel of `stem` over the dim of equally shaped arrays."""
    shape = arrays[0].shape
    dim %= len(shape)
    arrays = tuple([row_major(a) for a in arrays])
    out = cupy.ndarray(shape, arrays[0].dtype)
    n, inner, rows = shape[dim], prod(shape[dim + 1 :]), prod(shape[:dim])
    sizes: tuple[int, ...] = (rows, n)
    share, threads, blocks = "warp", 128, -(-rows // 4)
    if inner > 1:
        blocks, sizes = -(-rows * inner // 128), (rows * inner, n, inner)
    elif n >= _LONG:
        share, threads, blocks = "block", 512 if n < 16384 else 1024, rows
    name = stem + "columns" if inner > 1 else (stem or "rows_") + share
    load("softmax.cu", name, out.dtype.char, KIND=kind)(blocks, threads, *arrays, out, *sizes)
    return out


def _register(name: str, kind: int) -> None:
    @kernel_for("cuda", name)
    def forward(x: DeviceArray, *, dim: int = -1) -> Any:
        if x.dtype.char not in NUMBERS or not x.size:
            return NotImplemented
        return _along(kind, "", (x,), dim)


def _register_grad(name: str, kind: int) -> None:
    @kernel_for("cuda", name)
    def backward(gy: DeviceArray, y: DeviceArray, *, dim: int) -> Any:
        if gy.dtype.char not in NUMBERS or not gy.size or gy.dtype != y.dtype:
            return NotImplemented
        return _along(kind, "grad_", (gy, y), dim)


_register("softmax", 0)
_register("log_softmax", 1)
_register("attention_weights", 2)
_register_grad("softmax_grad", 0)
_register_grad("log_softmax_grad", 1)
