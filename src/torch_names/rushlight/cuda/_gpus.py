"""What every part of `torch.cuda` asks first: is there a GPU, and which one is meant."""

from __future__ import annotations

import os
from typing import Any

from ..base.device import device as _device
from ..base.errors import NoGpuError, no_gpu_message
from ..runtime import cuda as _backend
from ..runtime import devices as _devices


def gpu() -> Any:
    """The functions of the CUDA runtime; NoGpuError with the reason when there is no GPU."""
    reason = _backend.why_not()
    if reason is not None:
        raise NoGpuError(no_gpu_message(reason))
    from ..runtime.cuda import device as runtime  # needs CuPy

    return runtime


def index_of(value: Any = None, optional: bool = True) -> int:
    """The number of a GPU from what users pass as `device=`; None is the current one."""
    if value is None:
        return gpu().current_device()
    if isinstance(value, int) and not isinstance(value, bool):
        return gpu().current_device() if value < 0 else value
    d = _device(value)
    if d.type != "cuda":
        raise ValueError(f"Expected a cuda device, but got: {d}")
    return gpu().current_device() if d.index is None else d.index


def is_available() -> bool:
    """Whether a GPU can be used; never raises.

    Example:
        >>> device = "cuda" if torch.cuda.is_available() else "cpu"
        >>> torch.ones(2, device=device).cpu()
        tensor([1., 1.])
    """
    return _backend.why_not() is None


def is_initialized() -> bool:
    """Whether a GPU has been used by this process.

    Example:
        >>> torch.cuda.is_initialized() <= torch.cuda.is_available()
        True
    """
    return "cuda" in _devices.known.by_name and not _is_in_bad_fork()


def _is_in_bad_fork() -> bool:
    """Whether this process was forked from one that had used a GPU, which it cannot."""
    backend: Any = _devices.known.by_name.get("cuda")
    return backend is not None and backend.owner != os.getpid()
