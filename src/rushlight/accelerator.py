"""`torch.accelerator`: the one kind of accelerator this machine has, without naming it."""

from __future__ import annotations

from typing import Any

from . import cuda as _cuda
from .base.device import device as _device
from .base.errors import NoGpuError
from .runtime.cuda import why_not as _why_not


def _need() -> None:
    reason = _why_not()
    if reason is not None:
        raise NoGpuError(f"Cannot access accelerator device when none is available. {reason}")


def is_available() -> bool:
    """Whether there is an accelerator."""
    return _cuda.is_available()


def current_accelerator(check_available: bool = False) -> _device | None:
    """The accelerator's device type, or None."""
    return _device("cuda") if is_available() else None


def device_count() -> int:
    """How many accelerators there are."""
    return _cuda.device_count()


def current_device_index() -> int:
    """The index of the current accelerator."""
    _need()
    return _cuda.current_device()


def set_device_index(device: Any) -> None:
    """Make an accelerator the current one."""
    _need()
    _cuda.set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


def synchronize(device: Any = None) -> None:
    """Wait until an accelerator has finished."""
    _need()
    _cuda.synchronize(device)


def current_stream(device: Any = None) -> Any:
    """The stream that work on an accelerator goes into."""
    _need()
    return _cuda.current_stream(device)


def set_stream(stream: Any) -> None:
    """Send the work on an accelerator into a stream."""
    _need()
    _cuda.set_stream(stream)


def memory_allocated(device: Any = None) -> int:
    """Bytes that live tensors take."""
    return _cuda.memory_allocated(device)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that live tensors took."""
    return _cuda.max_memory_allocated(device)


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator keeps."""
    return _cuda.memory_reserved(device)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the allocator kept."""
    return _cuda.max_memory_reserved(device)


def empty_cache() -> None:
    """Give unused memory back to the driver."""
    _cuda.empty_cache()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the most bytes anew from here."""
    _cuda.reset_peak_memory_stats(device)


def get_memory_info(device: Any = None) -> tuple[int, int]:
    """Bytes that are free, and all there are."""
    _need()
    return _cuda.mem_get_info(device)


class device_index(_cuda.device):  # noqa: N801
    """Inside the block another accelerator is the current one."""
