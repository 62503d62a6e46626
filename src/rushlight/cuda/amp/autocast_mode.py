"""`torch.cuda.amp.autocast_mode`: mixed precision under its older names."""

from typing import Any

_NAMES = ("autocast", "custom_bwd", "custom_fwd")


def __getattr__(name: str) -> Any:
    if name in _NAMES:
        from . import __getattr__ as named

        return named(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
