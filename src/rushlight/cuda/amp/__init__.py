"""`torch.cuda.amp`: the older names of mixed precision on the GPU, over `rushlight.amp`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

# name -> how its newer form takes the device
_NAMES = {
    "autocast": lambda new: lambda *a, **k: new("cuda", *_autocast_order(a), **k),
    "GradScaler": lambda new: lambda *a, **k: new("cuda", *a, **k),
    "custom_fwd": lambda new: lambda *a, **k: new(*a, device_type="cuda", **k),
    "custom_bwd": lambda new: lambda *a, **k: new(*a, device_type="cuda", **k),
}


def _autocast_order(args: tuple) -> tuple:
    """The old form takes (enabled, dtype, ...), the new one (dtype, enabled, ...)."""
    return (args[1] if len(args) > 1 else None, args[0], *args[2:]) if args else ()


def __getattr__(name: str) -> Any:
    """Looked up late: `rushlight.amp` is loaded only by those who use it."""
    if name in ("autocast_mode", "common", "grad_scaler"):
        return import_module(f"{__name__}.{name}")
    if name in _NAMES:
        from ... import amp

        return _NAMES[name](getattr(amp, name))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
