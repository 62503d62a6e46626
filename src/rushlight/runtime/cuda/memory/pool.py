"""Device memory: CuPy's caching pool behind a counter of peaks, and what to say when it runs out."""

from __future__ import annotations

import gc
from typing import Any

import cupy
from cupy.cuda import memory as _cupy_memory
from cupy.cuda import runtime

from ....base.dtypes import from_np
from ....base.errors import OutOfMemoryError
from ..code.launch import _native, forget_idle, idle_bytes
from .lost import CUDA_ERRORS, explained

_MIB = 2**20


class _Gauge:
    """Peaks of one GPU's pool.

    The pool knows how much is in use, but asking walks over all its blocks. `bound` is never below
    what is in use: the last count plus everything allocated since. Only when it passes the peak is
    the pool asked, so the peak is exact and most allocations cost one addition.
    """

    __slots__ = ("bound", "limit", "ooms", "peak", "peak_reserved")

    def __init__(self) -> None:
        self.bound = self.peak = self.peak_reserved = self.ooms = 0
        self.limit = 0


_gauges: dict[int, Any] = {}  # _Gauge, or the one in C that is the allocator, too
_pool: Any = None
_single = True


def install() -> None:
    """Put the counting allocator in front of CuPy's pool."""
    global _pool, _single
    _pool = cupy.get_default_memory_pool()
    _single = runtime.getDeviceCount() == 1
    for index in range(runtime.getDeviceCount()):
        _gauges[index] = _Gauge()
    if _single and _native is not None:  # the same in C: a step asks hundreds of times
        _gauges[0] = _native.Gauge(_pool.malloc, _measure, _allocate_single)
        cupy.cuda.set_allocator(_gauges[0])
    else:
        cupy.cuda.set_allocator(_allocate_single if _single else _allocate)


def _allocate_single(size: int) -> Any:
    gauge = _gauges[0]
    try:
        found = _pool.malloc(size)
    except _cupy_memory.OutOfMemoryError:
        found = _second_try(size, gauge, 0)
    except CUDA_ERRORS as error:
        raise explained(error) from error
    gauge.bound += size + 511 & ~511
    if gauge.bound > gauge.peak:
        _measure(gauge)
    return found


def _allocate(size: int) -> Any:
    index = runtime.getDevice()
    gauge = _gauges[index]
    try:
        found = _pool.malloc(size)
    except _cupy_memory.OutOfMemoryError:
        found = _second_try(size, gauge, index)
    except CUDA_ERRORS as error:
        raise explained(error) from error
    gauge.bound += size + 511 & ~511
    if gauge.bound > gauge.peak:
        _measure(gauge)
    return found


def allocate(size: int) -> Any:
    """Memory from the counted pool, whatever allocator a capture has put in its place meanwhile."""
    return _allocate_single(size) if _single else _allocate(size)


def give_back(at_least: int = 64 * _MIB) -> None:
    """Give unused blocks back to the driver, if there are enough of them: a compilation leaves many."""
    forget_idle()
    if _pool.free_bytes() >= at_least:
        _pool.free_all_blocks()


def _measure(gauge: _Gauge) -> None:
    """Count what is in use now; the allocation that is being made is part of it."""
    gauge.bound = _pool.used_bytes()
    if gauge.bound > gauge.peak:
        gauge.peak = gauge.bound
    reserved = _pool.total_bytes()
    if reserved > gauge.peak_reserved:
        gauge.peak_reserved = reserved


def _second_try(size: int, gauge: _Gauge, index: int) -> Any:
    """Collect unreachable cycles, which may hold memory, and try again; then memory is really exhausted."""
    gc.collect()
    forget_idle()
    _pool.free_all_blocks()
    try:
        return _pool.malloc(size)
    except _cupy_memory.OutOfMemoryError:
        gauge.ooms += 1
        message = explain(size, index)
    raise OutOfMemoryError(message)


def explain(size: int, index: int) -> str:
    """The message: how much was asked for, how much is held and by what, and what to try."""
    free, total = runtime.memGetInfo()
    used, reserved = _pool.used_bytes(), _pool.total_bytes()
    limit = _gauges[index].limit
    lines = [
        f"CUDA out of memory. Tried to allocate {_size(size)}. GPU {index} has a total capacity of "
        f"{_size(total)} of which {_size(free)} is free. This process holds {_size(reserved)}, of "
        f"which tensors use {_size(used)}."
    ]
    if limit:
        lines.append(f"set_per_process_memory_fraction allows this process {_size(limit)}.")
    named = _largest(index)
    if named:
        lines.append("The largest live tensors: " + "; ".join(named) + ".")
    lines.append(
        "What may help: a smaller batch; `del` of tensors no longer needed, and of a loss kept from "
        "the last step (keep loss.item()); no_grad() around evaluation; autocast; empty_cache() if "
        "another process needs the memory."
    )
    return " ".join(lines)


def _largest(index: int, count: int = 5) -> list[str]:
    """Descriptions of the largest arrays alive on a GPU, found by walking Python's objects."""
    blocks: dict[int, tuple[int, str]] = {}
    for item in gc.get_objects():
        if type(item) is cupy.ndarray and item.data is not None and item.device.id == index:
            held = item.data.mem  # an array that is just being made has no memory yet
            name = f"{from_np(item.dtype).name} {list(item.shape)} ({_size(held.size)})"
            blocks[held.ptr] = (held.size, name)
    return [name for _, name in sorted(blocks.values(), reverse=True)[:count]]


def _size(n: int) -> str:
    if n >= 1024 * _MIB:
        return f"{n / (1024 * _MIB):.2f} GiB"
    return f"{n / _MIB:.2f} MiB" if n >= _MIB // 10 else f"{n} bytes"


def stats(index: int) -> dict[str, int]:
    """The counters under PyTorch's names."""
    with cupy.cuda.Device(index):
        gauge = _gauges[index]
        _measure(gauge)
        used, reserved = gauge.bound - idle_bytes(), _pool.total_bytes()
        return {
            "allocated_bytes.all.current": used,
            "allocated_bytes.all.peak": gauge.peak,
            "reserved_bytes.all.current": reserved,
            "reserved_bytes.all.peak": max(gauge.peak_reserved, reserved),
            "inactive_split_bytes.all.current": _pool.free_bytes(),
            "num_ooms": gauge.ooms,
        }


def reset_peaks(index: int) -> None:
    """Start the peaks again from what is in use now."""
    with cupy.cuda.Device(index):
        gauge = _gauges[index]
        gauge.peak = gauge.peak_reserved = 0
        _measure(gauge)


def empty_cache() -> None:
    """Give unused blocks of every GPU back to the driver."""
    forget_idle()
    _pool.free_all_blocks()
    cupy.get_default_pinned_memory_pool().free_all_blocks()


def set_limit(index: int, size: int) -> None:
    """Let this process take at most `size` bytes of a GPU."""
    with cupy.cuda.Device(index):
        _pool.set_limit(size=size)
        _gauges[index].limit = size
