"""Copies between the host and the GPUs: pageable and pinned, in the background when asked."""

from __future__ import annotations

from collections import deque
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from .lost import CUDA_ERRORS, explained
from .pool import allocate
from .staging import AHEAD, LEAST, Landings, Rings
from .streams import current, current_stream, new_event, new_stream

_TO_DEVICE, _TO_HOST, _PEER = 1, 2, 3
_single = runtime.getDeviceCount() == 1

# Host memory that a copy in the background still reads or writes, with the event that ends it.
_in_flight: deque[tuple[Any, Any]] = deque()


# Page-locked buffers that batches of traced loops pass through.
rings = Rings(lambda *what: pinned_empty(*what), lambda: new_event(False, False))
landings = Landings(allocate, lambda: new_event(False, False), new_stream, lambda *what: runtime.memcpyAsync(*what))


def _address(a: np.ndarray) -> int:
    return a.__array_interface__["data"][0]


def pinned_empty(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Uninitialised page-locked memory, from CuPy's pinned pool."""
    dtype = np.dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    memory = cupy.cuda.alloc_pinned_memory(max(count * dtype.itemsize, 1))
    flat = np.frombuffer(memory, np.uint8, count * dtype.itemsize)
    return flat.view(dtype).reshape(shape)


def pin(a: np.ndarray) -> np.ndarray:
    """A copy of host memory that the GPU can read by itself."""
    out = pinned_empty(a.shape, a.dtype)
    np.copyto(out, a)
    return out


def is_pinned(a: np.ndarray) -> bool:
    """Whether the driver knows these pages as locked."""
    if not a.size:
        return False
    try:
        return runtime.pointerGetAttributes(_address(a)).type == 1
    except runtime.CUDARuntimeError:
        return False


def _forget_finished() -> None:
    while _in_flight and _in_flight[0][0].done:
        _in_flight.popleft()


def _keep_until_done(owner: object) -> None:
    event = cupy.cuda.Event(disable_timing=True)
    event.record()
    _in_flight.append((event, owner))


def keep_until(owner: object, stream: Any) -> None:
    """Keep `owner` alive until `stream` has done what was put into it before."""
    if _in_flight:
        _forget_finished()
    event = cupy.cuda.Event(disable_timing=True)
    event.record(stream)
    _in_flight.append((event, owner))


def to_device(a: np.ndarray, index: int, non_blocking: bool = False) -> cupy.ndarray:
    """A copy of a host array on GPU `index`.

    From pageable memory the driver returns when it has taken the values; only pinned memory is read
    later, so then the call waits, unless `non_blocking`, where the memory is kept alive until read.
    """
    if not _single and runtime.getDevice() != index:
        with cupy.cuda.Device(index):
            return to_device(a, index, non_blocking)
    a, order = _dense(a)
    out = cupy.ndarray(a.shape, a.dtype)
    if a.size:
        try:
            runtime.memcpyAsync(out.data.ptr, _address(a), a.nbytes, _TO_DEVICE, current.ptr)
            if non_blocking:
                if _in_flight:
                    _forget_finished()
                _keep_until_done(a)
            elif a.base is not None and is_pinned(a):  # what NumPy allocated itself is pageable
                runtime.streamSynchronize(current.ptr)
        except CUDA_ERRORS as error:
            raise explained(error) from error
    return out if order is None else out.transpose(order)


def small_copies() -> tuple[int, Any, Any] | None:
    """Below how many bytes the driver takes values with the command, what copies them, and who knows the stream; for one GPU."""
    return (LEAST, runtime.memcpyAsync, current) if _single else None


def staged(a: np.ndarray, index: int) -> cupy.ndarray:
    """A copy of a gapless host array on GPU `index` that the host does not wait for."""
    if a.nbytes < LEAST:  # from pageable memory, which NumPy's own is
        return to_device(a if a.base is None else a.copy(), index)
    if not _single and runtime.getDevice() != index:
        with cupy.cuda.Device(index):
            return staged(a, index)
    if current_stream(index).is_capturing():  # a graph would read the buffer again, later
        return to_device(a, index)
    out = cupy.ndarray(a.shape, a.dtype)

    def copy(buffer: np.ndarray, mark: Any) -> None:
        if a.nbytes >= AHEAD:
            landings.send(index, buffer, out.data.ptr, a.nbytes, mark, current_stream(index))
        else:
            runtime.memcpyAsync(out.data.ptr, _address(buffer), a.nbytes, _TO_DEVICE, current.ptr)
            mark.record()

    try:
        rings.send(index, a, copy)
    except CUDA_ERRORS as error:
        raise explained(error) from error
    return out


def _dense(a: np.ndarray) -> tuple[np.ndarray, Any]:
    """The array in gapless row-major memory, and the transpose that restores its own order."""
    if a.flags.c_contiguous:
        return a, None
    order = sorted(range(a.ndim), key=lambda i: (-a.strides[i], i))
    turned = a.transpose(order)
    if not turned.flags.c_contiguous:
        return np.ascontiguousarray(a), None
    return turned, tuple(sorted(range(a.ndim), key=order.__getitem__))


def to_host(a: cupy.ndarray, non_blocking: bool = False) -> np.ndarray:
    """A copy in host memory; the call waits, unless `non_blocking`, where it may still arrive."""
    if not _single and runtime.getDevice() != a.device.id:
        with a.device:
            return to_host(a, non_blocking)
    order = None
    if not a._c_contiguous:
        turned = a.transpose(o := sorted(range(a.ndim), key=lambda i: (-a.strides[i], i)))
        if turned._c_contiguous:
            a, order = turned, tuple(sorted(range(len(o)), key=o.__getitem__))
        else:
            a = cupy.ascontiguousarray(a)
    out = pinned_empty(a.shape, a.dtype) if non_blocking else np.empty(a.shape, a.dtype)
    if a.size:
        try:
            runtime.memcpyAsync(_address(out), a.data.ptr, a.nbytes, _TO_HOST, current.ptr)
            if non_blocking:
                _forget_finished()
                _keep_until_done((out, a))
            else:
                runtime.streamSynchronize(current.ptr)
        except CUDA_ERRORS as error:
            raise explained(error) from error
    return out if order is None else out.transpose(order)


def to_peer(a: cupy.ndarray, index: int) -> cupy.ndarray:
    """A copy on another GPU, ordered after the work of both."""
    here = a.device.id
    with cupy.cuda.Device(here):
        a = cupy.ascontiguousarray(a)
        ready = cupy.cuda.Event(disable_timing=True)
        ready.record()
    with cupy.cuda.Device(index):
        out = cupy.ndarray(a.shape, a.dtype)
        stream = cupy.cuda.get_current_stream()
        stream.wait_event(ready)
        if a.size:
            runtime.memcpyPeerAsync(out.data.ptr, index, a.data.ptr, here, a.nbytes, stream.ptr)
        done = cupy.cuda.Event(disable_timing=True)
        done.record(stream)
    _in_flight.append((done, a))
    return out
