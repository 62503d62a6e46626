"""softmax and log_softmax on the GPU: one kernel forward, one backward."""

from __future__ import annotations

from math import prod
from typing import Any

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ...code.launch import Result
from ...code.sources import NUMBERS, load
from ..fills import one_launch

_LONG = 2048  # rows from here on take a whole block


def _kernel(kind: int, stem: str, x: DeviceArray, dim: int) -> tuple[Any, int, int, tuple]:
    """The launch of `stem` over a dim of arrays like this, its blocks and threads, and the sizes it is told."""
    shape = x.shape
    dim %= len(shape)
    n, inner, rows = shape[dim], prod(shape[dim + 1 :]), prod(shape[:dim])
    sizes: tuple[int, ...] = (rows, n)
    share, threads, blocks = "warp", 128, -(-rows // 4)
    if inner > 1:
        blocks, sizes = -(-rows * inner // 128), (rows * inner, n, inner)
    elif n >= _LONG:
        share, threads, blocks = "block", 512 if n < 16384 else 1024, rows
    name = stem + "columns" if inner > 1 else (stem or "rows_") + share
    return load("softmax.cu", name, x.dtype.char, KIND=kind), blocks, threads, sizes


def _register(name: str, kind: int, stem: str = "") -> None:
    def prepare(*arrays: DeviceArray, dim: int = -1) -> Any:
        x = arrays[0]
        if x.dtype.char not in NUMBERS or not x.size:
            return None
        if not all(a._c_contiguous and a.dtype == x.dtype for a in arrays):
            return None
        launch, blocks, threads, sizes = _kernel(kind, stem, x, dim)
        return launch.prepared(blocks, threads, (Result(len(arrays), x.shape, x.dtype),), *sizes)

    kernel_for("cuda", name)(one_launch(prepare))


_register("softmax", 0)
_register("log_softmax", 1)
_register("attention_weights", 2)
_register("softmax_grad", 0, "grad_")
_register("log_softmax_grad", 1, "grad_")
