"""`rushlight.utils`: what PyTorch keeps under `torch.utils`."""

from importlib import import_module
from typing import Any

from ..core.swap import swap_tensors as swap_tensors
from . import data, dlpack  # type: ignore[attr-defined]

__all__ = ["data", "dlpack"]

_LATE = (
    "_python_dispatch", "_pytree", "_triton", "benchmark", "checkpoint", "cpp_extension", "deterministic",
    "flop_counter", "hooks", "model_zoo", "tensorboard",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _LATE:
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
