"""`torch.backends.opt_einsum`: a library that plans einsums; rushlight plans them itself."""

from __future__ import annotations

from ._absent import is_available

__all__ = ["enabled", "is_available", "strategy"]

enabled = False
strategy = None
