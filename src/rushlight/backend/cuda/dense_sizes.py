"""How small a dense layer's product must be for the kernels of our own; passes ask here without a GPU."""

from __future__ import annotations

from ...base.config import settings

FEW = 16  # rows up to which every layer is one launch forward and one backward
_LITTLE = 1 << 20  # ... and multiply-adds
# Multiply-adds up to which the tiled kernel is used: 256 x 512 x 512 takes it 10.2 us and cuBLASLt 11.0,
# 100 x 784 x 1000 takes 14.3 and 12.8, 512 x 400 x 120 7.3 and 9.6 (H200, in a graph, 2026-11-15).
_TILED = 1 << 26
_TILED_BESIDE_TF32 = 1 << 25  # the library's TF32 kernels are quicker sooner
_MOST_ROWS = 1 << 20
_TYPES = frozenset("fdeE")


def is_few(m: int, n: int, k: int, char: str) -> bool:
    """Whether m rows are few enough for the kernels that keep them in registers."""
    return m <= FEW and m * n * k <= _LITTLE and char in _TYPES


def is_tiled(m: int, n: int, k: int, char: str) -> bool:
    """Whether the tiled kernel takes a product of m x k by k x n."""
    most = _TILED if settings.float32_matmul_precision == "highest" else _TILED_BESIDE_TF32
    return char == "f" and m * n * k <= most and m <= _MOST_ROWS


def is_small(m: int, n: int, k: int, char: str) -> bool:
    """Whether either kind takes it."""
    return is_few(m, n, k, char) or is_tiled(m, n, k, char)
