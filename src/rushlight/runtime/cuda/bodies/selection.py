"""The true elements of masks on the GPU: where they are, what stands there, and writes to them."""

from __future__ import annotations

from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ...door import kernel_for
from ..code.sources import counter, load
from ..memory.host_copies import to_host
from ..processors import multiprocessors
from . import index_rows
from .fills import copied, fill, row_major
from .pointwise import cast, compute

ndarray = cupy.ndarray
_THREADS, _EACH = 256, 8  # bytes of a thread, as in selection.cu


class _Counted(NamedTuple):
    """A contiguous mask cut into parts, and how many true elements stand before each."""

    mask: Any
    starts: Any
    parts: int
    chunk: int

    def total(self) -> int:
        """All true elements; the host waits for their number."""
        return int(to_host(self.starts[-1:])[0])

    def write(self, name: str, out: DeviceArray, *more: Any, **constants: Any) -> None:
        """Run one of the kernels over the true elements."""
        load("selection.cu", name, **constants)(
            self.parts, _THREADS, self.mask, self.starts, out, self.mask.size, self.chunk, *more
        )


def counted(mask: DeviceArray) -> _Counted:
    mask = row_major(mask)
    tile = _THREADS * _EACH
    most = 8 * multiprocessors()
    chunk = -(-mask.size // (most * tile)) * tile
    parts = -(-mask.size // chunk)
    starts = ndarray((parts + 1,), np.int64)
    load("selection.cu", "count_true")(parts, _THREADS, mask, starts, mask.size, chunk, counter())
    return _Counted(mask, starts, parts, chunk)


def places(mask: DeviceArray, count: int | None = None) -> Any:
    """The flat positions of the true elements, of which there are `count` if that is known."""
    found = counted(mask)
    out = ndarray((found.total() if count is None else count,), np.int64)
    if out.size:
        found.write("places", out)
    return out


class Chosen(NamedTuple):
    """An array as (before, masked, after), of which a mask picks along the middle."""

    before: tuple[int, ...]
    masked: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def is_flat(self) -> bool:
        return prod(self.before) == prod(self.after) == 1

    def rows(self, picks: int) -> index_rows.IndexRows:
        outer, width = prod(self.before), prod(self.after)
        return index_rows.IndexRows(outer, prod(self.masked), width, picks, self.before, self.after)

    def shape(self, middle: int) -> tuple[int, ...]:
        return (*self.before, middle, *self.after)


def chosen(shape: tuple[int, ...], slots: tuple, indices: tuple) -> Chosen | None:
    """What one mask chooses of an array; None where there is more than that."""
    if len(indices) != 1 or indices[0].dtype.kind != "b" or 0 in shape or not indices[0].ndim:
        return None
    lead = slots.index(1)
    end = lead + indices[0].ndim
    return Chosen(shape[:lead], shape[lead:end], shape[end:])


def take(x: DeviceArray, mask: DeviceArray, by: Chosen) -> Any:
    """`x[mask]`, in new contiguous memory."""
    if by.is_flat:
        found = counted(mask)
        x = row_major(x)
        out = ndarray(by.shape(found.total()), x.dtype)
        if out.size:
            found.write("picked", out, x, UNIT=index_rows.word(x.itemsize)[1])
        return out
    at = places(mask)
    if not at.size:
        return ndarray(by.shape(0), x.dtype)
    if len(by.masked) > 1:
        x = row_major(x).reshape(by.shape(prod(by.masked)))
    return index_rows.take_dense(x, at, by.rows(at.size))


def spread(g: DeviceArray, mask: DeviceArray, by: Chosen) -> Any:
    """The gradient of `take`: zeros, and `g` where the mask is true; nobody waits."""
    out = ndarray((*by.before, *by.masked, *by.after), g.dtype)
    fill(out, 0)
    if not g.size:
        return out
    g = row_major(g)
    if by.is_flat:
        counted(mask).write("spread", out, g, UNIT=index_rows.word(g.itemsize)[1])
        return out
    count = g.shape[len(by.before)]
    whole = out.reshape(by.shape(prod(by.masked)))
    index_rows.put(whole, places(mask, count), g, by.rows(count))
    return out


def put(dst: DeviceArray, values: Any, mask: DeviceArray, by: Chosen) -> Any:
    """`dst[mask] = values` in place; one value needs no count, so nobody waits."""
    if values.__class__ is not ndarray or values.size == 1:
        if values.__class__ is ndarray:
            if values.dtype != dst.dtype:
                return NotImplemented
            values = values.reshape(())
        mask = index_rows.apart(mask, dst)
        where = mask.reshape((1,) * len(by.before) + mask.shape + (1,) * len(by.after))
        return compute("masked_fill", (dst, where, values), (), dst)
    if values.dtype != dst.dtype:
        return NotImplemented
    if by.is_flat and dst._c_contiguous and values.ndim == 1:
        found, given = (counted(index_rows.apart(mask, dst)), row_major(index_rows.apart(values, dst)))
        if found.total() == given.size:
            unit = index_rows.word(dst.itemsize)[1]
            found.write("spread", dst, given, UNIT=unit)
            return dst
    at = places(mask)
    if not at.size:
        cupy.broadcast_to(values, by.shape(0))  # raises where shapes do not fit
        return dst
    if not dst._c_contiguous:
        return NotImplemented if len(by.masked) > 1 else index_rows.put_strided(dst, at, values, len(by.before))
    index_rows.put(dst.reshape(by.shape(prod(by.masked))), at, values, by.rows(at.size))
    return dst


@kernel_for("cuda", "masked_select")
def _masked_select(x: DeviceArray, mask: DeviceArray) -> Any:
    if not mask.ndim or not mask.size:
        return NotImplemented
    return take(x, mask, Chosen((), x.shape, ()))


@kernel_for("cuda", "masked_select_grad")
def _masked_select_grad(g: DeviceArray, mask: DeviceArray) -> Any:
    if not mask.ndim or not mask.size:
        return NotImplemented
    return spread(g, mask, Chosen((), mask.shape, ()))


@kernel_for("cuda", "masked_scatter")
def _masked_scatter(x: DeviceArray, mask: DeviceArray, source: DeviceArray) -> Any:
    """Nobody waits for the count: whoever calls has seen that there are elements enough."""
    if not x.size or mask.shape != x.shape:
        return NotImplemented
    out, source = copied(x), row_major(source)
    unit = index_rows.word(x.itemsize)[1]
    counted(mask).write("spread", out, source, UNIT=unit)
    return out


@kernel_for("cuda", "masked_scatter_grad")
def _masked_scatter_grad(g: DeviceArray, mask: DeviceArray, *, shape: tuple[int, ...]) -> Any:
    if not g.size or mask.shape != g.shape or not prod(shape):
        return NotImplemented
    out, g = ndarray(shape, g.dtype), row_major(g)
    fill(out, 0)
    unit = index_rows.word(g.itemsize)[1]
    counted(mask).write("picked", out, g, UNIT=unit)
    return out


@kernel_for("cuda", "nonzero")
def _nonzero(x: DeviceArray) -> Any:
    if not x.size or not 0 < x.ndim <= 8:
        return NotImplemented
    found = counted(x if x.dtype.kind == "b" else cast(x, "bool"))
    count = found.total()
    out = ndarray((x.ndim, count), np.int64)
    if count:
        found.write("coordinates", out, count, *x.shape, DIMS=x.ndim)
    return out.T
