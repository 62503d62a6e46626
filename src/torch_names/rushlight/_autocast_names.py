"""The older questions about autocast, one function for each device."""

from __future__ import annotations

from typing import Any

from .amp import get_autocast_dtype, is_autocast_enabled

__all__ = ["get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "is_autocast_cpu_enabled"]


def get_autocast_cpu_dtype() -> Any:
    """The dtype that autocast uses on the CPU.

    Example:
        >>> torch.get_autocast_cpu_dtype() == torch.bfloat16
        True
    """
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype() -> Any:
    """The dtype that autocast uses on a GPU.

    Example:
        >>> torch.get_autocast_gpu_dtype() == torch.float16
        True
    """
    return get_autocast_dtype("cuda")


def is_autocast_cpu_enabled() -> bool:
    """Whether autocast is on for the CPU.

    Example:
        >>> torch.is_autocast_cpu_enabled()
        False
    """
    return is_autocast_enabled("cpu")
