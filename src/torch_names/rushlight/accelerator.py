"""`torch.accelerator`: the one kind of accelerator this machine has, without naming it: the functions of `torch.cuda`."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from . import cuda as _cuda
from .base.device import device as _device
from .base.errors import NoGpuError
from .cuda import (
    device_count,
    empty_cache,
    is_available,
    max_memory_allocated,
    max_memory_reserved,
    memory_allocated,
    memory_reserved,
)
from .runtime.cuda import why_not as _why_not

__all__ = [
    "current_accelerator", "current_device_idx", "current_device_index", "current_stream", "device_count",
    "device_index", "empty_cache", "get_memory_info", "is_available", "max_memory_allocated",
    "max_memory_reserved", "memory_allocated", "memory_reserved", "memory_stats", "reset_peak_memory_stats",
    "set_device_idx", "set_device_index", "set_stream", "synchronize",
]  # fmt: skip

_Call = TypeVar("_Call", bound=Callable[..., Any])


def current_accelerator(check_available: bool = False) -> _device | None:
    """The accelerator's device type, or None.

    Args:
        check_available: accepted; an accelerator that cannot be used is never named.

    Example:
        >>> device = torch.accelerator.current_accelerator() or torch.device("cpu")
    """
    return _device("cuda") if is_available() else None


def _there(name: str, of_cuda: _Call) -> _Call:
    """A function of `torch.cuda` as one that says first whether there is an accelerator."""

    @wraps(of_cuda)
    def call(*args: Any, **options: Any) -> Any:
        reason = _why_not()
        if reason is not None:
            raise NoGpuError(f"Cannot access accelerator device when none is available. {reason}")
        return of_cuda(*args, **options)

    call.__name__, call.__qualname__, call.__module__ = name, name, __name__
    call.__doc__ = f"As `cuda.{of_cuda.__name__}`, of the accelerator; RuntimeError if there is none."
    return call  # type: ignore[return-value]


current_device_index = current_device_idx = _there("current_device_index", _cuda.current_device)
set_device_index = set_device_idx = _there("set_device_index", _cuda.set_device)
synchronize = _there("synchronize", _cuda.synchronize)
current_stream = _there("current_stream", _cuda.current_stream)
set_stream = _there("set_stream", _cuda.set_stream)
get_memory_info = _there("get_memory_info", _cuda.mem_get_info)
memory_stats = _there("memory_stats", _cuda.memory_stats)
reset_peak_memory_stats = _there("reset_peak_memory_stats", _cuda.reset_peak_memory_stats)


class device_index(_cuda.device):  # noqa: N801
    """As `cuda.device`: inside the block another accelerator is the current one."""
