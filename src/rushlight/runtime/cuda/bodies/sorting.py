"""Order along one dim on the GPU, without asking the host: sort, topk, kthvalue, searchsorted."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from ....base.dtypes import from_np
from ...door import kernel_for
from ..code.compile import Launch, kernel, source
from ..code.generate import PRELUDE, TYPES
from ..code.sources import blocks_for
from .fills import copied

if TYPE_CHECKING:
    from ....base.protocols import DeviceArray

ndarray = cupy.ndarray
_SIZES = (8, 32, 128, 512, 2048)  # of chunks: few, as every one is compiled
_LEAST = 256  # items that a block holds at least, of several rows where these are short
_HELD = 32 << 10  # bytes of items that a block holds at most
_ORDERED = "?bBhHiIlLqQefdE"  # "E" is bfloat16
_SORT = ("P", "P", "P", "P", "P", "q", "q", "q", "q", "q", "i", "i", "i")
_SEARCH = ("P", "P", "P", "q", "q", "q", "i")
_MERGE = ("P", "P", "P", "P", "P", "q", "q", "q", "q", "q", "q")


class Lines(NamedTuple):
    """A contiguous array as rows along a dim, with `inner` elements between neighbours of a row."""

    rows: int
    n: int
    inner: int


def sortable(dtype: np.dtype) -> bool:
    """Whether there are kernels for elements of this dtype."""
    return dtype.char in _ORDERED


@cache
def source_for(name: str) -> str:
    """The kernels for elements of one dtype."""
    return f"{PRELUDE}\ntypedef {TYPES[name][0]} S;\n{source('sorting.cu')}"


@cache
def _options(**constants: int | str) -> tuple[str, ...]:
    return tuple([f"-D{name}={value}" for name, value in constants.items()])


def _kernel(name: str, dtype: np.dtype, formats: tuple[str, ...], **constants: int | str) -> Launch:
    return kernel(source_for(from_np(dtype).name), name, formats, _options(**constants))


def _most(dtype: np.dtype) -> int:
    """How many elements of a row are put in order at once."""
    return _HELD // (16 if dtype.itemsize == 8 else 8)


class _Order:
    """One call: `k` elements of each row's order, from `first` on."""

    def __init__(self, x: DeviceArray, lines: Lines, first: int, k: int, descending: bool) -> None:
        self.x, self.lines, self.first, self.k, self.descending = x, lines, first, k, descending
        self.item = 2 if x.dtype.itemsize == 8 else 1  # in words of 8 bytes

    def into(self, values: Any, places: Any) -> None:
        """Write them; `values` may be None."""
        self.results = (0 if values is None else values.data.ptr, places.data.ptr)
        most, n, end = _most(self.x.dtype), self.lines.n, self.first + self.k
        items = None
        if n > most and end <= most // 4:  # only the first of each chunk can be among them
            while n > most:
                chunks = -(-n // most)
                items = self._chunks(items, n, most, end)
                n = chunks * end
        if n <= most:
            self._chunks(items, n, next((s for s in _SIZES if n <= s <= most), most), None)
        else:
            self._merged(most)

    def _chunks(self, items: Any, n: int, chunk: int, kept: int | None) -> Any:
        """The order of each chunk: the first `kept` as items, or the results."""
        rows = -(-_LEAST // chunk)
        chunks = -(-n // chunk)
        count = self.lines.rows * chunks
        made = None if kept is None else ndarray((count * kept * self.item,), np.uint64)
        launch = _kernel(
            "sort_chunks", self.x.dtype, _SORT, CHUNK=chunk, ROWS=rows,
            FROM_ITEMS=int(items is not None), TO_ITEMS=int(made is not None),
        )  # fmt: skip
        first, k = (self.first, self.k) if kept is None else (0, kept)
        launch(
            -(-count // rows), min(512, rows * chunk // 2), self.x.data.ptr,
            0 if items is None else items.data.ptr, 0 if made is None else made.data.ptr,
            *self.results, count, chunks, n, self.lines.n, self.lines.inner, first, k,
            int(self.descending),
        )  # fmt: skip
        return made

    def _merged(self, chunk: int) -> None:
        """The results by way of sorted chunks, merged by twos."""
        chunks = -(-self.lines.n // chunk)
        n, run = chunks * chunk, chunk
        items = self._chunks(None, self.lines.n, chunk, chunk)
        other = ndarray(items.shape, np.uint64) if chunks > 2 else items
        while run < n:
            last = 2 * run >= n
            launch = _kernel("merge", self.x.dtype, _MERGE, CHUNK=chunk, TO_ITEMS=int(not last))
            launch(
                self.lines.rows * chunks, 512, self.x.data.ptr, items.data.ptr, other.data.ptr,
                *self.results, n, run, self.lines.n, self.lines.inner, self.first, self.k,
            )  # fmt: skip
            items, other, run = other, items, 2 * run


def ordered(
    x: DeviceArray, dim: int, first: int, k: int, descending: bool, values: bool = True
) -> tuple[Any, Any]:
    """`k` elements of the stable order along `dim`, from `first` on: their values, if wanted, and places."""
    dense = x if x._c_contiguous else copied(x)
    shape = x.shape[:dim] + (k,) + x.shape[dim + 1 :]
    lines = Lines(prod(shape) // k if k else 0, x.shape[dim], prod(x.shape[dim + 1 :]))
    places = ndarray(shape, np.int64)
    out = ndarray(shape, x.dtype) if values else None
    if lines.rows and k:
        _Order(dense, lines, first, k, descending).into(out, places)
    return out, places


def argsort(x: DeviceArray, dim: int = -1) -> Any:
    """The stable order along `dim`, NaN last; CuPy's own waits for the GPU and cannot be part of a graph."""
    dim %= x.ndim
    return ordered(x, dim, 0, x.shape[dim], False, values=False)[1]


def search(sequence: DeviceArray, values: DeviceArray, right: bool, narrow: bool = False) -> Any:
    """Where values would stand in sorted rows of their own, or in one row for all; both of one dtype."""
    dense = [a if a._c_contiguous else copied(a) for a in (sequence, values)]
    out = ndarray(values.shape, np.int32 if narrow else np.int64)
    if values.size:
        each = values.size if sequence.ndim == 1 else values.shape[-1]
        launch = _kernel("search", values.dtype, _SEARCH, PLACE="int" if narrow else "i64")
        addresses = [a.data.ptr for a in (*dense, out)]
        launch(
            blocks_for(values.size), 256, *addresses, values.size, each, sequence.shape[-1],
            int(right),
        )  # fmt: skip
    return out


@kernel_for("cuda", "searchsorted")
def _searchsorted(sequence: DeviceArray, values: DeviceArray, *, right: bool, narrow: bool) -> Any:
    if sequence.dtype != values.dtype or not sortable(values.dtype):
        return NotImplemented
    return search(sequence, values, right, narrow)


@kernel_for("cuda", "sort")
def _sort(x: DeviceArray, *, dim: int, descending: bool) -> Any:
    if not x.ndim or not sortable(x.dtype):
        return NotImplemented
    dim %= x.ndim
    return ordered(x, dim, 0, x.shape[dim], descending)


@kernel_for("cuda", "topk")
def _topk(x: DeviceArray, *, k: int, dim: int, largest: bool) -> Any:
    if not sortable(x.dtype):
        return NotImplemented
    if x.ndim:
        return ordered(x, dim % x.ndim, 0, k, largest)
    values, places = ordered(x.reshape(1), 0, 0, k, largest)
    return (values.reshape(()), places.reshape(())) if k else (values, places)


@kernel_for("cuda", "kthvalue")
def _kthvalue(x: DeviceArray, *, k: int, dim: int, keepdim: bool) -> Any:
    if not x.ndim or not x.size or not sortable(x.dtype):
        return NotImplemented
    dim %= x.ndim
    values, places = ordered(x, dim, k - 1, 1, False)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))
