"""Cross entropy on the GPU: loss and probabilities in one kernel, the derivative in another."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ....base.bounded import Bounded
from ...door import kernel_for
from ..code.launch import Result
from ..code.sources import NUMBERS, blocks_for, counter, device, load, partials

_LONG = 2048  # rows from here on take a whole block
_COUNT_ONCE = (
    8192  # with more targets than this the valid ones are counted by a launch of their own
)
MODES = {"none": 0, "mean": 1, "sum": 2}
LABELS = {"l": "i64", "q": "i64", "B": "u8"}
_FORWARD = ("P", "P", "P", "P", "P", "P", "q", "i", "q", "i")
_STEP = ("P", *_FORWARD)
_BACKWARD = ("P", "P", "P", "P", "P", "q", "i", "q", "i")


def _dense(a: Any) -> Any:
    return a if a._c_contiguous else cupy.ascontiguousarray(a)


def _lanes(n: int) -> int:
    """Threads that share a row: about four classes each."""
    for lanes in (4, 8, 16):
        if n <= 4 * lanes:
            return lanes
    return 32


class _Forward:
    """The loss of one shape, ready to launch."""

    __slots__ = ("go", "several")

    def __init__(self, rows: int, n: int, dtype: Any, label: str, ignore: int, mode: int) -> None:
        if n < _LONG:
            lanes = _lanes(n)
            name, threads = f"cross_entropy_{lanes}", 256
            blocks = min(-(-rows * lanes // 256), 1024)
        else:
            name, threads, blocks = "cross_entropy_block", 512, min(rows, 1024)
        self.several = bool(blocks > 1 and mode)
        launch = load("cross_entropy.cu", name, _FORWARD, dtype.char, LABEL=label)
        results = (Result(2, () if mode else (rows,), dtype), Result(3, (rows, n), dtype))
        self.go = launch.prepared(
            (blocks, 1, 1), (threads, 1, 1), 0, 6, results, rows, n, ignore, mode
        )


_forwards: dict[tuple, _Forward] = Bounded(1024)
_grads: dict[tuple, Any] = Bounded(1024)


@kernel_for("cuda", "cross_entropy_fused")
def cross_entropy_fused(x: Any, target: Any, *, ignore_index: int, reduction: str) -> Any:
    key = (x.shape, x.dtype.char, target.dtype.char, ignore_index, reduction, device())
    found = _forwards.get(key)
    if found is None:
        label = LABELS.get(target.dtype.char)
        if x.dtype.char not in NUMBERS or label is None or not x.size:
            return NotImplemented
        rows, n = x.shape
        found = _Forward(rows, n, x.dtype, label, ignore_index, MODES[reduction])
        _forwards[key] = found
    x, target = _dense(x), _dense(target)
    if found.several:
        return found.go(x, target, partials(), counter())
    return found.go(x, target, None, None)


def step(x: Any, target: Any, gy: Any, ignore_index: int, reduction: str) -> Any:
    """The loss and the gradient of the logits in one launch; for rows that are not long."""
    char, label = x.dtype.char, LABELS.get(target.dtype.char)
    rows, n = x.shape
    if char not in NUMBERS or label is None or not x.size or n >= _LONG or gy.dtype != x.dtype:
        return NotImplemented
    x, target, gy = _dense(x), _dense(target), _dense(gy)
    lanes, mode = _lanes(n), MODES[reduction]
    # One block need not wait for others; float64 has registers for 512 threads of them.
    most = 512 if char == "d" else 1024
    threads = 256 if rows * lanes > 4096 else min(most, -(-rows * lanes // 32) * 32)
    blocks = 1 if rows * lanes <= 4096 else min(-(-rows * lanes // 256), 1024)
    gx = cupy.ndarray(x.shape, x.dtype)
    out = cupy.ndarray(target.shape if reduction == "none" else (), x.dtype)
    several = blocks > 1 and mode
    load("cross_entropy.cu", f"cross_entropy_step_{lanes}", _STEP, char, LABEL=label)(
        blocks, threads, x.data.ptr, target.data.ptr, gy.data.ptr, out.data.ptr, gx.data.ptr,
        partials() if several else 0, counter() if several else 0, rows, n, ignore_index, mode,
    )  # fmt: skip
    return out, gx


@kernel_for("cuda", "cross_entropy_grad")
def cross_entropy_grad(
    gy: Any, probs: Any, target: Any, *, ignore_index: int, reduction: str
) -> Any:
    char, label = probs.dtype.char, LABELS.get(target.dtype.char)
    if char not in NUMBERS or label is None or not probs.size or gy.dtype != probs.dtype:
        return NotImplemented
    gy, probs, target = _dense(gy), _dense(probs), _dense(target)
    rows, n = probs.shape
    mode = MODES[reduction]
    key = (rows, n, probs.dtype, label, ignore_index, mode, device())
    go = _grads.get(key)
    if go is None:
        launch = load("cross_entropy.cu", "cross_entropy_grad", _BACKWARD, char, LABEL=label)
        go = _grads[key] = launch.prepared(
            (blocks_for(rows * n), 1, 1), (256, 1, 1), 0, 5, (Result(3, (rows, n), probs.dtype),),
            rows, n, ignore_index, mode,
        )  # fmt: skip
    seen = None
    if mode == 1 and rows > _COUNT_ONCE:
        seen = cupy.ndarray((), np.float64 if char == "d" else np.float32)
        load("cross_entropy.cu", "count_valid", ("P", "P", "q", "q"), char, LABEL=label)(
            1, 1024, target.data.ptr, seen.data.ptr, rows, ignore_index
        )
    return go(gy, probs, target, seen)
