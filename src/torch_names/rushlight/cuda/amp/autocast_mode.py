"""`torch.cuda.amp.autocast_mode`: mixed precision under its older names."""

from __future__ import annotations

from typing import Any

from ...amp import autocast as _autocast
from ...amp import custom_bwd as _custom_bwd
from ...amp import custom_fwd as _custom_fwd
from ...base.dtypes import float16

__all__ = ["autocast", "custom_bwd", "custom_fwd"]


class autocast(_autocast):  # noqa: N801 - PyTorch's name
    """As `torch.amp.autocast` of "cuda", under its older name."""

    def __init__(self, enabled: bool = True, dtype: Any = float16, cache_enabled: bool = True) -> None:
        super().__init__("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def custom_fwd(fwd: Any = None, *, cast_inputs: Any = None) -> Any:
    """`torch.amp.custom_fwd(..., device_type="cuda")`, under its older name."""
    return _custom_fwd(fwd, device_type="cuda", cast_inputs=cast_inputs)


def custom_bwd(bwd: Any) -> Any:
    """`torch.amp.custom_bwd(..., device_type="cuda")`, under its older name."""
    return _custom_bwd(bwd, device_type="cuda")
