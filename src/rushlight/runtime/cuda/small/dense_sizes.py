"""How small a dense layer's product must be for the kernels of our own; passes ask here without a GPU."""

from __future__ import annotations

from ....base.config import settings

FEW = 16  # rows up to which every layer is one launch forward and one backward
_LITTLE = 1 << 20  # ... and multiply-adds
# Multiply-adds up to which the tiled kernel is used: 256 x 512 x 512 takes it 10.2 us and cuBLASLt 11.0,
# 100 x 784 x 1000 takes 14.3 and 12.8, 512 x 400 x 120 7.3 and 9.6 (H200, in a graph, 2026-11-15).
_TILED = 1 << 26
_TILED_BESIDE_TF32 = 1 << 25  # the library's TF32 kernels are quicker sooner
_MOST_ROWS = 1 << 20
_TYPES = frozenset("fdeE")
_SIZES = {"f": 4, "e": 2, "E": 2}  # bytes of a number; float64 would not fit beside the rest
_ROOM = 48 * 1024 - 1024  # shared memory that every GPU gives a block


def is_few(m: int, n: int, k: int, char: str) -> bool:
    """Whether m rows are few enough for the kernels that keep them in registers."""
    return m <= FEW and m * n * k <= _LITTLE and char in _TYPES


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


def is_tiled(m: int, n: int, k: int, char: str) -> bool:
    """Whether the tiled kernel takes a product of m x k by k x n."""
    most = _TILED if settings.float32_matmul_precision == "highest" else _TILED_BESIDE_TF32
    return char == "f" and m * n * k <= most and m <= _MOST_ROWS


def is_small(m: int, n: int, k: int, char: str) -> bool:
    """Whether some kind takes it, wherever it lies in memory."""
    return is_few(m, n, k, char) or is_tiled(m, n, k, char)
