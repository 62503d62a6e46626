"""Cross entropy on the GPU: the loss in one kernel, its derivative from the logits in another."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from .....base.arrays import DeviceArray
from .....base.bounded import Bounded
from ....door import kernel_for
from ....facts import REDUCTIONS
from ...code.launch import Result
from ...code.sources import LABELS, NUMBERS, blocks_for, computed, counter, device, load, partials
from ..fills import row_major

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


class _Forward:
    """The loss of one shape, ready to launch."""

    __slots__ = ("go", "several")

    def __init__(
        self, rows: int, n: int, dtype: np.dtype, label: str, ignore: int, mode: int, wide: bool
    ) -> None:
        if n < _LONG:
            lanes = _lanes(n)
            name, threads = f"cross_entropy_{lanes}", 256
            blocks = min(-(-rows * lanes // 256), 1024)
        else:
            name, threads, blocks = "cross_entropy_block", 256, blocks_for(256 * rows)
        self.several = bool(blocks > 1 and mode)
        wider = computed(dtype) if wide else dtype
        launch = load("cross_entropy.cu", name, dtype.char, LABEL=label, WIDE=int(wider != dtype))
        loss = Result(2, () if mode else (rows,), wider)
        results = (loss, Result(3, (rows, 2), computed(dtype)))
        self.go = launch.prepared(blocks, threads, results, rows, n, ignore, mode)


_forwards: dict[tuple, _Forward] = Bounded(1024)
_grads: dict[tuple, Any] = Bounded(1024)


@kernel_for("cuda", "cross_entropy_fused")
def cross_entropy_fused(
    x: DeviceArray, target: DeviceArray, *, ignore_index: int, reduction: str, wide: bool
) -> Any:
    key = (x.shape, x.dtype.char, target.dtype.char, ignore_index, reduction, wide, device())
    found = _forwards.get(key)
    if found is None:
        label = LABELS.get(target.dtype.char)
        if x.dtype.char not in NUMBERS or label is None or not x.size:
            return NotImplemented
        rows, n = x.shape
        found = _Forward(rows, n, x.dtype, label, ignore_index, REDUCTIONS.index(reduction), wide)
        _forwards[key] = found
    x, target = row_major(x), row_major(target)
    if found.several:
        return found.go(x, target, partials(), counter())
    return found.go(x, target, None, None)


def step(
    x: DeviceArray, target: DeviceArray, gy: DeviceArray, ignore_index: int, reduction: str
) -> Any:
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


def _grad_launch(
    rows: int, n: int, dtype: np.dtype, label: str, ignore: int, mode: int, wide: int
) -> Any:
    """The derivative of one shape, ready to launch."""
    name, blocks, threads = _grad_shape(rows, n)
    launch = load("cross_entropy.cu", name, dtype.char, LABEL=label, WIDE=wide)
    return launch.prepared(blocks, threads, (Result(4, (rows, n), dtype),), rows, n, ignore, mode)


def _seen(target: DeviceArray, n: int, dtype: np.dtype, char: str, ignore: int, mode: int) -> Any:
    """The number of valid targets, where blocks should not count them themselves; None elsewhere."""
    rows = target.shape[0]
    if mode != 1 or rows <= (_COUNT_ONCE if n < _LONG else _COUNT_ONCE_LONG):
        return None
    seen = cupy.ndarray((), dtype)
    label = LABELS[target.dtype.char]
    load("cross_entropy.cu", "count_valid", char, LABEL=label)(1, 1024, target, seen, rows, ignore)
    return seen


@kernel_for("cuda", "cross_entropy_grad")
def cross_entropy_grad(
    gy: DeviceArray,
    x: DeviceArray,
    stats: DeviceArray,
    target: DeviceArray,
    *,
    ignore_index: int,
    reduction: str,
) -> Any:
    key = (x.shape, x.dtype, target.dtype, gy.dtype, ignore_index, reduction, device())
    go = _grads.get(key)
    if go is None:
        label, wide = LABELS.get(target.dtype.char), _is_wide(x, gy.dtype)
        if x.dtype.char not in NUMBERS or label is None or not x.size or wide is None:
            return NotImplemented
        rows, n = x.shape
        go = _grad_launch(rows, n, x.dtype, label, ignore_index, REDUCTIONS.index(reduction), wide)
        _grads[key] = go
    gy, x, stats, target = row_major(gy), row_major(x), row_major(stats), row_major(target)
    mode = REDUCTIONS.index(reduction)
    seen = None
    if mode == 1 and x.shape[0] > _COUNT_ONCE_LONG:
        seen = _seen(target, x.shape[1], stats.dtype, x.dtype.char, ignore_index, mode)
    return go(gy, x, stats, target, seen)


def grad_over(
    gy: DeviceArray,
    x: DeviceArray,
    stats: DeviceArray,
    target: DeviceArray,
    ignore_index: int,
    reduction: str,
) -> Any:
    """The gradient of the logits, written over the logits."""
    char, label, wide = x.dtype.char, LABELS.get(target.dtype.char), _is_wide(x, gy.dtype)
    if char not in NUMBERS or label is None or not x.size or wide is None or not x._c_contiguous:
        return NotImplemented
    gy, stats, target = row_major(gy), row_major(stats), row_major(target)
    (rows, n), mode = x.shape, REDUCTIONS.index(reduction)
    seen = _seen(target, n, stats.dtype, char, ignore_index, mode)
    name, blocks, threads = _grad_shape(rows, n)
    load("cross_entropy.cu", name, char, LABEL=label, WIDE=wide)(
        blocks, threads, gy, x, stats, target, x, seen, rows, n, ignore_index, mode
    )
    return None
