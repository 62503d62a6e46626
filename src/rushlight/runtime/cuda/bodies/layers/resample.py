"""Resized and padded axes on the GPU: sums by tables that stay there, two axes of an image at once."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

from .....base.bounded import Bounded
from ....door import kernel_for
from ...code.held import runnable
from ...code.launch import Result
from ...code.sources import NUMBERS, blocks_for, device, load
from ...code.tables import kept
from ..fills import copied

if TYPE_CHECKING:
    from .....base.protocols import DeviceArray

_UNITS = {1: "u8", 2: "u16", 4: "int", 8: "bytes_8", 16: "bytes_16"}
_MANY = 2**31 - 2**20  # elements up to here are counted by 32 bits: a grid steps over the end
_AT_ONCE = 36  # products of taps up to here are computed for two axes at once


class Taps(NamedTuple):
    """A plan's table on the GPU."""

    index: Any
    weight: Any  # None if elements are only copied
    taps: int
    length: int
    fillers: int
    key: tuple  # of the table


class _Held:
    """What graphs hold of it; a tuple cannot be held weakly."""

    def __init__(self, taps: Taps) -> None:
        self.taps = taps


_tables: dict[tuple, _Held] = Bounded(256)
_calls: dict[tuple, Any] = Bounded(1024)


def _taps(plan: Any, flip: bool, wide: bool) -> Taps:
    key = (plan, flip, wide, device())
    found = _tables.get(key)
    if found is None:
        index, weight, skip = plan.table(flip)
        if wide and weight is not None:
            weight = plan.exact(flip)
        on_gpu = None if weight is None else kept(weight)
        taps = Taps(kept(index), on_gpu, index.shape[0], index.shape[1], int(skip), key)
        found = _tables[key] = runnable(_Held(taps))
    return found.taps


def _counting(count: int) -> tuple[str, str]:
    """The type that counts so many elements, and its format."""
    return ("int", "i") if count < _MANY else ("i64", "q")


def _served(x: DeviceArray, weight: Any, length: int) -> bool:
    if not x.size or not length:
        return False
    return x.dtype.char in NUMBERS if weight is not None else x.itemsize in _UNITS


def _unit(row: int, *addresses: int) -> int:
    """The widest word, in bytes, that rows of that many bytes are made of."""
    bits = row
    for address in addresses:
        bits |= address
    return min(16, bits & -bits)


def _along(x: DeviceArray, axis: int, taps: Taps) -> Any:
    """One axis of contiguous `x`."""
    unit = _unit(prod(x.shape[axis + 1 :]) * x.itemsize, x.data.ptr)
    key = (x.shape, x.dtype, axis, unit, taps.key)
    call = _calls.get(key)
    if call is None:
        call = _calls[key] = _axis_call(x, axis, taps, unit)
    return call(x, taps.index) if taps.weight is None else call(x, taps.index, taps.weight)


def _axis_call(x: DeviceArray, axis: int, taps: Taps, unit: int) -> Any:
    size, after = x.shape[axis], prod(x.shape[axis + 1 :])
    shape = (*x.shape[:axis], taps.length, *x.shape[axis + 1 :])
    elements = prod(shape)
    long, letter = _counting(max(x.nbytes, elements * x.itemsize))
    if taps.weight is None:
        count, inner = elements * x.itemsize // unit, after * x.itemsize // unit
        launch = load(
            "resample.cu", "axis_copy", ("P", "P", "P", letter, letter, "i", "i"),
            UNIT=_UNITS[unit], IX=long,
        )  # fmt: skip
        return launch.prepared(
            (blocks_for(count), 1, 1), (256, 1, 1), 0, 3, (Result(2, shape, x.dtype),), count, inner,
            size, taps.length,
        )  # fmt: skip
    group = max(unit // x.itemsize, 1)
    count, inner = elements // group, after // group
    launch = load(
        "resample.cu", "axis", ("P", "P", "P", "P", letter, letter, "i", "i", "i", "i"),
        x.dtype.char, VW=group, IX=long,
    )  # fmt: skip
    return launch.prepared(
        (blocks_for(count), 1, 1), (256, 1, 1), 0, 4, (Result(3, shape, x.dtype),), count, inner,
        size, taps.length, taps.taps, taps.fillers,
    )  # fmt: skip


def _plane(x: DeviceArray, axis: int, rows: Taps, columns: Taps) -> Any:
    """Axes `axis` and the next of contiguous `x`; both are copied, or both weighed."""
    unit = _unit(prod(x.shape[axis + 2 :]) * x.itemsize, x.data.ptr)
    key = (x.shape, x.dtype, axis, unit, rows.key, columns.key)
    call = _calls.get(key)
    if call is None:
        call = _calls[key] = _plane_call(x, axis, rows, columns, unit)
    if columns.weight is None:
        return call(x, rows.index, columns.index)
    return call(x, rows.index, rows.weight, columns.index, columns.weight)


def _plane_call(x: DeviceArray, axis: int, rows: Taps, columns: Taps, unit: int) -> Any:
    height, width = x.shape[axis : axis + 2]
    rest = x.shape[axis + 2 :]
    shape = (*x.shape[:axis], rows.length, columns.length, *rest)
    elements = prod(shape)
    long, letter = _counting(max(x.nbytes, elements * x.itemsize))
    formats = (letter, letter, "i", "i", "i", "i")
    sizes = (height, width, rows.length, columns.length)
    if columns.weight is None:
        count, inner = elements * x.itemsize // unit, prod(rest) * x.itemsize // unit
        launch = load(
            "resample.cu", "plane_copy", ("P", "P", "P", "P", *formats), UNIT=_UNITS[unit], IX=long
        )
        return launch.prepared(
            (blocks_for(count), 1, 1), (256, 1, 1), 0, 4, (Result(3, shape, x.dtype),), count, inner,
            *sizes,
        )  # fmt: skip
    group = max(unit // x.itemsize, 1)
    count, inner = elements // group, prod(rest) // group
    launch = load(
        "resample.cu", "plane", ("P",) * 6 + (*formats, "i", "i", "i", "i"), x.dtype.char,
        VW=group, IX=long,
    )  # fmt: skip
    return launch.prepared(
        (blocks_for(count), 1, 1), (256, 1, 1), 0, 6, (Result(5, shape, x.dtype),), count, inner,
        *sizes, rows.taps, columns.taps, rows.fillers, columns.fillers,
    )  # fmt: skip


def _laid(x: DeviceArray) -> tuple[Any, bool]:
    """Contiguous memory of an array: as it is where its channels come last, as PyTorch keeps them."""
    if x._c_contiguous:
        return x, False
    if x.ndim > 2:
        turned = x.transpose(0, *range(2, x.ndim), 1)
        if turned._c_contiguous:
            return turned, True
    return copied(x), False


def _turned_back(out: DeviceArray, last: bool) -> Any:
    return out.transpose(0, out.ndim - 1, *range(1, out.ndim - 1)) if last else out


@kernel_for("cuda", "resample_axis")
def _axis(x: DeviceArray, *, axis: int, plan: Any, flip: bool) -> Any:
    taps = _taps(plan, flip, x.dtype.char == "d")
    if not _served(x, taps.weight, taps.length):
        return NotImplemented
    dense, last = _laid(x) if axis > 1 else (x if x._c_contiguous else copied(x), False)
    return _turned_back(_along(dense, axis - last, taps), last)


@kernel_for("cuda", "resample_plane")
def _both(x: DeviceArray, *, plans: tuple, flip: bool) -> Any:
    rows, columns = [_taps(plan, flip, x.dtype.char == "d") for plan in plans]
    if not _served(x, columns.weight, rows.length * columns.length) or x.ndim < 4:
        return NotImplemented
    dense, last = _laid(x)
    axis = x.ndim - 2 - last
    if (rows.weight is None) == (columns.weight is None) and rows.taps * columns.taps <= _AT_ONCE:
        return _turned_back(_plane(dense, axis, rows, columns), last)
    first, second = (axis, rows), (axis + 1, columns)
    if rows.length * x.shape[-1] > columns.length * x.shape[-2]:  # the smaller one in between
        first, second = second, first
    return _turned_back(_along(_along(dense, *first), *second), last)
