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
    """Whether there is an accelerator.

    Example:
        >>> torch.accelerator.is_available() == torch.cuda.is_available()
        True
    """
    return _cuda.is_available()


def current_accelerator(check_available: bool = False) -> _device | None:
    """The accelerator's device type, or None.

    Args:
        check_available: accepted; an accelerator that cannot be used is never named.

    Example:
        >>> device = torch.accelerator.current_accelerator() or torch.device("cpu")
    """
    return _device("cuda") if is_available() else None


def device_count() -> int:
    """How many accelerators there are.

    Example:
        >>> torch.accelerator.device_count() == torch.cuda.device_count()
        True
    """
    return _cuda.device_count()


def current_device_index() -> int:
    """The index of the current accelerator.

    Raises:
        RuntimeError: if there is none.

    Example:
        >>> if torch.accelerator.is_available():
        ...     index = torch.accelerator.current_device_index()
    """
    _need()
    return _cuda.current_device()


def set_device_index(device: Any) -> None:
    """Make an accelerator the current one.

    Raises:
        RuntimeError: if there is none.

    Example:
        >>> if torch.accelerator.is_available():
        ...     torch.accelerator.set_device_index(0)
    """
    _need()
    _cuda.set_device(device)


current_device_idx, set_device_idx = current_device_index, set_device_index


def synchronize(device: Any = None) -> None:
    """Wait until an accelerator has finished.

    Raises:
        RuntimeError: if there is none.

    Example:
        >>> if torch.accelerator.is_available():
        ...     torch.accelerator.synchronize()
    """
    _need()
    _cuda.synchronize(device)


def current_stream(device: Any = None) -> Any:
    """The stream that work on an accelerator goes into.

    Example:
        >>> if torch.accelerator.is_available():
        ...     torch.accelerator.current_stream().synchronize()
    """
    _need()
    return _cuda.current_stream(device)


def set_stream(stream: Any) -> None:
    """Send the work on an accelerator into a stream.

    Args:
        stream: a `torch.cuda.Stream`.

    Example:
        >>> if torch.accelerator.is_available():
        ...     torch.accelerator.set_stream(torch.accelerator.current_stream())
    """
    _need()
    _cuda.set_stream(stream)


def memory_allocated(device: Any = None) -> int:
    """Bytes that live tensors take.

    Example:
        >>> torch.accelerator.memory_allocated() >= 0
        True
    """
    return _cuda.memory_allocated(device)


def max_memory_allocated(device: Any = None) -> int:
    """The most bytes that live tensors took.

    Example:
        >>> torch.accelerator.max_memory_allocated() >= torch.accelerator.memory_allocated()
        True
    """
    return _cuda.max_memory_allocated(device)


def memory_reserved(device: Any = None) -> int:
    """Bytes that the allocator keeps.

    Example:
        >>> torch.accelerator.memory_reserved() >= 0
        True
    """
    return _cuda.memory_reserved(device)


def max_memory_reserved(device: Any = None) -> int:
    """The most bytes that the allocator kept.

    Example:
        >>> torch.accelerator.max_memory_reserved() >= torch.accelerator.memory_reserved()
        True
    """
    return _cuda.max_memory_reserved(device)


def empty_cache() -> None:
    """Give unused memory back to the driver.

    Example:
        >>> torch.accelerator.empty_cache()
    """
    _cuda.empty_cache()


def reset_peak_memory_stats(device: Any = None) -> None:
    """Count the most bytes anew from here.

    Example:
        >>> if torch.accelerator.is_available():
        ...     torch.accelerator.reset_peak_memory_stats()
    """
    _cuda.reset_peak_memory_stats(device)


def get_memory_info(device: Any = None) -> tuple[int, int]:
    """Bytes that are free, and all there are.

    Example:
        >>> if torch.accelerator.is_available():
        ...     free, total = torch.accelerator.get_memory_info()
    """
    _need()
    return _cuda.mem_get_info(device)


class device_index(_cuda.device):  # noqa: N801
    """Inside the block another accelerator is the current one.

    Example:
        >>> with torch.accelerator.device_index(None):
        ...     pass
    """


def memory_stats(device: Any = None) -> dict[str, int]:
    """All counters of the allocator by name.

    Raises:
        RuntimeError: if there is none.

    Example:
        >>> if torch.accelerator.is_available():
        ...     counters = torch.accelerator.memory_stats()
    """
    _need()
    return _cuda.memory_stats(device)
