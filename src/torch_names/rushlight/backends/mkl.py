"""`torch.backends.mkl`: Intel MKL, which rushlight does not use."""

from __future__ import annotations

from ._absent import is_available, is_built

__all__ = ["is_available", "is_built"]
