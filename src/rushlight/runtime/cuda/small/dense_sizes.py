"""Which products of dense layers the kernels of our own take, and how they are cut: known without a GPU."""

from __future__ import annotations

from functools import lru_cache

from ....base.config import settings
from ..code.room import COUNTERS, PARTIALS
from ..costs import few_grads_pay, few_rows_pay, of_library, of_tiles
from ..processors import multiprocessors

FEW = 16  # rows that the kernels for few of them keep in registers
_MOST_ROWS = 1 << 20
_BYTES = {"f": 4, "d": 8, "e": 2, "E": 2}  # of a number
_SIZES = {"f": 4, "e": 2, "E": 2}  # ... without float64, which would not fit beside the rest
_ROOM = 48 * 1024 - 1024  # shared memory that every GPU gives a block
# Of dense_tile.cu: the tile of a block, the terms it takes at a time, parts that its last block adds up alone.
_ROWS, _COLUMNS, _TURN, _MOST_PARTS = 64, 32, 32, 8
_EACH = 2  # blocks on each multiprocessor, what the parts are cut for


@lru_cache(4096)
def is_few(m: int, n: int, k: int, char: str) -> bool:
    """Whether the kernel that keeps m rows in registers takes a product of m x k by k x n, and is quicker."""
    return m <= FEW and char in _BYTES and few_rows_pay(m, n, k, char, _BYTES[char])


@lru_cache(4096)
def is_few_back(m: int, n: int, k: int, char: str) -> bool:
    """The same for the gradients of a layer of k inputs and n outputs."""
    return m <= FEW and char in _BYTES and few_grads_pay(m, n, k, char, _BYTES[char])


def head_share(k: int) -> int:
    """Threads that share a row of a layer with few classes."""
    return 32 if k <= 256 else 128


def is_head(n: int, k: int, char: str) -> bool:
    """Whether a layer of n classes has its weight in shared memory whole, beside some rows."""
    rows = 256 // head_share(k)
    return n <= FEW and k % 4 == 0 and char in _SIZES and (n + rows) * k * _SIZES[char] <= _ROOM


def is_head_input(m: int, n: int, k: int, char: str) -> bool:
    """Whether the gradient of its input, (m, n) by (n, k), is a kernel of its own."""
    return n <= FEW and k % 4 == 0 and char in _SIZES and m <= _MOST_ROWS and n * k < 1 << 24


def tiles(m: int, n: int, k: int) -> tuple[tuple[int, int, int], int]:
    """The grid of the tiled kernel, and the terms of one part."""
    rows, columns, turns = -(-m // _ROWS), -(-n // _COLUMNS), -(-k // _TURN)
    count = rows * columns
    room = PARTIALS // (count * (_ROWS * _COLUMNS + _ROWS))
    parts = max(1, min(_EACH * multiprocessors() // count, turns, _MOST_PARTS, room))
    if count > COUNTERS or turns < 3:
        parts = 1
    depth = -(-turns // parts) * _TURN
    return (columns, rows, -(-k // depth)), depth


def is_tiled(m: int, n: int, k: int, char: str) -> bool:
    """Whether the tiled kernel takes a product of m x k by k x n, and is quicker than the library."""
    if char != "f" or m > _MOST_ROWS:
        return False
    return _tiles_pay(m, n, k, settings.float32_matmul_precision != "highest")


@lru_cache(4096)
def _tiles_pay(m: int, n: int, k: int, tf32: bool) -> bool:
    if not m * n * k:
        return False
    (columns, rows, parts), depth = tiles(m, n, k)
    return of_tiles(columns * rows * parts, depth) < of_library(m, n, k, "t" if tf32 else "f")


def is_small(m: int, n: int, k: int, char: str) -> bool:
    """Whether some kind takes it, wherever it lies in memory."""
    return is_few(m, n, k, char) or is_tiled(m, n, k, char)
