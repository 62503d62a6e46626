"""`torch.cuda.amp.grad_scaler`: the scaler under its older name."""

from typing import Any

from ...amp.grad_scaler import OptState

__all__ = ["OptState"]


def __getattr__(name: str) -> Any:
    if name == "GradScaler":
        from . import __getattr__ as named

        return named(name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
