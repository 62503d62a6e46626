"""`torch.cuda.amp`: the older names of mixed precision on the GPU, over `rushlight.amp`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_HOMES = {
    "GradScaler": "grad_scaler",
    "amp_definitely_not_available": "common",
    "autocast": "autocast_mode",
    "custom_bwd": "autocast_mode",
    "custom_fwd": "autocast_mode",
}


def __getattr__(name: str) -> Any:
    """Looked up late: `rushlight.amp` is loaded only by those who use it."""
    if name in _HOMES.values():
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
