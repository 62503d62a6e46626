"""Cross entropy on the GPU: the loss in one kernel, its derivative from the logits in another."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from .....base.arrays import DeviceArray
from ....door import kernel_for
from ....facts import REDUCTIONS
from ...code.launch import Result
from ...code.sources import LABELS, NUMBERS, blocks_for, computed, counter, load, partials
from ..fills import one_launch, row_major

_LONG = 2048  # rows from here on take a whole block
# With more targets than this the valid ones are counted by a launch of their own; of long rows there are more blocks.
_COUNT_ONCE, _COUNT_ONCE_LONG = 8192, 1024


def _is_wide(x: DeviceArray, loss: np.dtype) -> int | None:
    """Whether a loss of dtype `loss` is wider than its logits; None where it has neither their dtype nor that one."""
    if loss == x.dtype:
        return 0
    return 1 if loss == computed(x.dtype) else None


def _lanes(n: int) -> int:
    """Threads that share a row: about four classes each."""
    for lanes in (4, 8, 16):
        if n <= 4 * lanes:
            return lanes
    return 32


def _are_rows(x: DeviceArray, *more: DeviceArray) -> bool:
    dense = all(a._c_contiguous for a in (x, *more))
    return dense and x.dtype.char in NUMBERS and x.size > 0


def _loss(x: DeviceArray, target: DeviceArray, *, ignore_index: int, reduction: str, wide: bool) -> Any:
    label = LABELS.get(target.dtype.char)
    if label is None or not _are_rows(x, target):
        return None
    (rows, n), mode = x.shape, REDUCTIONS.index(reduction)
    if n < _LONG:
        lanes = _lanes(n)
        name, blocks = f"cross_entropy_{lanes}", min(-(-rows * lanes // 256), 1024)
    else:
        name, blocks = "cross_entropy_block", blocks_for(256 * rows)
    wider = computed(x.dtype) if wide else x.dtype
    launch = load("cross_entropy.cu", name, x.dtype.char, LABEL=label, WIDE=int(wider != x.dtype))
    results = Result(2, () if mode else (rows,), wider), Result(3, (rows, 2), computed(x.dtype))
    several = bool(blocks > 1 and mode)
    go = launch.prepared(blocks, 256, results, rows, n, ignore_index, mode, absent=() if several else (4, 5))
    return (lambda x, target: go(x, target, partials(), counter())) if several else go


kernel_for("cuda", "cross_entropy_fused")(one_launch(_loss))


def step(x: DeviceArray, target: DeviceArray, gy: DeviceArray, ignore_index: int, reduction: str) -> Any:
    """The loss, of gy's dtype, and the gradient of the logits in one launch; for rows that are not long."""
    char, label = x.dtype.char, LABELS.get(target.dtype.char)
    rows, n = x.shape
    wide = _is_wide(x, gy.dtype)
    if char not in NUMBERS or label is None or not x.size or n >= _LONG or wide is None:
        return NotImplemented
    x, target, gy = row_major(x), row_major(target), row_major(gy)
    lanes, mode = _lanes(n), REDUCTIONS.index(reduction)
    # A single block does not wait for others. A float64 block has registers for 512 threads.
    most = 512 if char == "d" else 1024
    threads = 256 if rows * lanes > 4096 else min(most, -(-rows * lanes // 32) * 32)
    blocks = 1 if rows * lanes <= 4096 else min(-(-rows * lanes // 256), 1024)
    gx = cupy.ndarray(x.shape, x.dtype)
    out = cupy.ndarray(target.shape if reduction == "none" else (), gy.dtype)
    several = blocks > 1 and mode
    load("cross_entropy.cu", f"cross_entropy_step_{lanes}", char, LABEL=label, WIDE=wide)(
        blocks, threads, x, target, gy, out, gx, partials() if several else 0,
        counter() if several else 0, rows, n, ignore_index, mode,
    )  # fmt: skip
    return out, gx


def _grad_shape(rows: int, n: int) -> tuple[str, int, int]:
    """The derivative's kernel for a shape, its blocks and their threads."""
    blocks = blocks_for(rows * n)
    if n < _LONG:
        return "cross_entropy_grad", blocks, 256
    return "cross_entropy_grad_block", min(rows, blocks), 512


def _is_counted(rows: int, n: int, mode: int) -> bool:
    """Whether blocks should not count the valid targets themselves."""
    return mode == 1 and rows > (_COUNT_ONCE if n < _LONG else _COUNT_ONCE_LONG)


def _valid(target: DeviceArray, dtype: np.dtype, char: str, ignore: int) -> Any:
    """The number of valid targets."""
    seen, label = cupy.ndarray((), dtype), LABELS[target.dtype.char]
    launch = load("cross_entropy.cu", "count_valid", char, LABEL=label)
    launch(1, 1024, target, seen, target.shape[0], ignore)
    return seen


def _grad(
    gy: DeviceArray, x: DeviceArray, stats: DeviceArray, target: DeviceArray, *, ignore_index: int, reduction: str
) -> Any:
    label, wide = LABELS.get(target.dtype.char), _is_wide(x, gy.dtype)
    if label is None or wide is None or not _are_rows(x, gy, stats, target):
        return None
    (rows, n), mode = x.shape, REDUCTIONS.index(reduction)
    name, blocks, threads = _grad_shape(rows, n)
    counted, char = _is_counted(rows, n, mode), x.dtype.char
    go = load("cross_entropy.cu", name, char, LABEL=label, WIDE=wide).prepared(
        blocks, threads, (Result(4, (rows, n), x.dtype),), rows, n, ignore_index, mode, absent=() if counted else (5,)
    )
    if not counted:
        return go
    return lambda gy, x, stats, target: go(gy, x, stats, target, _valid(target, stats.dtype, char, ignore_index))


kernel_for("cuda", "cross_entropy_grad")(one_launch(_grad))


def grad_over(
    gy: DeviceArray, x: DeviceArray, stats: DeviceArray, target: DeviceArray, ignore_index: int, reduction: str
) -> Any:
    """The gradient of the logits, written over the logits."""
    char, label, wide = x.dtype.char, LABELS.get(target.dtype.char), _is_wide(x, gy.dtype)
    if char not in NUMBERS or label is None or not x.size or wide is None or not x._c_contiguous:
        return NotImplemented
    gy, stats, target = row_major(gy), row_major(stats), row_major(target)
    (rows, n), mode = x.shape, REDUCTIONS.index(reduction)
    counted = _is_counted(rows, n, mode)
    seen = _valid(target, stats.dtype, char, ignore_index) if counted else None
    name, blocks, threads = _grad_shape(rows, n)
    load("cross_entropy.cu", name, char, LABEL=label, WIDE=wide)(
        blocks, threads, gy, x, stats, target, x, seen, rows, n, ignore_index, mode
    )
    return None
