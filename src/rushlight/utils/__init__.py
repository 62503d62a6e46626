"""`rushlight.utils`: what PyTorch keeps under `torch.utils`."""

from importlib import import_module
from typing import Any

from . import data, dlpack

__all__ = ["data", "dlpack"]

_LATE = (
    "_python_dispatch", "_pytree", "benchmark", "checkpoint", "hooks", "model_zoo", "tensorboard",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
