"""softmax, log_softmax and cross entropy on the GPU: one kernel forward, one backward."""

from __future__ import annotations

from math import prod
from typing import Any

import cupy
import numpy as np

from ..door import kernel_for
from .sources import NUMBERS, blocks_for, counter, load, partials

_LONG = 2048  # rows from here on take a whole block
_COUNT_ONCE = (
    8192  # with more targets than this the valid ones are counted by a launch of their own
)
_MODES = {"none": 0, "mean": 1, "sum": 2}


def _dense(a: Any) -> Any:
    return a if a._c_contiguous else cupy.ascontiguousarray(a)


def _along(kind: int, stem: str, arrays: tuple, dim: int) -> Any:
    """Launch the kernel of `stem` over the dim of equally shaped arrays."""
    shape = arrays[0].shape
    dim %= len(shape)
    arrays = tuple([_dense(a) for a in arrays])
    out = cupy.ndarray(shape, arrays[0].dtype)
    n, inner = shape[dim], prod(shape[dim + 1 :])
    rows = prod(shape[:dim])
    char = out.dtype.char
    pointers = [a.data.ptr for a in (*arrays, out)]
    formats = ("P",) * len(pointers)
    if inner > 1:
        launch = load("softmax.cu", stem + "columns", (*formats, "q", "i", "q"), char, KIND=kind)
        launch(-(-rows * inner // 128), 128, *pointers, rows * inner, n, inner)
    elif n < _LONG:
        launch = load(
            "softmax.cu", (stem or "rows_") + "warp", (*formats, "q", "i"), char, KIND=kind
        )
        launch(-(-rows // 4), 128, *pointers, rows, n)
    else:
        launch = load(
            "softmax.cu", (stem or "rows_") + "block", (*formats, "q", "i"), char, KIND=kind
        )
        launch(rows, 512 if n < 16384 else 1024, *pointers, rows, n)
    return out


def _register(name: str, kind: int) -> None:
    @kernel_for("cuda", name)
    def forward(x: Any, *, dim: int = -1) -> Any:
        if x.dtype.char not in NUMBERS or not x.size:
            return NotImplemented
        return _along(kind, "", (x,), dim)


def _register_grad(name: str, kind: int) -> None:
    @kernel_for("cuda", name)
    def backward(gy: Any, y: Any, *, dim: int) -> Any:
        if gy.dtype.char not in NUMBERS or not gy.size or gy.dtype != y.dtype:
            return NotImplemented
        return _along(kind, "grad_", (gy, y), dim)


_register("softmax", 0)
_register("log_softmax", 1)
_register("attention_weights", 2)
_register_grad("softmax_grad", 0)
_register_grad("log_softmax_grad", 1)


# -- cross entropy ------------------------------------------------------------------------------

_LABELS = {"l": "i64", "q": "i64", "B": "u8"}
_FORWARD = ("P", "P", "P", "P", "P", "P", "q", "i", "q")
_BACKWARD = ("P", "P", "P", "P", "P", "q", "i", "q")


def _lanes(n: int) -> int:
    """Threads that share a row: about four classes each."""
    for lanes in (4, 8, 16):
        if n <= 4 * lanes:
            return lanes
    return 32


@kernel_for("cuda", "cross_entropy_fused")
def cross_entropy_fused(x: Any, target: Any, *, ignore_index: int, reduction: str) -> Any:
    char, label = x.dtype.char, _LABELS.get(target.dtype.char)
    if char not in NUMBERS or label is None or not x.size:
        return NotImplemented
    x, target = _dense(x), _dense(target)
    rows, n = x.shape
    probs = cupy.ndarray(x.shape, x.dtype)
    out = cupy.ndarray(target.shape if reduction == "none" else (), x.dtype)
    mode = _MODES[reduction]
    if n < _LONG:
        lanes = _lanes(n)
        name, threads = "cross_entropy", 256
        blocks = min(-(-rows * lanes // 256), 1024)
    else:
        lanes, name, threads, blocks = 32, "cross_entropy_block", 512, min(rows, 1024)
    several = blocks > 1 and mode
    load("softmax.cu", name, _FORWARD, char, MODE=mode, LANES=lanes, LABEL=label)(
        blocks, threads, x.data.ptr, target.data.ptr, out.data.ptr, probs.data.ptr,
        partials() if several else 0, counter() if several else 0, rows, n, ignore_index,
    )  # fmt: skip
    return out, probs


@kernel_for("cuda", "cross_entropy_grad")
def cross_entropy_grad(
    gy: Any, probs: Any, target: Any, *, ignore_index: int, reduction: str
) -> Any:
    char, label = probs.dtype.char, _LABELS.get(target.dtype.char)
    if char not in NUMBERS or label is None or not probs.size or gy.dtype != probs.dtype:
        return NotImplemented
    gy, probs, target = _dense(gy), _dense(probs), _dense(target)
    rows, n = probs.shape
    gx = cupy.ndarray(probs.shape, probs.dtype)
    mode = _MODES[reduction]
    seen = None
    if mode == 1 and rows > _COUNT_ONCE:
        seen = cupy.ndarray((), np.float64 if char == "d" else np.float32)
        load("softmax.cu", "count_valid", ("P", "P", "q", "q"), char, LABEL=label)(
            1, 1024, target.data.ptr, seen.data.ptr, rows, ignore_index
        )
    load("softmax.cu", "cross_entropy_grad", _BACKWARD, char, MODE=mode, LABEL=label)(
        blocks_for(rows * n), 256, gy.data.ptr, probs.data.ptr, target.data.ptr, gx.data.ptr,
        0 if seen is None else seen.data.ptr, rows, n, ignore_index,
    )  # fmt: skip
    return gx
