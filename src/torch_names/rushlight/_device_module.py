"""`get_device_module`: the module of functions of a device type."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Any

from .base.device import device as _device

_MODULES = ("cpu", "cuda", "mps", "mtia", "xpu")


def get_device_module(device: Any = None) -> ModuleType:
    """The module of a device type, such as `torch.cuda`.

    Args:
        device: a device or its name; the accelerator of this machine, or the CPU, if not given.

    Example:
        >>> torch.get_device_module("cuda") is torch.cuda
        True
    """
    if device is None:
        from .accelerator import current_accelerator

        device = current_accelerator() or "cpu"
    kind = device.type if isinstance(device, _device) else str(device).partition(":")[0]
    if kind not in _MODULES:
        raise RuntimeError(f"Device {kind!r} has no module: there are {', '.join(_MODULES)}")
    return import_module(f"rushlight.{kind}")
