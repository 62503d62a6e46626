"""`torch.cpu.amp`: the older names of mixed precision on the CPU, over `rushlight.amp`."""

from __future__ import annotations

from typing import Any

from ..amp import GradScaler as _GradScaler
from ..amp import autocast as _autocast
from ..base.dtypes import bfloat16

__all__ = ["GradScaler", "autocast"]


class autocast(_autocast):  # noqa: N801 - PyTorch's name
    """As `torch.amp.autocast` of "cpu", under its older name."""

    def __init__(self, enabled: bool = True, dtype: Any = bfloat16, cache_enabled: bool = True) -> None:
        super().__init__("cpu", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(_GradScaler):
    """`torch.amp.GradScaler("cpu", ...)`, under its older name."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__("cpu", *args, **options)
