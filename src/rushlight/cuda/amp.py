"""`torch.cuda.amp`: the older names of mixed precision on the GPU, over `rushlight.amp`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from ..base.errors import NotYet


def _amp(name: str) -> Any:
    package = __name__.partition(".")[0]
    try:
        return getattr(import_module(f"{package}.amp"), name)
    except (ImportError, AttributeError):
        raise NotYet(f"{package}.amp.{name} is not implemented yet") from None


def autocast(enabled: bool = True, dtype: Any = None, cache_enabled: bool = True) -> Any:
    """`amp.autocast("cuda", ...)`."""
    return _amp("autocast")("cuda", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


def GradScaler(*args: Any, **kwargs: Any) -> Any:  # noqa: N802 - a class in PyTorch
    """`amp.GradScaler("cuda", ...)`."""
    return _amp("GradScaler")("cuda", *args, **kwargs)


def custom_fwd(*args: Any, **kwargs: Any) -> Any:
    """`amp.custom_fwd(device_type="cuda")`."""
    return _amp("custom_fwd")(*args, device_type="cuda", **kwargs)


def custom_bwd(*args: Any, **kwargs: Any) -> Any:
    """`amp.custom_bwd(device_type="cuda")`."""
    return _amp("custom_bwd")(*args, device_type="cuda", **kwargs)
