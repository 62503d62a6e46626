"""Resized and padded axes on the GPU: sums by tables that stay there, two axes of an image at once."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

from .....base.arrays import DeviceArray
from .....base.bounded import Bounded
from ....door import kernel_for
from ...code.held import runnable
from ...code.keyed import keyed
from ...code.launch import Result
from ...code.sources import NUMBERS, blocks_for, device, load
from ...code.tables import kept
from ..fills import copied
from ..index_rows import UNITS

_UNITS = dict(UNITS)
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


def _along(x: DeviceArray, axis: int, *taps: Taps) -> Any:
    """One axis of contiguous `x`, or two from `axis` on; both are copied, or both weighed."""
    unit = _unit(prod(x.shape[axis + len(taps) :]) * x.itemsize, x.data.ptr)
    key = (x.shape, x.dtype, axis, unit, *[t.key for t in taps])
    call = _calls.get(key)
    if call is None:
        call = _calls[key] = _call(x, axis, taps, unit)
    return call(x, *[a for t in taps for a in (t.index, t.weight) if a is not None])


def _call(x: DeviceArray, axis: int, taps: tuple[Taps, ...], unit: int) -> Any:
    sizes, rest = x.shape[axis : axis + len(taps)], x.shape[axis + len(taps) :]
    lengths = [t.length for t in taps]
    shape = (*x.shape[:axis], *lengths, *rest)
    elements, inner, name = prod(shape), prod(rest), "axis" if len(taps) == 1 else "plane"
    index = "int" if max(x.nbytes, elements * x.itemsize) < _MANY else "i64"
    if taps[0].weight is None:
        elements, inner = elements * x.itemsize // unit, inner * x.itemsize // unit
        launch = load("resample.cu", name + "_copy", UNIT=_UNITS[unit], IX=index)
        result, more = Result(1 + len(taps), shape, x.dtype), []
    else:
        group = max(unit // x.itemsize, 1)
        elements, inner = elements // group, inner // group
        launch = load("resample.cu", name, x.dtype.char, VW=group, IX=index)
        result = Result(1 + 2 * len(taps), shape, x.dtype)
        more = [t.taps for t in taps] + [t.fillers for t in taps]
    return launch.prepared(blocks_for(elements), 256, (result,), elements, inner, *sizes, *lengths, *more)


def _laid(x: DeviceArray, axis: int) -> tuple[Any, bool]:
    """Contiguous memory of an array: as it is where its channels come last, as PyTorch keeps them, and are none of the axes."""
    if x._c_contiguous:
        return x, False
    if axis > 1:
        turned = x.transpose(0, *range(2, x.ndim), 1)
        if turned._c_contiguous:
            return turned, True
    return copied(x), False


def _turned_back(out: DeviceArray, last: bool) -> Any:
    return out.transpose(0, out.ndim - 1, *range(1, out.ndim - 1)) if last else out


def _axis(x: DeviceArray, *, axis: int, plan: Any, flip: bool) -> Any:
    taps = _taps(plan, flip, x.dtype.char == "d")
    if not _served(x, taps.weight, taps.length):
        return NotImplemented
    dense, last = _laid(x, axis)
    return _turned_back(_along(dense, axis - last, taps), last)


def _axis_call(x: DeviceArray, *, axis: int, plan: Any, flip: bool) -> Any:
    return _prepared(x, axis, plan, flip=flip)


def _both(x: DeviceArray, *, plans: tuple, flip: bool) -> Any:
    rows, columns = [_taps(plan, flip, x.dtype.char == "d") for plan in plans]
    if not _served(x, columns.weight, rows.length * columns.length):
        return NotImplemented
    dense, last = _laid(x, x.ndim - 2)
    axis = x.ndim - 2 - last
    if _fit(rows, columns):
        return _turned_back(_along(dense, axis, rows, columns), last)
    first, second = (axis, rows), (axis + 1, columns)
    if rows.length * x.shape[-1] > columns.length * x.shape[-2]:  # the smaller one in between
        first, second = second, first
    return _turned_back(_along(_along(dense, *first), *second), last)


def _fit(*taps: Taps) -> bool:
    """Whether axes are computed at once."""
    return len({t.weight is None for t in taps}) == 1 and prod(t.taps for t in taps) <= _AT_ONCE


def _both_call(x: DeviceArray, *, plans: tuple, flip: bool) -> Any:
    return _prepared(x, x.ndim - 2, *plans, flip=flip)


def _prepared(x: DeviceArray, axis: int, *plans: Any, flip: bool) -> Any:
    """The one launch for contiguous arrays of a kind."""
    if not x._c_contiguous or x.data.ptr & 15 or axis < 0:
        return None
    taps = [_taps(plan, flip, x.dtype.char == "d") for plan in plans]
    if not _served(x, taps[-1].weight, prod(t.length for t in taps)) or not _fit(*taps):
        return None
    tables = [a for t in taps for a in (t.index, t.weight) if a is not None]
    call = _call(x, axis, tuple(taps), _unit(prod(x.shape[axis + len(taps) :]) * x.itemsize))
    return lambda x: call(x, *tables)


kernel_for("cuda", "resample_axis")(keyed(_axis, _axis_call))
kernel_for("cuda", "resample_plane")(keyed(_both, _both_call))
