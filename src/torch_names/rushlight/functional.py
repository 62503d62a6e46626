# ruff: noqa: F822 - they are looked up when asked for
"""`torch.functional`: the functions of the top module that PyTorch writes in Python."""

from __future__ import annotations

import sys
from typing import Any

__all__ = [
    "atleast_1d", "atleast_2d", "atleast_3d", "block_diag", "broadcast_shapes", "broadcast_tensors", "cartesian_prod",
    "cdist", "chain_matmul", "einsum", "istft", "meshgrid", "norm", "split", "stft", "tensordot", "unique",
    "unique_consecutive", "unravel_index",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    return getattr(sys.modules[__package__], name)
