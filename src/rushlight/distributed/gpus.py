"""What groups need of GPUs: NCCL where every rank has one of its own, pinned memory where they share one."""

from __future__ import annotations

import socket
import warnings
from typing import Any

import numpy as np

__all__ = ["gpus_for_nccl", "nccl_engine", "nccl_module", "nccl_version", "through_the_host"]


def nccl_module() -> Any:
    """CuPy's bindings of NCCL, or None with no way to load them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # CuPy warns of a library nobody asked for
            from cupy.cuda import nccl
    except ImportError:
        return None
    return nccl if getattr(nccl, "available", False) else None


def nccl_version() -> str | None:
    """NCCL's version as 2.28.3, or None where it is missing."""
    nccl = nccl_module()
    if nccl is None:
        return None
    number = nccl.get_version()
    return f"{number // 10000}.{number % 10000 // 100}.{number % 100}"


def own_gpu() -> str:
    """The GPU that this process works on at the moment, as this host calls it."""
    from cupy.cuda import runtime

    return runtime.deviceGetPCIBusId(runtime.getDevice())


def gpus_for_nccl() -> list[str] | None:
    """The GPUs that this process may choose from; None where NCCL is missing or there are none."""
    from ..runtime.cuda import why_not

    if why_not() is not None or nccl_module() is None:
        return None
    from cupy.cuda import runtime

    return [runtime.deviceGetPCIBusId(i) for i in range(runtime.getDeviceCount())]


def stream_pointer() -> int:
    """The address of the stream that this thread's work goes into."""
    import cupy

    return cupy.cuda.get_current_stream().ptr


def nccl_engine(group: Any) -> Any:
    """NCCL for a group, or None: without the library, or when two ranks have the same GPU."""
    from .engine_nccl import NcclEngine
    from .nccl_watch import NcclWatch

    nccl = nccl_module()
    mine = None if nccl is None else (socket.gethostname(), own_gpu())
    key = nccl.get_unique_id() if nccl is not None and group.rank() == 0 else None
    if group.comm is None:
        places, keys = [mine], [key]
    else:
        group.engine("cpu").barrier()  # names who is missing
        told = group.comm.allgather((mine, key))
        places, keys = [t[0] for t in told], [t[1] for t in told]
    if None in places:
        return None
    if len(set(places)) < len(places):
        warnings.warn(
            "ranks share a GPU, which NCCL refuses: their tensors go through the host. Where there "
            "are more GPUs, call torch.cuda.set_device(LOCAL_RANK) first.",
            stacklevel=2,
        )
        return None
    made = NcclEngine(nccl, keys[0], group.size(), group.rank(), stream_pointer)
    made.watch = NcclWatch(group, made.comm) if group.size() > 1 else None
    return made


def through_the_host(run: Any, arrays: list[Any]) -> None:
    """Do a collective of GPU arrays over copies in pinned memory; the first comes back."""
    import cupy

    from ..runtime.cuda.memory.host_copies import pinned_empty

    stream = cupy.cuda.get_current_stream()
    hosts: list[Any] = []
    for a in arrays:
        if a is None:
            hosts.append(None)
            continue
        host = pinned_empty(a.shape, a.dtype)
        if a is arrays[0] and len(arrays) > 1:  # only written
            hosts.append(host)
            continue
        raw = cupy.ascontiguousarray(a)
        cupy.cuda.runtime.memcpyAsync(host.__array_interface__["data"][0], raw.data.ptr, raw.nbytes, 2, stream.ptr)
        hosts.append(host)
    stream.synchronize()
    run(hosts)
    if arrays[0] is not None:
        _upload(cupy, arrays[0], np.ascontiguousarray(hosts[0]), stream)
    stream.synchronize()  # the pinned memory goes back to its pool when this returns


def _upload(cupy: Any, a: Any, host: np.ndarray, stream: Any) -> None:
    into = a if a.flags.c_contiguous else cupy.empty(a.shape, a.dtype)
    cupy.cuda.runtime.memcpyAsync(into.data.ptr, host.__array_interface__["data"][0], host.nbytes, 1, stream.ptr)
    if into is not a:
        cupy.copyto(a, into)
