"""Order along one dim on the GPU, without asking the host: sort, topk, kthvalue, searchsorted."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import cupy
import numpy as np

from ....base.bounded import Bounded
from ...door import kernel_for
from ..code.compile import Launch
from ..code.keyed import keyed
from ..code.launch import Result
from ..code.sources import blocks_for, device, typed
from .fills import row_major

if TYPE_CHECKING:
    from ....base.protocols import DeviceArray

ndarray = cupy.ndarray
_SIZES = (8, 32, 128, 512, 2048)  # of chunks: few, as every one is compiled
_LEAST = 256  # items that a block holds at least, of several rows where these are short
_HELD = 32 << 10  # bytes of items that a block holds at most
_ORDERED = "?bBhHiIlLqQefdE"  # "E" is bfloat16


class Lines(NamedTuple):
    """A contiguous array as rows along a dim, with `inner` elements between neighbours of a row."""

    rows: int
    n: int
    inner: int


def sortable(dtype: np.dtype) -> bool:
    """Whether there are kernels for elements of this dtype."""
    return dtype.char in _ORDERED


_kernel = partial(typed, "sorting.cu")


def _most(dtype: np.dtype) -> int:
    """How many elements of a row are put in order at once."""
    return _HELD // (16 if dtype.itemsize == 8 else 8)


class _Chunks:
    """Rows of `n` elements or items, cut into chunks of one size; short rows share a block."""

    def __init__(self, lines: Lines, n: int, chunk: int) -> None:
        self.chunk, self.rows, chunks = chunk, -(-_LEAST // chunk), -(-n // chunk)
        self.count = lines.rows * chunks
        self.blocks, self.threads = -(-self.count // self.rows), min(512, self.rows * chunk // 2)
        self.numbers = (self.count, chunks, n, lines.n, lines.inner)

    def kernel(self, dtype: np.dtype, from_items: bool, to_items: bool) -> Launch:
        return _kernel(
            "sort_chunks", dtype, CHUNK=self.chunk, ROWS=self.rows, FROM_ITEMS=int(from_items),
            TO_ITEMS=int(to_items),
        )  # fmt: skip


def _chunk_of(n: int, most: int) -> int:
    """The size of the chunk that holds a whole row."""
    return next((size for size in _SIZES if n <= size <= most), most)


class _Order:
    """One call: `k` elements of each row's order, from `first` on."""

    def __init__(self, x: DeviceArray, lines: Lines, first: int, k: int, descending: bool) -> None:
        self.x, self.lines, self.first, self.k, self.descending = x, lines, first, k, descending
        self.item = 2 if x.dtype.itemsize == 8 else 1  # in words of 8 bytes

    def into(self, values: Any, places: Any) -> None:
        """Write them; `values` may be None."""
        self.results = (places, values)
        most, n, end = _most(self.x.dtype), self.lines.n, self.first + self.k
        items = None  # what is left to put in order; at first the rows themselves
        if n > most and end <= most // 4:  # only the first of each chunk can be among them
            while n > most:
                chunks = -(-n // most)
                items = self._chunks(items, n, most, end)
                n = chunks * end
        if n <= most:
            self._chunks(items, n, _chunk_of(n, most), None)
        else:
            self._merged(most)

    def _chunks(self, items: Any, n: int, chunk: int, kept: int | None) -> Any:
        """The order of each chunk: the first `kept` as items, or the results."""
        sizes, made = _Chunks(self.lines, n, chunk), None
        if kept is not None:
            made = ndarray((sizes.count * kept * self.item,), np.uint64)
        launch = sizes.kernel(self.x.dtype, items is not None, made is not None)
        first, k = (self.first, self.k) if kept is None else (0, kept)
        launch(
            sizes.blocks, sizes.threads, self.x, *self.results, items, made, *sizes.numbers, first,
            k, int(self.descending),
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
            launch = _kernel("merge", self.x.dtype, CHUNK=chunk, TO_ITEMS=int(not last))
            launch(
                self.lines.rows * chunks, 512, self.x, *self.results, items, other, n, run,
                self.lines.n, self.lines.inner, self.first, self.k,
            )  # fmt: skip
            items, other, run = other, items, 2 * run


_calls: dict[tuple, Any] = Bounded(1024)
_LONG: Any = "several launches"  # stands there for rows that take them


def ordered(
    x: DeviceArray, dim: int, first: int, k: int, descending: bool, values: bool = True
) -> tuple[Any, Any]:
    """`k` elements of the stable order along `dim`, from `first` on: their values, if wanted, and places."""
    dense = row_major(x)
    key = (x.shape, x.dtype, dim, first, k, descending, values, device())
    call = _calls.get(key)
    if call is None:
        call = _calls[key] = _prepared(x, dim, first, k, descending, values) or _LONG
    if call is not _LONG:
        return call(dense) if values else (None, call(dense))
    shape = x.shape[:dim] + (k,) + x.shape[dim + 1 :]
    places, out = ndarray(shape, np.int64), ndarray(shape, x.dtype) if values else None
    if places.size:
        _Order(dense, lines_of(x, dim), first, k, descending).into(out, places)
    return out, places


def lines_of(x: DeviceArray, dim: int) -> Lines:
    return Lines(
        prod(x.shape[:dim]) * prod(x.shape[dim + 1 :]), x.shape[dim], prod(x.shape[dim + 1 :])
    )


def _prepared(x: DeviceArray, dim: int, first: int, k: int, descending: bool, values: bool) -> Any:
    """The one launch for rows that a block holds; None for longer ones, and for none."""
    lines, most = lines_of(x, dim), _most(x.dtype)
    if lines.n > most or not k or not lines.rows:
        return None
    sizes = _Chunks(lines, lines.n, _chunk_of(lines.n, most))
    shape = x.shape[:dim] + (k,) + x.shape[dim + 1 :]
    places = Result(1, shape, np.dtype(np.int64))
    results = (Result(2, shape, x.dtype), places) if values else (places,)
    rest = (0, 0) if values else (0, 0, 0)  # the addresses of what it does not make
    return sizes.kernel(x.dtype, False, False).prepared(
        sizes.blocks, sizes.threads, results, *rest, *sizes.numbers, first, k, int(descending),
        head=1 + len(results),
    )  # fmt: skip


def argsort(x: DeviceArray, dim: int = -1) -> Any:
    """The stable order along `dim`, NaN last; CuPy's own waits for the GPU and cannot be part of a graph."""
    dim %= x.ndim
    return ordered(x, dim, 0, x.shape[dim], False, values=False)[1]


def search(sequence: DeviceArray, values: DeviceArray, right: bool, narrow: bool = False) -> Any:
    """Where values would stand in sorted rows of their own, or in one row for all; both of one dtype."""
    dense = [row_major(a) for a in (sequence, values)]
    out = ndarray(values.shape, np.int32 if narrow else np.int64)
    if values.size:
        each = values.size if sequence.ndim == 1 else values.shape[-1]
        launch = _kernel("search", values.dtype, PLACE="int" if narrow else "i64")
        count, width = values.size, sequence.shape[-1]
        launch(blocks_for(count), 256, *dense, out, count, each, width, int(right))
    return out


@kernel_for("cuda", "searchsorted")
def _searchsorted(sequence: DeviceArray, values: DeviceArray, *, right: bool, narrow: bool) -> Any:
    if sequence.dtype != values.dtype or not sortable(values.dtype):
        return NotImplemented
    return search(sequence, values, right, narrow)


def _sort(x: DeviceArray, *, dim: int, descending: bool) -> Any:
    if not x.ndim or not sortable(x.dtype):
        return NotImplemented
    dim %= x.ndim
    return ordered(x, dim, 0, x.shape[dim], descending)


def _sort_call(x: DeviceArray, *, dim: int, descending: bool) -> Any:
    return _topk_call(x, k=x.shape[dim] if x.ndim else 0, dim=dim, largest=descending)


def _topk(x: DeviceArray, *, k: int, dim: int, largest: bool) -> Any:
    if not sortable(x.dtype):
        return NotImplemented
    if x.ndim:
        return ordered(x, dim % x.ndim, 0, k, largest)
    values, places = ordered(x.reshape(1), 0, 0, k, largest)
    return (values.reshape(()), places.reshape(())) if k else (values, places)


def _topk_call(x: DeviceArray, *, k: int, dim: int, largest: bool) -> Any:
    if not x.ndim or not sortable(x.dtype) or not x._c_contiguous:
        return None
    return _prepared(x, dim % x.ndim, 0, k, largest, True)


kernel_for("cuda", "sort")(keyed(_sort, _sort_call))
kernel_for("cuda", "topk")(keyed(_topk, _topk_call))


@kernel_for("cuda", "kthvalue")
def _kthvalue(x: DeviceArray, *, k: int, dim: int, keepdim: bool) -> Any:
    if not x.ndim or not x.size or not sortable(x.dtype):
        return NotImplemented
    dim %= x.ndim
    values, places = ordered(x, dim, k - 1, 1, False)
    return (values, places) if keepdim else (values.squeeze(dim), places.squeeze(dim))
