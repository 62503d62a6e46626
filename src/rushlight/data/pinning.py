"""Page-locked batches: what `pin_memory=True` does to a batch before the user sees it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..base.device import device
from ..core.tensor import Tensor
from ..runtime import devices
from .collate import map_leaves


def finisher(pin_memory: bool, pin_memory_device: str) -> Callable[[Any], Any] | None:
    """What is applied to every finished batch, or None; a device prefetch has its place here too."""
    if not pin_memory:
        return None
    if pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{pin_memory_device}'.",
            stacklevel=4,
        )
    if _accelerator():
        return pin
    warnings.warn(
        "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
        "memory won't be used.",
        stacklevel=4,
    )
    return None


def _accelerator() -> bool:
    try:
        devices.backend_of(device("cuda"))
    except Exception:  # whatever the reason, there is none to pin for
        return False
    return True


def pin(batch: Any) -> Any:
    """The batch with its tensors in page-locked memory; an object of yours may have `pin_memory()`."""
    if isinstance(batch, Tensor) or (
        hasattr(batch, "pin_memory") and not isinstance(batch, (str, bytes))
    ):
        return batch.pin_memory()
    return map_leaves(batch, pin)
