"""The CUDA runtime as `rushlight.cuda` asks it: GPUs, memory counters, streams, pinned memory."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import cupy
from cupy.cuda import runtime

from .memory import pool as memory
from .memory.host_copies import is_pinned, keep_until, pin  # noqa: F401
from .memory.lost import explaining
from .memory.streams import (  # noqa: F401 - part of this module's interface
    current_stream,
    default_stream,
    elapsed_time,
    new_event,
    new_stream,
    set_stream,
    wait_for,
)


def device_count() -> int:
    """How many GPUs the driver shows."""
    return runtime.getDeviceCount()


def current_device() -> int:
    """The index of the current GPU of this thread."""
    return runtime.getDevice()


def set_device(index: int) -> None:
    """Make a GPU the current one of this thread."""
    check_index(index)
    runtime.setDevice(index)


def check_index(index: int) -> int:
    """The index itself, or PyTorch's error when there is no such GPU."""
    count = device_count()
    if not 0 <= index < count:
        raise RuntimeError(
            f"CUDA error: invalid device ordinal. cuda:{index} was asked for; this machine has "
            f"{count} GPU{'s' if count != 1 else ''}, counted from cuda:0."
        )
    return index


class Properties:
    """What a GPU is: PyTorch's names of its properties."""

    def __init__(self, index: int) -> None:
        raw = runtime.getDeviceProperties(index)
        name = raw["name"]
        self.name = name.decode() if isinstance(name, bytes) else name
        self.major, self.minor = raw["major"], raw["minor"]
        self.total_memory = raw["totalGlobalMem"]
        self.multi_processor_count = raw["multiProcessorCount"]
        self.warp_size = raw["warpSize"]
        self.max_threads_per_block = raw["maxThreadsPerBlock"]
        self.max_threads_per_multi_processor = raw["maxThreadsPerMultiProcessor"]
        self.shared_memory_per_block = raw["sharedMemPerBlock"]
        self.L2_cache_size = raw["l2CacheSize"]
        self.is_integrated = raw["integrated"]
        self.is_multi_gpu_board = raw["isMultiGpuBoard"]

    def __repr__(self) -> str:
        return (
            f"_CudaDeviceProperties(name='{self.name}', major={self.major}, minor={self.minor}, "
            f"total_memory={self.total_memory // 2**20}MB, "
            f"multi_processor_count={self.multi_processor_count})"
        )


@lru_cache(64)
def properties(index: int) -> Properties:
    """The properties of a GPU, asked once."""
    return Properties(check_index(index))


def can_access_peer(index: int, peer: int) -> bool:
    """Whether one GPU can read the memory of another."""
    return bool(runtime.deviceCanAccessPeer(check_index(index), check_index(peer)))


def synchronize(index: int) -> None:
    """Wait for everything a GPU was given."""
    with cupy.cuda.Device(check_index(index)), explaining():
        runtime.deviceSynchronize()


def memory_stats(index: int) -> dict[str, int]:
    """The allocator's counters."""
    _opened()
    return memory.stats(check_index(index))


def reset_peak_memory_stats(index: int) -> None:
    """Start the peaks again."""
    _opened()
    memory.reset_peaks(check_index(index))


def empty_cache() -> None:
    """Give unused memory back to the driver."""
    _opened()
    memory.empty_cache()


def mem_get_info(index: int) -> tuple[int, int]:
    """Free and total bytes, as the driver counts them."""
    with cupy.cuda.Device(check_index(index)):
        return runtime.memGetInfo()


def set_memory_limit(index: int, size: int) -> None:
    """Let this process take at most `size` bytes of a GPU."""
    _opened()
    memory.set_limit(check_index(index), size)


def _opened() -> Any:
    """The backend, whose first use installs the counting allocator."""
    from ...base.device import device
    from .. import devices

    return devices.backend_of(device("cuda"))


def cudnn_version() -> int | None:
    """The version number of the cuDNN that convolutions use, or None without one."""
    try:
        from .library.cudnn import version
    except ImportError:
        return None
    return version()
