"""Counting on the GPU: medians, modes, unique elements, bins, equality; and losses in two launches."""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.dtypes import from_np
from ...door import KERNELS, kernel_for
from ..code.expressions import Expression, printed
from ..code.sources import blocks_for, typed
from ..memory.host_copies import to_host
from ..processors import multiprocessors
from .fills import fill, row_major
from .index_rows import word
from .pointwise import cast, compute
from .reduce import ends, reduce
from .selection import counted
from .sorting import Lines, lines_of, middle, ordered, sortable

ndarray = cupy.ndarray


_FEW = 32  # elements that are looked for one after the other; more are sorted


@kernel_for("cuda", "isin")
def _isin(x: DeviceArray, y: Any, *, invert: bool) -> Any:
    if x.__class__ is not ndarray:
        x = cupy.asarray(x)
    if y.__class__ is not ndarray:
        y = cupy.asarray(y)
    if x.dtype == y.dtype and sortable(x.dtype) and x.size and 0 < y.size <= _FEW:
        out = ndarray(x.shape, np.bool_)
        typed("counting.cu", "is_in", x.dtype)(
            blocks_for(x.size), 256, row_major(x), row_major(y), out, x.size, y.size, int(invert)
        )
        return out
    if x.dtype.kind == "V":
        x, y = x.astype(np.float32), y.astype(np.float32)
    return cupy.isin(x, y, invert=invert)


def _in_rows(x: DeviceArray, dim: int, keepdim: bool) -> tuple[Lines, tuple[int, ...]]:
    shape = tuple([1 if d == dim else n for d, n in enumerate(x.shape) if keepdim or d != dim])
    return lines_of(x, dim), shape


def _can_be_sorted(x: DeviceArray) -> bool:
    return bool(x.ndim and x.size and sortable(x.dtype))


def _middle(x: DeviceArray, dim: int, shape: tuple[int, ...], lines: Lines, ignore_nan: bool) -> tuple[Any, Any]:
    found = middle(row_major(cupy.moveaxis(x, dim, -1)), shape, ignore_nan)
    if found is not None:
        return found
    values, places = ordered(x, dim, 0, lines.n, False)
    value, place = ndarray(shape, x.dtype), ndarray(shape, np.int64)
    typed("counting.cu", "middle", x.dtype)(
        blocks_for(lines.rows), 256, values, places, value, place, lines.rows, lines.n, lines.inner, int(ignore_nan)
    )
    return value, place


@kernel_for("cuda", "median")
def _median(x: DeviceArray, *, ignore_nan: bool) -> Any:
    if not x.size or not sortable(x.dtype):
        return NotImplemented
    flat = row_major(x).reshape(-1)
    return _middle(flat, 0, (), lines_of(flat, 0), ignore_nan)[0]


@kernel_for("cuda", "median_dim")
def _median_dim(x: DeviceArray, *, dim: int, keepdim: bool, ignore_nan: bool) -> Any:
    if not _can_be_sorted(x):
        return NotImplemented
    lines, shape = _in_rows(x, dim % x.ndim, keepdim)
    return _middle(x, dim % x.ndim, shape, lines, ignore_nan)


@kernel_for("cuda", "mode")
def _mode(x: DeviceArray, *, dim: int, keepdim: bool) -> Any:
    if not _can_be_sorted(x):
        return NotImplemented
    lines, shape = _in_rows(x, dim % x.ndim, keepdim)
    values, places = ordered(x, dim % x.ndim, 0, lines.n, False)
    value, place = ndarray(shape, x.dtype), ndarray(shape, np.int64)
    typed("counting.cu", "most", x.dtype)(
        lines.rows, 32 if lines.n <= 64 else 256, values, places, value, place, lines.n, lines.inner
    )
    return value, place


@kernel_for("cuda", "unique")
def _unique(x: DeviceArray, *, dim: int | None) -> Any:
    """The host waits once, for how many there are."""
    if dim is not None and x.dtype.kind == "b":
        body = KERNELS["unique"].fallbacks[ndarray]
        values, inverse, counts = body(x.astype(np.uint8), dim=dim)
        return values.astype(np.bool_), inverse, counts
    if dim is not None or not x.size or not sortable(x.dtype):
        return NotImplemented
    flat = row_major(x).reshape(-1)
    n = flat.size
    ranked, places = ordered(flat, 0, 0, n, False)
    begins = ndarray((n,), np.bool_)
    typed("counting.cu", "begins", x.dtype)(blocks_for(n), 256, ranked, begins, n)
    found = counted(begins)
    inverse = ndarray(x.shape, np.int64)
    found.write("ranks", inverse, places)
    count = found.total()
    values, counts, at = (ndarray((count,), x.dtype), ndarray((count,), np.int64), ndarray((count,), np.int64))
    found.write("picked", values, ranked, UNIT=word(x.itemsize)[1])
    found.write("places", at)
    typed("counting.cu", "lengths", x.dtype)(blocks_for(count), 256, at, counts, count, n)
    return values, inverse, counts


_HELD = 8192  # bins that a block counts in its own memory


def _tally(x: DeviceArray, bins: int, low: float, high: float, span: float, histc: bool) -> Any:
    counts = ndarray((bins,), np.uint64)
    fill(counts, 0)
    if x.size:
        held = bins if bins <= _HELD else 0
        blocks = min(blocks_for(x.size), 2 * multiprocessors()) if held else blocks_for(x.size)
        typed("counting.cu", "tally", x.dtype, HISTC=int(histc))(
            blocks, 256, x, counts, x.size, bins, low, high, span, held, shared=4 * held
        )
    return counts


@kernel_for("cuda", "bincount")
def _bincount(x: DeviceArray, weights: DeviceArray | None, *, minlength: int) -> Any:
    """The host waits once, for the smallest and the largest number."""
    if weights is not None or not x.size:
        return NotImplemented
    x = row_major(x)
    low, high = to_host(ends(x)).tolist()
    if low < 0:
        return NotImplemented  # which says so
    return _tally(x, max(high + 1, minlength), 0.0, 0.0, 0.0, False).view(np.int64)


@kernel_for("cuda", "histc")
def _histc(x: DeviceArray, *, bins: int, low: float, high: float) -> Any:
    if x.dtype.kind not in "fV" or not x.size:
        return NotImplemented
    x = row_major(x)
    wide = np.float64 if x.itemsize == 8 else np.float32
    span = wide(high - low)
    if low == high:
        first, last = to_host(ends(x)).astype(wide)
        if not first < last and first == last:
            first, last = first - wide(1), last + wide(1)
        if not np.isfinite(first) or not np.isfinite(last):
            return NotImplemented  # which says so
        low, high, span = float(first), float(last), last - first
    return cast(_tally(x, bins, low, high, float(span), True), from_np(x.dtype).name)


@kernel_for("cuda", "equal_everywhere")
def _equal_everywhere(x: DeviceArray, y: DeviceArray) -> Any:
    """Whether all pairs are equal: the host waits for a byte of each block."""
    if x.dtype != y.dtype or x.shape != y.shape or not x.size:
        return NotImplemented
    if x.dtype.kind in "biu" and x.data.ptr == y.data.ptr and x.strides == y.strides:
        return np.bool_(True)
    x, y = row_major(x), row_major(y)
    blocks = min(-(-x.size // 1024), 2 * multiprocessors())
    found = ndarray((blocks,), np.uint8)
    typed("counting.cu", "differs", x.dtype)(blocks, 256, x, y, found, x.size)
    return np.bool_(not to_host(found).any())


# -- losses ---------------------------------------------------------------------------------------


def _reduced(loss: DeviceArray, reduction: str) -> Any:
    if loss is NotImplemented or reduction == "none":
        return loss
    return reduce("mean" if reduction == "mean" else "sum", loss, None, False)


def _expressions(name: str) -> tuple[Expression, Expression]:
    """The loss of one pair and its slope, as the records of the two kernels say them."""
    each, slope = printed(KERNELS[name].facts.each), printed(KERNELS[f"{name}_grad"].facts.each)
    text = f"({slope.text['f']}) * (gy * scale)"
    return (Expression("x y", "beta", f=each.text["f"]), Expression("gy x y", "beta scale", f=text))


def _loss(name: str) -> None:
    """Register a loss and its gradient."""
    loss, grad = _expressions(name)

    def forward(x: DeviceArray, y: DeviceArray, *, reduction: str, beta: float = 0.0) -> Any:
        return _reduced(compute(loss, (x, y), (beta,)), reduction)

    def backward(gy: DeviceArray, x: DeviceArray, y: DeviceArray, *, reduction: str, beta: float = 0.0) -> Any:
        scale = 1.0 / x.size if reduction == "mean" and x.size else 1.0
        if gy.dtype != x.dtype:
            return NotImplemented
        return compute(grad, (gy, x, y), (beta, scale))

    kernel_for("cuda", name)(forward)
    kernel_for("cuda", f"{name}_grad")(backward)


for _name in [k for k, kernel in KERNELS.whole().items() if kernel.facts.each is not None]:
    if not _name.endswith("_grad"):
        _loss(_name)
