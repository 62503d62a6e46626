"""`torch._inductor`: PyTorch's compiler, which rushlight does not have; its settings can be set and change nothing."""

from __future__ import annotations

from . import config as config

__all__ = ["config"]
