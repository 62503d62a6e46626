"""`torch.backends.mkldnn`: oneDNN, which rushlight does not use."""

from __future__ import annotations

from ._absent import is_available, is_built

__all__ = ["enabled", "is_available", "is_built"]

enabled = False
