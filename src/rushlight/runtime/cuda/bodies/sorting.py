"""Order along one dim on the GPU, without asking the host: sort, topk, kthvalue, searchsorted."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any, NamedTuple

import cupy
import numpy as np

from ....base.arrays import DeviceArray
from ....base.bounded import Bounded
from ...door import kernel_for
from ..code.compile import Launch
from ..code.keyed import keyed
from ..code.launch import Result
from ..code.sources import blocks_for, device, typed
from ..processors import multiprocessors
from .fills import copied, fill, one_launch, row_major

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


def _chunk_of(n: int, most: int) -> int:
    """How many items a block has room for that puts `n` of them in order."""
    return next((size for size in _SIZES if n <= size <= most), most)


_TILE = 4096  # elements of which a block finds the first few
_EACH = 8  # of a thread, as in sorting.cu
_WIDTHS = (32, 64, 128, 256, 512)  # threads of a block


def _are_few(n: int, end: int) -> bool:
    """Whether the first ones are better found than the whole row put in order."""
    return n > _LEAST and end <= min(n // 2, _TILE // 4)


def _firsts(dtype: np.dtype, n: int, end: int, **how: int) -> tuple[int, Launch]:
    """Threads for a tile of a row, and the kernel that finds its first ones."""
    threads = next(size for size in _WIDTHS if size * _EACH >= min(n, _TILE))
    return threads, _kernel("firsts", dtype, CHUNK=_chunk_of(end, 2048), **how)


_STAGED = 32 << 10  # bytes of keys that a block puts in order in its shared memory
_THREADS = 512  # as in sorting.cu


def _long(x: DeviceArray, lines: Lines, shape: tuple, first: int, k: int, descending: bool, values: bool) -> Any:
    """The launches for rows that no block holds, each contiguous."""
    how = (first, k, int(descending))
    if _are_few(lines.n, first + k):
        launches = _of_few(x.dtype, lines, *how)
    else:
        launches = _by_digits(x.dtype, lines, *how)

    def call(dense: DeviceArray) -> Any:
        places, out = ndarray(shape, np.int64), ndarray(shape, x.dtype) if values else None
        launches(dense, places, out)
        return (out, places) if values else places

    return call


def _by_digits(dtype: np.dtype, lines: Lines, first: int, k: int, descending: int) -> Any:
    """The whole order: how often each digit is there, and a launch for each."""
    rows, n, digits = lines.rows, lines.n, dtype.itemsize
    per = _STAGED // max(4, digits) // _THREADS
    while per > 4 and rows * -(-n // (per * _THREADS)) < multiprocessors():
        per //= 2
    tiles, parts = -(-n // (per * _THREADS)), min(-(-n // 4096), -(-4 * multiprocessors() // rows))
    told, name = (np.uint64, "u64") if n >> 30 else (np.uint32, "unsigned")
    size, held = rows * (digits * 257 + 2 + 512 * tiles), min(2, digits - 1) * rows * n
    counting = _kernel("count_digits", dtype, COUNT=name).fixed(rows * parts, _THREADS, rows, n, parts)
    moves = [
        _kernel("by_digit", dtype, PER=per, COUNT=name).fixed(
            rows * tiles, _THREADS, rows, n, tiles, digit, first, k, descending
        )
        for digit in range(digits)
    ]

    def launches(x: DeviceArray, places: Any, values: Any) -> None:
        counts = ndarray((size,), told)
        keys, order = ndarray((held,), f"u{digits}"), ndarray((held,), np.uint32)
        fill(counts, 0)
        counting(x, counts)
        for move in moves:
            move(x, places, values, keys, order, counts)

    return launches


def _of_few(dtype: np.dtype, lines: Lines, first: int, k: int, descending: int) -> Any:
    """The beginning of the order: of each tile only the first can be in it."""
    end, words = first + k, 2 if dtype.itemsize == 8 else 1

    def launches(x: DeviceArray, places: Any, values: Any) -> None:
        n, items = lines.n, None
        while True:
            chunks, made = -(-n // _TILE), None
            if chunks > 1:
                made = ndarray((lines.rows * chunks * end * words,), np.uint64)
            how = {"FROM_ITEMS": int(items is not None), "TO_ITEMS": int(made is not None)}
            threads, launch = _firsts(dtype, n, end, **how)
            launch(
                lines.rows * chunks, threads, x, places, values, items, made, chunks, n, lines.n,
                *((0, end) if chunks > 1 else (first, k)), descending,
            )  # fmt: skip
            if made is None:
                return
            n, items = chunks * end, made

    return launches


_calls: dict[tuple, Any] = Bounded(1024)


def ordered(x: DeviceArray, dim: int, first: int, k: int, descending: bool, values: bool = True) -> tuple[Any, Any]:
    """`k` elements of the stable order along `dim`, from `first` on: their values, if wanted, and places."""
    shape = x.shape[:dim] + (k,) + x.shape[dim + 1 :]
    if not k or not x.size:
        return ndarray(shape, x.dtype) if values else None, ndarray(shape, np.int64)
    lines = lines_of(x, dim)
    if lines.inner > 1 and lines.n > min(_LEAST, _most(x.dtype)):  # as rows that lie in one piece
        found = ordered(cupy.moveaxis(x, dim, -1), x.ndim - 1, first, k, descending, values)
        made = [a if a is None else copied(cupy.moveaxis(a, -1, dim)) for a in found]
        return made[0], made[1]
    dense = row_major(x)
    key = (x.shape, x.dtype, dim, first, k, descending, values, device())
    call = _calls.get(key)
    if call is None:
        call = _calls[key] = _prepared(x, dim, first, k, descending, values) or _long(
            x, lines, shape, first, k, descending, values
        )
    return call(dense) if values else (None, call(dense))


def lines_of(x: DeviceArray, dim: int) -> Lines:
    return Lines(prod(x.shape[:dim]) * prod(x.shape[dim + 1 :]), x.shape[dim], prod(x.shape[dim + 1 :]))


def _prepared(x: DeviceArray, dim: int, first: int, k: int, descending: bool, values: bool) -> Any:
    """The one launch for rows that a block holds; None for longer ones, and for none."""
    lines, most = lines_of(x, dim), _most(x.dtype)
    if not k or not lines.rows or (lines.inner > 1 and lines.n > min(_LEAST, most)):
        return None
    shape = x.shape[:dim] + (k,) + x.shape[dim + 1 :]
    places = Result(1, shape, np.dtype(np.int64))
    results = (Result(2, shape, x.dtype), places) if values else (places,)
    n, end = lines.n, first + k
    numbers: tuple[int, ...]
    absent: tuple[int, ...] = () if values else (2,)
    if _are_few(n, end) and n <= _TILE and lines.inner == 1:
        threads, launch = _firsts(x.dtype, n, end, **({"NTH": 1} if k == 1 else {}))
        blocks, numbers, absent = lines.rows, (1, n, n), (*absent, 3, 4)
    elif _LEAST < n <= most:
        threads = next(size for size in _WIDTHS if size * _EACH >= n)
        launch = _kernel("sort_digits", x.dtype, CHUNK=threads * _EACH)
        blocks, numbers = lines.rows, (n,)
    elif n <= most:
        chunk = _chunk_of(n, most)
        rows = -(-_LEAST // chunk)
        launch = _kernel("sort_rows", x.dtype, CHUNK=chunk, ROWS=rows)
        blocks, threads, numbers = -(-lines.rows // rows), min(512, rows * chunk // 2), lines
    else:
        return None
    return launch.prepared(blocks, threads, results, *numbers, first, k, int(descending), absent=absent)


def middle(x: DeviceArray, shape: tuple[int, ...], ignore_nan: bool) -> Any:
    """The lower median of every row of a contiguous array, and its place; None where rows are long."""
    n = x.shape[-1]
    if n > _TILE:
        return None
    key = (x.shape, x.dtype, shape, ignore_nan, device())
    call = _calls.get(key)
    if call is None:
        threads, launch = _firsts(x.dtype, n, 1, NTH=3 if ignore_nan else 2)
        results = Result(2, shape, x.dtype), Result(1, shape, np.dtype(np.int64))
        call = _calls[key] = launch.prepared(x.size // n, threads, results, 1, n, n, 0, 1, 0, absent=(3, 4))
    return call(x)


def argsort(x: DeviceArray, dim: int = -1) -> Any:
    """The stable order along `dim`, NaN last; CuPy's own waits for the GPU and cannot be part of a graph."""
    dim %= x.ndim
    return ordered(x, dim, 0, x.shape[dim], False, values=False)[1]


def _searchsorted(sequence: DeviceArray, values: DeviceArray, *, right: bool, narrow: bool) -> Any:
    """Where values would stand in sorted rows of their own, or in one row for all."""
    if sequence.dtype != values.dtype or not sortable(values.dtype) or not values.size:
        return None
    if not sequence._c_contiguous or not values._c_contiguous:
        return None
    count, place = values.size, "int" if narrow else "i64"
    each = count if sequence.ndim == 1 else values.shape[-1]
    made = (Result(2, values.shape, np.dtype(np.int32 if narrow else np.int64)),)
    return _kernel("search", values.dtype, PLACE=place).prepared(
        blocks_for(count), 256, made, count, each, sequence.shape[-1], int(right)
    )


search = kernel_for("cuda", "searchsorted")(one_launch(_searchsorted))


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
